//! What a place in a batch costs in allocations. One test, because counting
//! is global.

use std::alloc::System;

use serde_json::Value;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tokio_util::sync::CancellationToken;
use toolfall::{BoxError, CallRequest, Pipeline, Registry, ToolContext, Validation, tool_fn};

#[global_allocator]
static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn requests(count: usize, cancel: &CancellationToken) -> Vec<CallRequest> {
    (0..count)
        .map(|_| CallRequest::new("id", "noop", "{}", cancel.clone()))
        .collect()
}

#[test]
fn a_place_in_a_batch_costs_little_and_the_same_for_each() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let registry = Registry::new();
    let noop = tool_fn("noop", "", |_: Value, _: ToolContext| async {
        Ok::<_, BoxError>(())
    });
    registry
        .register(noop.validation(Validation::Decoding).parallel())
        .unwrap()
        .keep();
    let pipeline = Pipeline::builder(registry).build();
    let scheduler = pipeline.scheduler();

    let bare = |count: usize| {
        let requests = requests(count, &CancellationToken::new());
        runtime.block_on(async {
            let region = Region::new(GLOBAL);
            for request in requests {
                assert!(!pipeline.run(request).await.is_error());
            }
            region.change().allocations
        })
    };
    let batch = |count: usize| {
        let cancel = CancellationToken::new();
        let requests = requests(count, &cancel);
        runtime.block_on(async {
            let region = Region::new(GLOBAL);
            let report = scheduler.batch(requests, cancel).run().await;
            let allocations = region.change().allocations;
            assert_eq!(report.committed.len(), count);
            allocations
        })
    };
    // Whatever is made once is made now.
    let _ = (bare(10), batch(10));

    let (few, many) = (1_000, 4_000);
    let over = |count: usize| batch(count) - bare(count);
    let (over_few, over_many) = (over(few), over(many));
    println!(
        "{few} calls: bare {}, batch {}, over {over_few}; {many} calls: bare {}, batch {}, over {over_many}",
        bare(few),
        batch(few),
        bare(many),
        batch(many)
    );
    // The turn, and the books of the whole batch, which double as they grow.
    assert!(
        over_few <= few + 50,
        "{over_few} allocations for {few} calls"
    );
    assert!(
        over_many <= many + 50,
        "{over_many} allocations for {many} calls"
    );
    let linear = over_few * many / few;
    assert!(
        over_many.abs_diff(linear) * 50 <= linear,
        "{over_many} is not four times {over_few}"
    );
}
