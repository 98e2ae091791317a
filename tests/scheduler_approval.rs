//! An open question parks one call and nothing else.

#[path = "support/sched.rs"]
mod support;

use serde_json::{Value, json};
use support::{World, codes, idle, texts};

fn asking(world: &World, k: &str) -> toolfall::CallRequest {
    world.hold(&format!("ask:{k}"));
    world.call("safe", k, json!({"ask": true}))
}

#[tokio::test(start_paused = true)]
async fn a_parked_call_gives_its_slot_away_and_keeps_its_turn() {
    let world = World::new();
    let calls = vec![
        asking(&world, "a"),
        world.call("safe", "b", Value::Null),
        world.call("safe", "c", Value::Null),
    ];
    let run = world.run(1, calls).await;
    assert_eq!(world.bodies(), "body:b body:b. body:c body:c.");
    assert_eq!(world.only(&["post:", "result"]), "", "no commit overtakes");
    world.release("ask:a");
    let report = run.await.unwrap();
    assert_eq!(texts(&report), ["a", "b", "c"]);
    assert_eq!(world.only(&["result"]), "result a result b result c");
    assert_eq!(world.most(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_answered_call_waits_for_a_slot_before_its_body() {
    let world = World::new();
    world.hold("body:b");
    let calls = vec![
        asking(&world, "a"),
        world.call("safe", "b", Value::Null),
        world.call("safe", "c", Value::Null),
    ];
    let run = world.run(1, calls).await;
    world.release("ask:a");
    idle().await;
    assert!(world.has("ask:a."));
    assert_eq!(world.bodies(), "body:b", "b holds the only slot");
    world.release("body:b");
    let report = run.await.unwrap();
    // The answered call goes before a new start.
    assert_eq!(
        world.bodies(),
        "body:b body:b. body:a body:a. body:c body:c."
    );
    assert_eq!(texts(&report), ["a", "b", "c"]);
    assert_eq!(world.most(), 1);
}

#[tokio::test(start_paused = true)]
async fn slots_come_back_in_model_order() {
    let world = World::new();
    world.hold("body:d");
    let calls = vec![
        asking(&world, "a"),
        asking(&world, "b"),
        asking(&world, "c"),
        world.call("safe", "d", Value::Null),
    ];
    let run = world.run(1, calls).await;
    assert_eq!(world.only(&["ask:"]), "ask:a ask:b ask:c");
    for k in ["ask:c", "ask:b", "ask:a"] {
        world.release(k);
        idle().await;
    }
    world.release("body:d");
    run.await.unwrap();
    assert_eq!(
        world.bodies(),
        "body:d body:d. body:a body:a. body:b body:b. body:c body:c."
    );
    assert_eq!(world.most(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_parked_exclusive_call_keeps_its_barrier() {
    let world = World::new();
    world.hold("ask:x");
    let calls = vec![
        world.call("lone", "x", json!({"ask": true})),
        world.call("safe", "b", Value::Null),
    ];
    let run = world.run(10, calls).await;
    assert_eq!(world.events(), ["call x", "pre:x", "pre:x.", "ask:x"]);
    world.release("ask:x");
    run.await.unwrap();
    assert_eq!(world.bodies(), "body:x body:x. body:b body:b.");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_needs_no_slot() {
    let world = World::new();
    world.hold("ask:a");
    world.hold("body:b");
    let calls = vec![
        world.call("safe", "a", json!({"ask": true, "answer": "rejected"})),
        world.call("safe", "b", Value::Null),
    ];
    let run = world.run(1, calls).await;
    world.release("ask:a");
    idle().await;
    assert!(world.has("result a"), "committed while b holds the slot");
    assert!(!world.has("body:b."));
    world.release("body:b");
    let report = run.await.unwrap();
    assert_eq!(
        texts(&report),
        ["Error: the user rejected tool \"safe\"", "b"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_batch_withdraws_its_questions() {
    let world = World::new();
    world.hold("body:b");
    let calls = vec![
        asking(&world, "a"),
        world.call("safe", "b", json!({"coop": true})),
        world.call("safe", "c", Value::Null),
    ];
    let run = world.run(1, calls).await;
    world.cancel.cancel();
    let report = run.await.unwrap();
    let before = Some("ABORTED_BEFORE_DISPATCH");
    assert_eq!(codes(&report), [before, Some("ABORTED"), before]);
    assert_eq!(world.bodies(), "body:b body:b.");
}

/// Answered, then cancelled while it waits for the slot.
#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_a_slot_is_let_go_by_a_cancellation() {
    let world = World::new();
    world.hold("body:b");
    let calls = vec![asking(&world, "a"), world.call("safe", "b", Value::Null)];
    let run = world.run(1, calls).await;
    world.release("ask:a");
    idle().await;
    world.cancel.cancel();
    idle().await;
    assert!(world.has("result a"), "not held up by b");
    world.release("body:b");
    let report = run.await.unwrap();
    assert_eq!(
        codes(&report),
        [Some("ABORTED_BEFORE_DISPATCH"), Some("ABORTED")]
    );
    assert_eq!(world.bodies(), "body:b body:b.");
}

#[tokio::test(start_paused = true)]
async fn a_batch_dropped_with_an_open_question_answers_it() {
    let world = World::new();
    let calls = vec![asking(&world, "a"), world.call("lone", "b", Value::Null)];
    let run = world.run(1, calls).await;
    run.abort();
    idle().await;
    assert_eq!(
        world.only(&["call", "result"]),
        "call a result a call b result b"
    );
    assert_eq!(world.bodies(), "");
}
