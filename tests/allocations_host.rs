//! What a host's live lists cost when nothing is in them. One test, because
//! counting is global.

use std::alloc::System;

use serde_json::Value;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tokio_util::sync::CancellationToken;
use toolfall::host::Host;
use toolfall::pipeline::PipelineService;
use toolfall::{
    BoxError, CallRequest, Pipeline, Registry, Scope, ToolContext, Validation, tool_fn,
};

#[global_allocator]
static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const CALLS: usize = 100;

fn allocations<S: PipelineService>(pipeline: &Pipeline<S>, scope: Option<&Scope>) -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let run = || {
        let requests: Vec<CallRequest> = (0..CALLS)
            .map(|_| CallRequest::new("id", "noop", "{}", CancellationToken::new()))
            .map(|request| match scope {
                Some(scope) => request.with_scope(scope.clone()),
                None => request,
            })
            .collect();
        runtime.block_on(async {
            let region = Region::new(GLOBAL);
            for request in requests {
                assert!(!pipeline.run(request).await.is_error());
            }
            region.change().allocations
        })
    };
    // Whatever is made once is made now.
    run();
    run()
}

#[test]
fn a_host_in_which_nothing_is_registered_allocates_nothing_more() {
    let registry = Registry::new();
    let noop = tool_fn("noop", "", |_: Value, _: ToolContext| async {
        Ok::<_, BoxError>(())
    });
    registry
        .register(noop.validation(Validation::Decoding))
        .unwrap()
        .keep();
    let plain = Pipeline::builder(registry.clone()).build();
    let host = Host::over(registry);
    let hosted = host.pipeline().build();

    let bare = allocations(&plain, None);
    assert_ne!(bare, 0);
    assert_eq!(allocations(&hosted, None), bare);
    let preset = host.open("preset");
    let agent = preset.open("agent");
    assert_eq!(allocations(&plain, Some(agent.scope())), bare);
    assert_eq!(allocations(&hosted, Some(agent.scope())), bare);
    println!("{} allocations a call", bare / CALLS);
}
