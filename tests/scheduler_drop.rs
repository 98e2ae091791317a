//! Batches that are dropped: nothing is lost, nothing goes on unnoticed.

#[path = "support/sched.rs"]
mod support;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::Stream as _;
use serde_json::{Value, json};
use support::{World, idle};
use tokio::runtime::{Builder, Runtime};
use toolfall::pipeline::BoxPipeline;
use toolfall::{Batch, BatchEvent, CallView, Effect, Pipeline, ToolResult};

/// Every call has exactly one call record, one result record after it, and
/// results come in model order.
fn assert_balanced(world: &World, keys: &str, when: &str) {
    let events = world.events();
    for k in keys.chars() {
        let places = |event: String| -> Vec<usize> {
            (0..events.len())
                .filter(|&at| events[at] == event)
                .collect()
        };
        let (calls, results) = (places(format!("call {k}")), places(format!("result {k}")));
        assert!(
            calls.len() == 1 && results.len() == 1 && calls[0] < results[0],
            "{when}: call {k} in {events:?}"
        );
    }
    let results: String = events
        .iter()
        .filter_map(|event| event.strip_prefix("result "))
        .collect();
    assert_eq!(results, keys, "{when}");
    assert_eq!(world.running(), 0, "{when}");
}

/// conformance: SCHED-49
#[tokio::test(start_paused = true)]
async fn bodies_of_a_dropped_batch_are_cancelled_and_driven_to_their_end() {
    let world = World::new();
    world.hold("body:a");
    world.hold("body:b");
    let calls = vec![
        world.call("safe", "a", json!({"coop": true})),
        world.call("safe", "b", Value::Null),
        world.call("lone", "c", Value::Null),
    ];
    let run = world.run(10, calls).await;
    run.abort();
    idle().await;
    assert!(world.cancel.is_cancelled());
    assert_eq!(world.bodies(), "body:a body:b body:a.");
    assert_eq!(
        world.only(&["result"]),
        "result a",
        "b ignores its token and is waited for"
    );
    world.release("body:b");
    idle().await;
    assert_balanced(&world, "abc", "after the drop");
    assert_eq!(world.only(&["done:"]), "done:a done:b", "c never began");
}

/// Polls a batch so many times and then drops it.
struct Polls(Option<Batch<BoxPipeline>>, usize);

impl Future for Polls {
    /// Whether the batch came to its end.
    type Output = bool;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<bool> {
        loop {
            if self.1 == 0 {
                self.0 = None;
                return Poll::Ready(false);
            }
            self.1 -= 1;
            let batch = self.0.as_mut().unwrap();
            match Pin::new(batch).poll_next(cx) {
                Poll::Ready(Some(BatchEvent::Ended(_)) | None) => return Poll::Ready(true),
                Poll::Ready(Some(_)) => {}
                // One poll more and the batch is dropped, even unwoken.
                Poll::Pending if self.1 == 0 => {}
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

#[test]
fn a_batch_may_be_dropped_at_every_poll() {
    let mut ended = false;
    for polls in 0..200 {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        ended = runtime.block_on(async {
            let world = World::new();
            let calls = vec![
                world.call("safe", "a", json!({"ms": 30})),
                world.call("safe", "b", json!({"ms": 10, "fail": "broken"})),
                world.call("safe", "c", json!({"deny": "no"})),
                world.call("safe", "d", json!({"ms": 5, "panic": true})),
                world.call("safe", "e", json!({"ask": true})),
                world.call("lone", "f", json!({"ms": 7})),
                world.call("safe", "g", json!({"ms": 1})),
            ];
            let batch = world.scheduler(2).batch(calls, world.cancel.clone());
            let ended = Polls(Some(batch), polls).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_balanced(&world, "abcdefg", &format!("dropped after {polls} polls"));
            assert_eq!(world.cancel.is_cancelled(), !ended);
            ended
        });
        if ended {
            break;
        }
    }
    assert!(ended, "the batch ends within 200 polls");
}

fn paused() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
}

/// A batch with a running and a waiting call, out of its runtime's context.
fn begun(world: &World, runtime: &Runtime) -> Batch<BoxPipeline> {
    world.hold("body:a");
    let mut batch = world
        .scheduler(1)
        .batch(world.calls("safe", "abc"), world.cancel.clone());
    runtime.block_on(async {
        let _ = std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut batch).poll_next(cx))).await;
    });
    assert_eq!(world.bodies(), "body:a");
    batch
}

#[test]
fn dropped_outside_a_runtime_it_goes_on_in_the_one_that_polled_it() {
    let (world, runtime) = (World::new(), paused());
    drop(begun(&world, &runtime));
    runtime.block_on(idle());
    assert_eq!(world.only(&["result"]), "", "a body is waited for");
    world.release("body:a");
    runtime.block_on(idle());
    assert_balanced(&world, "abc", "after the drop");
}

#[test]
fn dropped_after_its_runtime_everything_is_answered_at_once() {
    let (world, runtime) = (World::new(), paused());
    let batch = begun(&world, &runtime);
    drop(runtime);
    drop(batch);
    assert_balanced(&world, "abc", "after the drop");
}

#[test]
fn a_batch_that_was_never_polled_needs_no_runtime() {
    let world = World::new();
    drop(
        world
            .scheduler(1)
            .batch(world.calls("safe", "abc"), world.cancel.clone()),
    );
    assert_eq!(
        world.events(),
        [
            "call a", "result a", "call b", "result b", "call c", "result c"
        ]
    );
    assert!(world.cancel.is_cancelled());
}

/// Polled by hand, without any runtime ever.
#[test]
fn a_batch_polled_without_a_runtime_is_answered_when_it_is_dropped() {
    let world = World::new();
    world.hold("body:a");
    let mut batch = world
        .scheduler(1)
        .batch(world.calls("safe", "ab"), world.cancel.clone());
    let mut cx = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut batch).poll_next(&mut cx).is_pending());
    assert_eq!(world.bodies(), "body:a");
    drop(batch);
    assert_balanced(&world, "ab", "after the drop");
}

#[test]
fn a_runtime_that_shuts_down_leaves_no_call_without_result() {
    for dropped_first in [false, true] {
        let (world, runtime) = (World::new(), paused());
        world.hold("body:a");
        let effects = Arc::new(Mutex::new(Vec::new()));
        let seen = effects.clone();
        let journal = world.journal();
        let scheduler = Pipeline::builder(world.registry.clone())
            .observer(move |_: &CallView, result: &ToolResult| {
                seen.lock().unwrap().push(result.effect());
            })
            .recorder(journal.clone())
            .build()
            .scheduler()
            .journal(journal);
        let calls = vec![
            world.call("lone", "a", Value::Null),
            world.call("lone", "b", Value::Null),
            world.call("lone", "c", Value::Null),
        ];
        let batch = scheduler.batch(calls, world.cancel.clone());
        let run = runtime.spawn(batch.run());
        runtime.block_on(idle());
        if dropped_first {
            run.abort();
            runtime.block_on(idle());
        }
        drop(runtime);
        assert_balanced(&world, "abc", "after the shutdown");
        assert_eq!(
            *effects.lock().unwrap(),
            [Effect::Unknown],
            "nobody knows what the body did"
        );
    }
}
