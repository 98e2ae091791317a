//! Playing a scenario.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use toolfall::{CallRequest, Scope};
use tower::ServiceExt as _;

use super::compare::{Played, told};
use super::scenario::{CallSpec, Run, Scenario, Step};
use super::world::{World, wait};
use super::{guards, listeners, stack};

/// Why a scenario cannot be played here.
pub(crate) fn unplayable(scenario: &Scenario) -> Option<&'static str> {
    if scenario
        .calls
        .iter()
        .any(|step| matches!(step, Step::View(_)))
    {
        return Some("asks what a scope sees");
    }
    if !scenario.restrictions.is_empty() {
        return Some("restricts scopes");
    }
    let registered_later = scenario.calls.iter().any(|step| match step {
        Step::Call(call) => call.before.iter().any(|effect| {
            effect.scope.is_some()
                || effect
                    .register
                    .as_ref()
                    .is_some_and(|tool| tool.scope.is_some())
        }),
        Step::View(_) => false,
    });
    if registered_later || scenario.tools.iter().any(|tool| tool.scope.is_some()) {
        return Some("registers tools in scopes");
    }
    None
}

pub(crate) fn play(scenario: &Scenario) -> Played {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let world = World::new(scenario);
        scenario.tools.iter().for_each(|tool| world.register(tool));
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
        let Step::Call(call) = step else {
            unreachable!("views are not played");
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
