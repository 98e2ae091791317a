//! Barriers, the pool, and the order of policies, records and results.

#[path = "support/sched.rs"]
mod support;

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use support::{World, idle, texts};
use tokio_util::sync::CancellationToken;
use toolfall::scheduler::DEFAULT_LIMIT;
use toolfall::{
    Arguments, BoxError, CallRequest, CallView, Pipeline, Registry, ToolContext, ToolResult,
    raw_tool,
};

/// conformance: SCHED-12
#[tokio::test(start_paused = true)]
async fn parallel_bodies_all_start_before_one_ends_and_in_model_order() {
    let world = World::new();
    for k in ["body:a", "body:b", "body:c"] {
        world.hold(k);
    }
    let run = world.run(10, world.calls("safe", "abc")).await;
    assert_eq!(world.bodies(), "body:a body:b body:c");
    for k in ["body:c", "body:a", "body:b"] {
        world.release(k);
    }
    assert_eq!(texts(&run.await.unwrap()), ["a", "b", "c"]);
}

/// conformance: SCHED-13
#[tokio::test(start_paused = true)]
async fn an_exclusive_call_is_a_barrier_in_both_directions() {
    let world = World::new();
    for k in ["body:a", "body:x", "body:b"] {
        world.hold(k);
    }
    let calls = vec![
        world.call("safe", "a", Value::Null),
        world.call("lone", "x", Value::Null),
        world.call("safe", "b", Value::Null),
    ];
    let run = world.run(10, calls).await;
    assert_eq!(world.bodies(), "body:a");
    world.release("body:a");
    idle().await;
    assert_eq!(world.bodies(), "body:a body:a. body:x");
    world.release("body:x");
    idle().await;
    assert_eq!(world.bodies(), "body:a body:a. body:x body:x. body:b");
    world.release("body:b");
    assert_eq!(texts(&run.await.unwrap()), ["a", "x", "b"]);
}

/// conformance: SCHED-23
#[tokio::test(start_paused = true)]
async fn an_exclusive_call_holds_its_barrier_until_it_is_committed() {
    let world = World::new();
    world.hold("post:x");
    let calls = vec![
        world.call("lone", "x", Value::Null),
        world.call("safe", "b", Value::Null),
    ];
    let run = world.run(10, calls).await;
    assert!(world.has("body:x.") && world.has("post:x"));
    assert!(
        !world.has("call b"),
        "not even recorded: {:?}",
        world.events()
    );
    world.release("post:x");
    run.await.unwrap();
    assert_eq!(
        world.only(&["post:", "done:", "call", "body:"]),
        "call x body:x body:x. post:x post:x. done:x call b body:b body:b. post:b post:b. done:b"
    );
}

/// A tool `swap` whose body replaces `safe` by an exclusive tool that says so.
fn swapping(world: &World) -> (Registry, Arc<Mutex<Option<toolfall::Registration>>>) {
    let registry = Registry::new();
    let held = Arc::new(Mutex::new(Some(
        registry.register(world.tool("x").parallel()).unwrap(),
    )));
    (registry, held)
}

fn replace(world: &World, registry: &Registry, held: &Mutex<Option<toolfall::Registration>>) {
    held.lock().unwrap().take();
    let inner = world.clone();
    let new = raw_tool(
        "x",
        "",
        json!({"type": "object"}),
        move |arguments: Arguments, ctx: ToolContext| {
            let inner = inner.clone();
            async move {
                let value = inner.body(arguments.value(), &ctx).await?;
                Ok::<Value, BoxError>(format!("new {}", value.as_str().unwrap()).into())
            }
        },
    );
    *held.lock().unwrap() = Some(registry.register(new).unwrap());
}

/// conformance: SCHED-14
#[tokio::test(start_paused = true)]
async fn calls_behind_a_barrier_are_classified_again() {
    let world = World::new();
    let (registry, held) = swapping(&world);
    let (inner, tools, swap_held) = (world.clone(), registry.clone(), held.clone());
    let swap = raw_tool(
        "swap",
        "",
        json!({"type": "object"}),
        move |_: Arguments, _: ToolContext| {
            replace(&inner, &tools, &swap_held);
            async { Ok::<Value, BoxError>("swapped".into()) }
        },
    );
    registry.register(swap).unwrap().keep();
    world.hold("body:a");
    world.hold("body:b");
    let calls = [
        CallRequest::new("s", "swap", "{}", world.cancel.clone()),
        world.call("x", "a", Value::Null),
        world.call("x", "b", Value::Null),
    ];
    let scheduler = Pipeline::builder(registry).build().scheduler();
    let run = tokio::spawn(scheduler.batch(calls, world.cancel.clone()).run());
    idle().await;
    assert_eq!(world.bodies(), "body:a");
    world.release("body:a");
    idle().await;
    assert_eq!(world.bodies(), "body:a body:a. body:b");
    world.release("body:b");
    assert_eq!(texts(&run.await.unwrap()), ["swapped", "new a", "new b"]);
}

/// conformance: SCHED-15
#[tokio::test(start_paused = true)]
async fn an_observer_that_replaces_a_tool_is_seen_by_the_next_start() {
    let world = World::new();
    let (registry, held) = swapping(&world);
    for k in ["body:a", "body:b", "body:c"] {
        world.hold(k);
    }
    let (inner, tools) = (world.clone(), registry.clone());
    let scheduler = Pipeline::builder(registry)
        .observer(move |call: &CallView, _: &ToolResult| {
            if call.id().as_str() == "a" {
                replace(&inner, &tools, &held);
            }
        })
        .build()
        .scheduler()
        .limit(NonZeroUsize::new(2).unwrap());
    let batch = scheduler.batch(world.calls("x", "abc"), world.cancel.clone());
    let run = tokio::spawn(batch.run());
    idle().await;
    assert_eq!(world.bodies(), "body:a body:b");
    world.release("body:a");
    idle().await;
    assert_eq!(
        world.bodies(),
        "body:a body:b body:a.",
        "c has to wait for b"
    );
    world.release("body:b");
    idle().await;
    assert_eq!(world.bodies(), "body:a body:b body:a. body:b. body:c");
    world.release("body:c");
    assert_eq!(texts(&run.await.unwrap()), ["a", "b", "new c"]);
}

/// conformance: SCHED-17
#[tokio::test(start_paused = true)]
async fn ten_run_at_a_time_if_nothing_is_said() {
    assert_eq!(DEFAULT_LIMIT.get(), 10);
    let world = World::new();
    let keys = "abcdefghijkl";
    for k in keys.chars() {
        world.hold(&format!("body:{k}"));
    }
    let scheduler = world.pipeline_with(world.journal()).scheduler();
    let batch = scheduler.batch(world.calls("safe", keys), world.cancel.clone());
    let run = tokio::spawn(batch.run());
    idle().await;
    assert_eq!(world.running(), 10);
    for k in keys.chars() {
        world.release(&format!("body:{k}"));
    }
    run.await.unwrap();
    assert_eq!(world.most(), 10);
}

/// conformance: SCHED-19
#[tokio::test(start_paused = true)]
async fn a_freed_slot_takes_the_next_call_after_the_commit() {
    let world = World::new();
    for k in "abcd".chars() {
        world.hold(&format!("body:{k}"));
    }
    let run = world.run(2, world.calls("safe", "abcd")).await;
    assert_eq!(world.bodies(), "body:a body:b");
    world.release("body:a");
    idle().await;
    assert_eq!(
        world.only(&["call", "result"]),
        "call a call b result a call c"
    );
    for k in ["body:b", "body:c", "body:d"] {
        world.release(k);
    }
    assert_eq!(texts(&run.await.unwrap()), ["a", "b", "c", "d"]);
    assert_eq!(world.most(), 2);
}

/// conformance: SCHED-20
#[tokio::test(start_paused = true)]
async fn a_limit_of_one_runs_one_after_the_other() {
    let world = World::new();
    world.hold("body:a");
    let run = world.run(1, world.calls("safe", "ab")).await;
    assert_eq!(world.bodies(), "body:a");
    assert!(!world.has("pre:b"));
    world.release("body:a");
    run.await.unwrap();
    assert_eq!(world.bodies(), "body:a body:a. body:b body:b.");
}

/// conformance: SCHED-21, SCHED-24
#[tokio::test(start_paused = true)]
async fn a_slow_head_does_not_stop_the_pool_and_nothing_overtakes_its_result() {
    let world = World::new();
    world.hold("body:a");
    let run = world.run(2, world.calls("safe", "abcdef")).await;
    assert_eq!(
        world.bodies(),
        "body:a body:b body:b. body:c body:c. body:d body:d. body:e body:e. body:f body:f."
    );
    assert_eq!(world.only(&["post:", "result", "done:"]), "");
    world.release("body:a");
    run.await.unwrap();
    assert_eq!(
        world.only(&["result"]),
        "result a result b result c result d result e result f"
    );
    assert_eq!(world.most(), 2);
}

/// Each batch counts for itself, on one scheduler and its clones.
///
/// conformance: SCHED-22
#[tokio::test(start_paused = true)]
async fn the_limit_is_set_once_and_counts_for_each_batch() {
    let world = World::new();
    for k in "abcd".chars() {
        world.hold(&format!("body:{k}"));
    }
    let scheduler = world.scheduler(1);
    let other = scheduler.clone();
    let first = tokio::spawn(
        scheduler
            .batch(world.calls("safe", "ab"), world.cancel.clone())
            .run(),
    );
    let second = tokio::spawn(
        other
            .batch(world.calls("safe", "cd"), world.cancel.clone())
            .run(),
    );
    idle().await;
    assert_eq!(world.bodies(), "body:a body:c");
    for k in "abcd".chars() {
        world.release(&format!("body:{k}"));
    }
    assert_eq!(texts(&first.await.unwrap()), ["a", "b"]);
    assert_eq!(texts(&second.await.unwrap()), ["c", "d"]);
    assert_eq!(world.most(), 2);
}

/// conformance: SCHED-26
#[tokio::test(start_paused = true)]
async fn policies_run_in_model_order_though_bodies_end_in_reverse() {
    let world = World::new();
    for k in "abc".chars() {
        world.hold(&format!("body:{k}"));
    }
    let run = world.run(10, world.calls("safe", "abc")).await;
    for k in ["body:c", "body:b", "body:a"] {
        world.release(k);
        idle().await;
    }
    run.await.unwrap();
    assert_eq!(
        world.only(&["pre:"]),
        "pre:a pre:a. pre:b pre:b. pre:c pre:c."
    );
    assert_eq!(
        world.only(&["post:"]),
        "post:a post:a. post:b post:b. post:c post:c."
    );
    assert_eq!(world.only(&["done:"]), "done:a done:b done:c");
}

/// conformance: SCHED-27
#[tokio::test(start_paused = true)]
async fn policies_of_two_calls_never_overlap() {
    let world = World::new();
    world.hold("pre:a");
    let run = world.run(10, world.calls("safe", "ab")).await;
    assert_eq!(world.events(), ["call a", "pre:a"]);
    world.release("pre:a");
    run.await.unwrap();
    assert_eq!(world.only(&["pre:"]), "pre:a pre:a. pre:b pre:b.");
}

/// conformance: SCHED-29, SCHED-31
#[tokio::test(start_paused = true)]
async fn a_denial_and_a_failing_policy_disturb_nobody() {
    let world = World::new();
    let calls = vec![
        world.call("safe", "a", json!({"fail": "broken"})),
        world.call("safe", "b", json!({"deny": "not you"})),
        world.call("safe", "c", json!({"pre_fails": "policy is down"})),
        world.call("safe", "d", Value::Null),
    ];
    let report = world.run(10, calls).await.await.unwrap();
    assert_eq!(world.bodies(), "body:a body:a. body:d body:d.");
    assert_eq!(
        world.only(&["post:"]),
        "post:a post:a. post:b post:b. post:d post:d."
    );
    assert_eq!(
        texts(&report),
        [
            "Error: broken",
            "Error: not you",
            "Error: policy is down",
            "d"
        ]
    );
    assert_eq!(
        world.only(&["result"]),
        "result a result b result c result d"
    );
    assert!(!report.end.aborted);
}

/// conformance: SCHED-30
#[tokio::test(start_paused = true)]
async fn a_call_is_recorded_before_its_policy_sees_it() {
    let world = World::new();
    world
        .run(10, world.calls("safe", "ab"))
        .await
        .await
        .unwrap();
    for k in ["a", "b"] {
        let at = |event: String| {
            world
                .events()
                .iter()
                .position(|seen| *seen == event)
                .unwrap()
        };
        assert!(at(format!("call {k}")) < at(format!("pre:{k}")));
        assert!(at(format!("post:{k}")) < at(format!("result {k}")));
    }
}

/// conformance: SCHED-32
#[tokio::test(start_paused = true)]
async fn a_refused_head_commits_before_the_next_call_begins() {
    for refused in [
        json!({"deny": "no"}),
        json!({"pre_fails": "down"}),
        json!({"guard": "no"}),
    ] {
        let world = World::new();
        world.hold("body:b");
        let calls = vec![
            world.call("safe", "a", refused),
            world.call("safe", "b", Value::Null),
        ];
        let run = world.run(1, calls).await;
        assert_eq!(world.only(&["call", "result"]), "call a result a call b");
        world.release("body:b");
        run.await.unwrap();
    }
}

/// A refused call behind a running head holds no slot: with two of them
/// between, the pool of two is still filled.
#[tokio::test(start_paused = true)]
async fn refused_calls_hold_no_slot_while_they_wait_for_their_turn() {
    let world = World::new();
    world.hold("body:a");
    world.hold("body:d");
    let calls = vec![
        world.call("safe", "a", Value::Null),
        world.call("safe", "b", json!({"deny": "no"})),
        world.call("safe", "c", json!({"guard": "no"})),
        world.call("safe", "d", Value::Null),
    ];
    let run = world.run(2, calls).await;
    assert_eq!(world.bodies(), "body:a body:d");
    world.release("body:a");
    world.release("body:d");
    run.await.unwrap();
}

/// A slow post-execute of the head keeps the commits back, not the bodies.
#[tokio::test(start_paused = true)]
async fn a_slow_commit_keeps_no_slot() {
    let world = World::new();
    world.hold("post:a");
    let run = world.run(1, world.calls("safe", "abc")).await;
    assert_eq!(
        world.bodies(),
        "body:a body:a. body:b body:b. body:c body:c."
    );
    assert_eq!(world.only(&["post:", "result"]), "post:a");
    world.release("post:a");
    run.await.unwrap();
    assert_eq!(world.only(&["result"]), "result a result b result c");
}

/// Empty, repeated and missing ids are kept as sent; calls pair by place.
#[tokio::test(start_paused = true)]
async fn odd_ids_still_get_one_result_each() {
    let world = World::new();
    let call = |id: &'static str, k: &str| {
        let arguments = json!({"k": k}).to_string();
        CallRequest::new(id, "safe", arguments, world.cancel.clone())
    };
    let calls = vec![
        call("", "a"),
        call("same", "b"),
        call("same", "c"),
        call("", "d"),
    ];
    let report = world.run(10, calls).await.await.unwrap();
    let seen: Vec<_> = report
        .committed
        .iter()
        .map(|call| (call.place, call.id.as_str(), call.result.text()))
        .collect();
    let expected = [
        (0, "", "a"),
        (1, "same", "b"),
        (2, "same", "c"),
        (3, "", "d"),
    ];
    assert_eq!(seen, expected.map(|(n, id, text)| (n, id, text.to_owned())));
}

#[tokio::test(start_paused = true)]
async fn an_empty_batch_just_ends() {
    let world = World::new();
    let report = world.run(1, Vec::new()).await.await.unwrap();
    assert!(report.committed.is_empty() && !report.end.aborted && !report.end.concludes);
    assert!(!world.cancel.is_cancelled());
}

/// Two turns one after the other share nothing: the end of a batch leaves its
/// token alone.
#[tokio::test(start_paused = true)]
async fn the_end_of_a_batch_cancels_nothing() {
    let world = World::new();
    let cancel = CancellationToken::new();
    let batch = world
        .scheduler(2)
        .batch(world.calls("safe", "ab"), cancel.clone());
    batch.run().await;
    assert!(!cancel.is_cancelled());
}
