//! A caller's token lives long; its calls must leave nothing on it.

#[path = "support/facade.rs"]
mod support;

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use support::{any_object, delegate, registry, wrapper};
use tokio_util::sync::CancellationToken;
use toolfall::{Arguments, BoxError, Pipeline, ToolContext, raw_tool};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// conformance: DISP-25
#[tokio::test]
async fn ten_thousand_calls_leave_nothing_on_their_tokens() {
    let theirs = CancellationToken::new();
    let tool = raw_tool(
        "t",
        "",
        any_object(),
        |_: Arguments, ctx: ToolContext| async move {
            tokio::select! {
                () = ctx.cancellation().cancelled() => Err(BoxError::from("cancelled")),
                () = tokio::task::yield_now() => Ok(serde_json::Value::Null),
            }
        },
    );
    let replaced = theirs.clone();
    let pipeline = Pipeline::builder(registry([tool]))
        .around(wrapper(move |call, inner| {
            delegate(inner, call.with_cancellation(replaced.clone()))
        }))
        .build();
    let caller = CancellationToken::new();
    let run = async |calls: usize| {
        for _ in 0..calls {
            let result = pipeline.call("c", "t", "{}", caller.clone()).await;
            assert!(!result.is_error());
        }
    };
    run(100).await;
    let region = Region::new(ALLOCATOR);
    run(10_000).await;
    let stats = region.change();
    let kept = stats.bytes_allocated.abs_diff(stats.bytes_deallocated);
    assert!(kept < 10_000, "{kept} bytes were kept");
}
