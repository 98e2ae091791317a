//! Saves that take their time: cancellation, batches and their order.

#[path = "support/facade.rs"]
mod facade;
#[path = "support/spill.rs"]
mod support;

use std::sync::Arc;
use std::time::Duration;

use facade::{Counter, any_object, registry, request, returns};
use serde_json::Value;
use support::{Does, HINT, Spilling, registered, spilling, text, warnings};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use toolfall::spill::{Saving, Spill, SpillConfig, SpillPolicy, SpillSlot, SpillStore, Spilled};
use toolfall::{Arguments, BoxError, CallRequest, Pipeline, Registry, ToolContext, raw_tool};

fn tools() -> Registry {
    registry([
        returns("big", text("x".repeat(1600)), &Counter::default()).parallel(),
        returns("small", text("y"), &Counter::default()).parallel(),
        raw_tool(
            "fails",
            "",
            any_object(),
            |_: Arguments, _: ToolContext| async {
                Err::<Value, _>(BoxError::from("x".repeat(1593)))
            },
        ),
    ])
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_waits_a_second_more_for_its_save() {
    let Spilling {
        policy,
        stub,
        mount,
    } = spilling(200, Does::Hangs);
    let pipeline = Pipeline::builder(tools())
        .post_execute(registered(&policy))
        .build();
    // A success of a cancelled call is none; a failure is what it was.
    for (saves, tool, bytes) in [(1, "fails", 1600), (2, "big", 24)] {
        let cancel = CancellationToken::new();
        let began = Instant::now();
        let call = CallRequest::new("1", tool, "{}", cancel.clone());
        let (result, ()) = tokio::join!(pipeline.run(call), async {
            sleep(Duration::from_secs(5)).await;
            assert_eq!(stub.saved().len(), saves, "the save has begun");
            cancel.cancel();
        });
        assert_eq!(began.elapsed(), Duration::from_secs(6));
        assert_eq!((result.is_error(), result.text().len()), (true, bytes));
        assert!(warnings()[0].contains("cancelled while its result was being saved"));
    }
    drop(mount);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_while_it_saves_ends_the_save() {
    let Spilling {
        policy,
        stub,
        mount,
    } = spilling(200, Does::Hangs);
    let pipeline = Pipeline::builder(tools())
        .post_execute(registered(&policy))
        .build();
    let run = pipeline.run(request("big", "{}"));
    assert!(
        tokio::time::timeout(Duration::from_secs(1), run)
            .await
            .is_err()
    );
    assert_eq!(stub.saved().len(), 1);
    // Nothing holds the store any more but the place and this test.
    drop(mount);
    assert_eq!(stub.handles(), 1);
}

/// Waits before it saves what the call `slow` wrote.
#[derive(Clone)]
struct Slow(Arc<Notify>);

impl SpillStore for Slow {
    fn save(&self, spill: Spill) -> Saving {
        let go = self.0.clone();
        Box::pin(async move {
            if spill.source.call_id == "slow" {
                go.notified().await;
            }
            let bytes = spill.content.len() as u64;
            Ok(Spilled::new(
                format!("/spill/{}", spill.source.call_id),
                bytes,
                HINT,
            ))
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_save_holds_results_back_and_keeps_their_order() {
    let (slot, go) = (SpillSlot::new(), Arc::new(Notify::new()));
    slot.mount(Slow(go.clone())).unwrap().keep();
    let policy = SpillPolicy::new(slot, &SpillConfig::max_inline_bytes(200))
        .owner(|_| Some("sess-1".to_owned()));
    let pipeline = Pipeline::builder(tools())
        .post_execute(registered(&policy))
        .build();
    let cancel = CancellationToken::new();
    let calls = ["slow", "fast", "last"].map(|id| {
        let tool = if id == "last" { "small" } else { "big" };
        CallRequest::new(id, tool, "{}", cancel.clone())
    });
    let scheduler = pipeline.scheduler();
    let (report, ()) = tokio::join!(scheduler.batch(calls, cancel).run(), async {
        sleep(Duration::from_secs(7)).await;
        go.notify_one();
    });
    let texts: Vec<String> = report
        .committed
        .iter()
        .map(|call| call.result.text())
        .collect();
    assert!(texts[0].contains("stored at: /spill/slow."));
    assert!(texts[1].contains("stored at: /spill/fast."));
    assert_eq!(texts[2], "y");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_holds_a_batch_only_to_the_deadline() {
    let Spilling { policy, mount, .. } = spilling(200, Does::Hangs);
    let policy = policy.deadline(Duration::from_secs(3));
    let pipeline = Pipeline::builder(tools())
        .post_execute(registered(&policy))
        .build();
    let cancel = CancellationToken::new();
    let calls = ["1", "2"].map(|id| CallRequest::new(id, "big", "{}", cancel.clone()));
    let began = Instant::now();
    let report = pipeline.scheduler().batch(calls, cancel).run().await;
    assert_eq!(began.elapsed(), Duration::from_secs(6));
    let all_whole = report
        .committed
        .iter()
        .all(|call| call.result.text().len() == 1600);
    assert!(all_whole && report.committed.len() == 2);
    drop(mount);
}
