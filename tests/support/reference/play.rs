//! Playing a scenario.

use std::sync::Arc;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use toolfall::{CallRequest, Scope};
use tower::ServiceExt as _;

use super::compare::{Played, told};
use super::scenario::{CallSpec, Run, Scenario, Step};
use super::world::{World, wait};
use super::{guards, listeners, stack};

pub(crate) fn play(scenario: &Scenario) -> Played {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let world = World::new(scenario);
        scenario.tools.iter().for_each(|tool| world.register(tool));
        let restrictions = scenario.restrictions.iter();
        restrictions.for_each(|spec| world.restrict(spec));
        scenario
            .pre
            .iter()
            .for_each(|spec| listeners::register_pre(&world, spec));
        scenario
            .guards
            .iter()
            .for_each(|spec| guards::register(&world, spec));
        scenario
            .post
            .iter()
            .for_each(|spec| listeners::register_post(&world, spec));
        match scenario.run {
            Run::Each => each(&world, scenario).await,
            Run::Batch => super::batch::batch(&world, scenario).await,
        }
    })
}

async fn each(world: &Arc<World>, scenario: &Scenario) -> Played {
    let stack = stack::stack(world, scenario, None);
    let mut calls = Vec::new();
    for step in &scenario.calls {
        let call = match step {
            Step::Call(call) => call,
            Step::View(spec) => {
                world.carry_out(&spec.before);
                let scope = spec.view.as_deref().map(|name| world.scope(name));
                let names = world.registry.names(scope.as_ref());
                calls.push(json!({"view": spec.view, "names": names}));
                continue;
            }
        };
        world.carry_out(&call.before);
        let token = world.begin(Some(&call.id));
        let scope = call.from.as_deref().map(|name| world.scope(name));
        let request = request(call, scope, token);
        let cancelling = cancelling(world, call.cancel_at);
        let result = match stack.clone().oneshot(request).await {
            Ok(result) => result,
            Err(never) => match never {},
        };
        if let Some(cancelling) = cancelling {
            cancelling.abort();
        }
        calls.push(told(&call.id, &result));
    }
    Played {
        calls,
        batch: None,
        events: world.take_events(),
    }
}

pub(crate) fn request(
    call: &CallSpec,
    scope: Option<Scope>,
    token: CancellationToken,
) -> CallRequest {
    let arguments = call.arguments.to_string();
    let request = CallRequest::new(call.id.clone(), call.tool.clone(), arguments, token);
    match scope {
        Some(scope) => request.with_scope(scope),
        None => request,
    }
}

/// Cancels the caller's token when the time has come.
pub(crate) fn cancelling(
    world: &Arc<World>,
    at: Option<u64>,
) -> Option<tokio::task::JoinHandle<()>> {
    if at? == 0 {
        world.cancel();
        return None;
    }
    let world = world.clone();
    Some(tokio::spawn(async move {
        wait(at).await;
        world.cancel();
    }))
}
