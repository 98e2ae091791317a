//! The whole stack of a scenario, put together by hand.

use std::convert::Infallible;
use std::sync::Arc;

use serde_json::json;
use toolfall::{
    ApprovalLayer, ApprovalRequest, BoxError, CallRequest, CallView, Catalog, Definition,
    ErrorInfo, GuardLayer, PostExecuteLayer, PreDecisionLayer, Recorder, ResultNotifyLayer,
    ToolOutcome, ToolResult, codes,
};
use tower::Layer as _;
use tower::util::BoxCloneSyncService;

use super::around::around;
use super::listeners::Service;
use super::scenario::{ObserverSpec, Scenario};
use super::world::{World, matches};

pub(crate) type Stack = BoxCloneSyncService<CallRequest, ToolResult, Infallible>;

pub(crate) fn stack(
    world: &Arc<World>,
    scenario: &Scenario,
    recorder: Option<Arc<dyn Recorder>>,
) -> Stack {
    let guarded = GuardLayer::with(world.guards.clone()).layer(around(world, &scenario.around));
    let asked = match &scenario.approval {
        None => BoxCloneSyncService::new(ApprovalLayer::unavailable().layer(guarded)),
        Some(spec) => {
            let service = Service::new(world, spec);
            let layer = ApprovalLayer::new(move |request: ApprovalRequest| {
                let service = service.clone();
                async move { service.ask(request).await }
            });
            BoxCloneSyncService::new(layer.layer(guarded))
        }
    };
    let decided = PreDecisionLayer::new(world.pre.clone()).layer(asked);
    let posted = PostExecuteLayer::new(world.post.clone()).layer(decided);
    let catalog: Arc<dyn Catalog> = match &scenario.presentation {
        None => world.registry.catalog(),
        Some(_) => Arc::new(Collapsed(world.registry.catalog())),
    };
    let mut result = ResultNotifyLayer::new().catalog(catalog);
    if let Some(recorder) = recorder {
        result = result.recorder(recorder);
    }
    let shared = world.clone();
    result = result.observer(move |call: &CallView, result: &ToolResult| {
        notify(&shared, None, call, result);
    });
    for spec in &scenario.observers {
        let (spec, shared) = (spec.clone(), world.clone());
        result = result.observer(move |call: &CallView, result: &ToolResult| {
            observe(&shared, &spec, call, result)
        });
    }
    BoxCloneSyncService::new(result.layer(posted))
}

fn notify(world: &World, by: Option<&str>, call: &CallView, result: &ToolResult) {
    let told = json!({"by": by, "is_error": result.is_error(), "code": result.code()});
    world.event(Some(call.id().as_str()), "notify", told);
}

fn observe(
    world: &Arc<World>,
    spec: &ObserverSpec,
    call: &CallView,
    result: &ToolResult,
) -> Result<(), BoxError> {
    let heard = world.hears(spec.scope.as_ref(), call);
    if !heard || !matches(spec.tools.as_ref(), call.name()) {
        return Ok(());
    }
    notify(world, Some(&spec.id), call, result);
    world.carry_out(&spec.effects);
    match &spec.fails {
        Some(message) => Err(message.clone().into()),
        None => Ok(()),
    }
}

/// A catalog under code presentation: no tool can be called directly.
struct Collapsed(Arc<dyn Catalog>);

impl Catalog for Collapsed {
    fn resolve(&self, call: &CallView) -> Option<Arc<dyn Definition>> {
        self.0.resolve(call)
    }

    fn generation(&self) -> u64 {
        self.0.generation()
    }

    fn unknown(&self, call: &CallView) -> ToolOutcome {
        self.0.unknown(call)
    }

    fn refuse(&self, call: &CallView) -> Option<ToolOutcome> {
        let name = call.name();
        let message = format!(
            "unknown tool \"{name}\": only `run_code` is callable directly — call `{name}` from \
             inside a `run_code` program instead"
        );
        let info = ErrorInfo::new("ToolNotFoundError", codes::UNKNOWN_TOOL);
        Some(ToolOutcome::failure(message).with_info(info))
    }
}
