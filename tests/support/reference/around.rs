//! Wrappers of the dispatch, as tower layers that a user could write.

use std::future::Future;
use std::num::NonZeroU32;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use toolfall::{
    BoxError, Call as _, ClearedCall, ContentBlock, ErrorInfo, RetryLayer, TimeoutLayer,
    ToolOutcome, ToolService,
};
use tower::util::BoxCloneSyncService;
use tower::{Layer as _, Service, ServiceExt as _};

use super::scenario::{AroundKind, AroundSpec};
use super::world::{World, context, error, matches, wait};

pub(crate) type Around = BoxCloneSyncService<ClearedCall, ToolOutcome, BoxError>;

/// The leaf in its wrappers; the first of the list is the outermost.
pub(crate) fn around(world: &Arc<World>, list: &[AroundSpec]) -> Around {
    let leaf = ToolService::new(world.registry.clone()).map_err(|never| match never {});
    let mut service = BoxCloneSyncService::new(leaf);
    for spec in list.iter().rev() {
        service = match spec.kind {
            AroundKind::Timeout => {
                BoxCloneSyncService::new(TimeoutLayer::declared().layer(service))
            }
            AroundKind::RetryOnce => retry(world, spec, service),
            _ => BoxCloneSyncService::new(Wrapper {
                plain: service.clone(),
                inner: service,
                spec: Arc::new(spec.clone()),
                world: world.clone(),
                part: Part::Whole,
            }),
        };
    }
    service
}

/// The retry stage between two wrappers that tell what it does.
fn retry(world: &Arc<World>, spec: &AroundSpec, service: Around) -> Around {
    let wrapper = |inner: Around, part| Wrapper {
        plain: service.clone(),
        inner,
        spec: Arc::new(spec.clone()),
        world: world.clone(),
        part,
    };
    let attempt = wrapper(service.clone(), Part::Attempt);
    let twice = RetryLayer::new(NonZeroU32::new(2).unwrap()).when(|outcome| !outcome.is_success());
    let retrying = BoxCloneSyncService::new(twice.layer(BoxCloneSyncService::new(attempt)));
    BoxCloneSyncService::new(wrapper(retrying, Part::Attempts))
}

#[derive(Clone, Copy)]
enum Part {
    Whole,
    /// Outside the retry stage: enters and leaves once.
    Attempts,
    /// Inside it: one delegation.
    Attempt,
}

#[derive(Clone)]
struct Wrapper {
    /// What is inside for a call that the wrapper matches.
    inner: Around,
    /// What is inside for every other call.
    plain: Around,
    spec: Arc<AroundSpec>,
    world: Arc<World>,
    part: Part,
}

impl Service<ClearedCall> for Wrapper {
    type Response = ToolOutcome;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<ToolOutcome, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: ClearedCall) -> Self::Future {
        let Self {
            inner,
            plain,
            spec,
            world,
            part,
        } = self.clone();
        let heard = world.hears(spec.scope.as_ref(), call.view());
        if !heard || !matches(spec.tools.as_ref(), call.name()) {
            return Box::pin(plain.oneshot(call));
        }
        Box::pin(async move {
            match part {
                Part::Whole => whole(&world, &spec, inner, call).await,
                Part::Attempts => {
                    let id = call.id().as_str().to_owned();
                    enter(&world, &spec, &id).await;
                    let outcome = inner.oneshot(call).await?;
                    leave(&world, &spec, &id, &outcome);
                    Ok(outcome)
                }
                Part::Attempt => delegate(&world, &spec, inner, call).await,
            }
        })
    }
}

async fn enter(world: &Arc<World>, spec: &AroundSpec, id: &str) {
    world.event(Some(id), "around_enter", json!({"by": spec.id}));
    wait(spec.delay_ms).await;
    world.carry_out(&spec.effects);
}

fn leave(world: &World, spec: &AroundSpec, id: &str, outcome: &ToolOutcome) {
    let told = json!({"by": spec.id, "is_error": !outcome.is_success(), "code": outcome.code()});
    world.event(Some(id), "around_leave", told);
}

async fn delegate(
    world: &World,
    spec: &AroundSpec,
    inner: Around,
    call: ClearedCall,
) -> Result<ToolOutcome, BoxError> {
    let id = call.id().as_str().to_owned();
    let outcome = inner.oneshot(call).await?;
    let told = json!({"by": spec.id, "is_error": !outcome.is_success(), "code": outcome.code()});
    world.event(Some(&id), "around_back", told);
    wait(spec.after_ms).await;
    Ok(outcome)
}

async fn whole(
    world: &Arc<World>,
    spec: &AroundSpec,
    inner: Around,
    call: ClearedCall,
) -> Result<ToolOutcome, BoxError> {
    let view = call.view().clone();
    let id = view.id().as_str();
    enter(world, spec, id).await;
    let with_contexts = |outcome: ToolOutcome| {
        let contexts = spec.contexts.iter();
        contexts.fold(outcome, |outcome, template| {
            outcome.with_context(context(template, &view))
        })
    };
    let mut call = Some(call);
    if spec.delegate_first {
        delegate(world, spec, inner.clone(), call.take().expect("once")).await?;
    }
    let outcome = match (spec.kind, call) {
        (AroundKind::Success, _) => {
            let value = spec.value.clone().expect("a success has a value");
            let ignored = vec![ContentBlock::text("content of a wrapper's own")];
            with_contexts(ToolOutcome::success(value).with_content(ignored))
        }
        (AroundKind::Failure, _) => with_contexts(failure(spec)),
        (AroundKind::Fail, _) => {
            let told = json!({"by": spec.id, "fails": true});
            world.event(Some(id), "around_leave", told);
            return Err(error(spec.error.as_ref().expect("an error to fail with")));
        }
        (AroundKind::Contexts, Some(call)) => {
            with_contexts(delegate(world, spec, inner, call).await?)
        }
        (AroundKind::Signal, Some(call)) => under_signal(world, spec, inner, call).await?,
        (_, Some(call)) => delegate(world, spec, inner, call).await?,
        (_, None) => unreachable!("only failures delegate first"),
    };
    leave(world, spec, id, &outcome);
    Ok(outcome)
}

fn failure(spec: &AroundSpec) -> ToolOutcome {
    let error = spec.error.as_ref().expect("a failure has an error");
    let mut outcome = ToolOutcome::failure(error.message.clone());
    if let (Some(name), Some(code)) = (&error.name, &error.code) {
        outcome = outcome.with_info(ErrorInfo::new(name.clone(), code.clone()));
    }
    match &spec.content {
        Some(texts) => outcome.with_content(texts.iter().map(ContentBlock::text).collect()),
        None => outcome,
    }
}

/// Delegates under a token of the wrapper's own.
async fn under_signal(
    world: &World,
    spec: &AroundSpec,
    inner: Around,
    call: ClearedCall,
) -> Result<ToolOutcome, BoxError> {
    let id = call.id().as_str().to_owned();
    let token = CancellationToken::new();
    if spec.cancel_after_ms == Some(0) {
        token.cancel();
    }
    let call = call.with_cancellation(token.clone());
    let mut work = pin!(delegate(world, spec, inner, call));
    if let Some(ms) = spec.cancel_after_ms.filter(|ms| *ms > 0) {
        tokio::select! {
            biased;
            outcome = &mut work => return outcome,
            () = tokio::time::sleep(Duration::from_millis(ms)) => {}
        }
        world.event(Some(&id), "signal_cancelled", json!({"by": spec.id}));
        token.cancel();
    }
    work.await
}
