//! Cancelling a batch before, while and after its calls run.

#[path = "support/sched.rs"]
mod support;

use serde_json::{Value, json};
use support::{World, authors, codes, idle, texts};
use toolfall::{Effect, codes};

const BEFORE: Option<&str> = Some(codes::ABORTED_BEFORE_DISPATCH);
const DURING: Option<&str> = Some(codes::ABORTED);

/// conformance: SCHED-33, SCHED-40
#[tokio::test(start_paused = true)]
async fn a_batch_cancelled_before_it_began_answers_every_call() {
    let world = World::new();
    world.cancel.cancel();
    let report = world
        .run(10, world.calls("safe", "abc"))
        .await
        .await
        .unwrap();
    assert_eq!(
        world.events(),
        [
            "call a", "result a", "call b", "result b", "call c", "result c"
        ]
    );
    for call in &report.committed {
        assert_eq!(
            call.result.text(),
            "Error: tool call aborted before dispatch"
        );
        assert_eq!(
            call.result.message(),
            Some("tool call aborted before dispatch")
        );
        assert_eq!(call.result.code(), BEFORE);
        assert_eq!(call.result.info().unwrap().name(), "AbortError");
        assert_eq!(call.result.effect(), Effect::NotStarted);
        assert!(call.result.is_synthetic() && call.result.is_error());
    }
    assert!(report.end.aborted);
}

/// conformance: SCHED-34
#[tokio::test(start_paused = true)]
async fn cancelled_during_a_policy_nothing_is_dispatched() {
    let world = World::new();
    world.hold("pre:a");
    let run = world.run(10, world.calls("safe", "ab")).await;
    world.cancel.cancel();
    idle().await;
    world.release("pre:a");
    let report = run.await.unwrap();
    assert_eq!(codes(&report), [BEFORE, BEFORE]);
    let synthetic: Vec<bool> = report
        .committed
        .iter()
        .map(|call| call.result.is_synthetic())
        .collect();
    assert_eq!(synthetic, [false, true]);
    assert_eq!(
        world.only(&["call", "result"]),
        "call a result a call b result b"
    );
    assert_eq!(world.only(&["body:", "pre:b", "done:"]), "done:a");
}

/// conformance: SCHED-35, SCHED-36
#[tokio::test(start_paused = true)]
async fn what_runs_commits_as_it_ended_and_the_rest_never_begins() {
    let world = World::new();
    world.hold("body:a");
    world.hold("body:b");
    let calls = "abcd"
        .chars()
        .map(|k| world.call("safe", &k.to_string(), json!({"post_context": k})))
        .collect();
    let run = world.run(2, calls).await;
    world.cancel.cancel();
    idle().await;
    assert!(!run.is_finished(), "running bodies are waited for");
    world.release("body:b");
    world.release("body:a");
    let report = run.await.unwrap();
    assert_eq!(codes(&report), [DURING, DURING, BEFORE, BEFORE]);
    assert_eq!(world.only(&["body:"]), "body:a body:b body:b. body:a.");
    assert_eq!(
        world.only(&["call", "result"]),
        "call a call b result a result b call c result c call d result d"
    );
    assert!(report.end.aborted);
    assert!(report.end.contexts.is_empty());
    assert_eq!(authors(&report.end.parked), ["a", "b"]);
}

/// conformance: SCHED-37
#[tokio::test(start_paused = true)]
async fn an_exclusive_call_behind_a_cancelled_group_never_runs() {
    let world = World::new();
    let calls = vec![
        world.call("safe", "a", json!({"coop": true})),
        world.call("lone", "x", Value::Null),
    ];
    world.hold("body:a");
    let run = world.run(10, calls).await;
    world.cancel.cancel();
    let report = run.await.unwrap();
    assert_eq!(codes(&report), [DURING, BEFORE]);
    assert!(report.committed[1].result.is_synthetic());
    assert_eq!(
        world.only(&["call x", "result x", "body:x"]),
        "call x result x"
    );
}

/// conformance: SCHED-38
#[tokio::test(start_paused = true)]
async fn a_body_that_cancels_the_turn_ends_it() {
    let world = World::new();
    let calls = vec![
        world.call("lone", "x", json!({"cancels": true, "context": "x"})),
        world.call("safe", "b", Value::Null),
    ];
    let report = world.run(10, calls).await.await.unwrap();
    assert_eq!(codes(&report), [DURING, BEFORE]);
    assert!(report.committed[1].result.is_synthetic());
    assert_eq!(authors(&report.end.parked), ["x"]);

    // The next turn has a token of its own and nothing of this one.
    let next = World::new();
    let report = next
        .run(10, vec![next.call("safe", "c", json!({"context": "c"}))])
        .await
        .await
        .unwrap();
    assert_eq!(authors(&report.end.contexts), ["c"]);
    assert!(report.end.parked.is_empty());
}

/// conformance: SCHED-39
#[tokio::test(start_paused = true)]
async fn contexts_from_before_the_cancellation_go_with_the_turn() {
    let world = World::new();
    let calls = vec![
        world.call("lone", "a", json!({"context": "a"})),
        world.call("lone", "x", json!({"cancels": true})),
    ];
    let report = world.run(10, calls).await.await.unwrap();
    assert_eq!(codes(&report), [None, DURING]);
    assert_eq!(authors(report.committed[0].result.contexts()), ["a"]);
    assert!(report.end.contexts.is_empty() && report.end.parked.is_empty());
    assert_eq!(world.only(&["result"]), "result a result x");
}

/// A small loop keeps the history; the next request is balanced.
///
/// conformance: SCHED-41
#[tokio::test(start_paused = true)]
async fn the_history_stays_balanced() {
    let world = World::new();
    world.hold("body:a");
    let mut history = vec!["assistant a b c".to_owned()];
    let run = world.run(1, world.calls("safe", "abc")).await;
    world.cancel.cancel();
    world.release("body:a");
    for call in run.await.unwrap().committed {
        history.push(format!("tool {} {}", call.id, call.result.text()));
    }
    assert_eq!(
        history,
        [
            "assistant a b c",
            "tool a Error: tool call aborted",
            "tool b Error: tool call aborted before dispatch",
            "tool c Error: tool call aborted before dispatch",
        ]
    );
}

/// conformance: SCHED-42
#[tokio::test(start_paused = true)]
async fn cancelled_after_every_start_all_results_are_real() {
    let world = World::new();
    world.hold("body:a");
    world.hold("body:b");
    let run = world.run(10, world.calls("safe", "ab")).await;
    world.cancel.cancel();
    world.release("body:a");
    world.release("body:b");
    let report = run.await.unwrap();
    assert!(
        report
            .committed
            .iter()
            .all(|call| !call.result.is_synthetic())
    );
    assert_eq!(codes(&report), [DURING, DURING]);
    assert!(report.end.aborted);
}

/// conformance: SCHED-43
#[tokio::test(start_paused = true)]
async fn a_cancellation_between_a_commit_and_the_next_start_is_noticed() {
    use futures_util::StreamExt as _;
    use toolfall::BatchEvent;

    let world = World::new();
    let calls = vec![
        world.call("lone", "a", Value::Null),
        world.call("lone", "b", Value::Null),
    ];
    let mut batch = world.scheduler(10).batch(calls, world.cancel.clone());
    let Some(BatchEvent::Committed(first)) = batch.next().await else {
        panic!("expected the first call");
    };
    assert!(!first.result.is_error());
    world.cancel.cancel();
    let report = batch.run().await;
    assert_eq!(codes(&report), [BEFORE]);
    assert_eq!(report.committed[0].place, 1);
    assert!(!world.has("pre:b"));

    // Likewise between two starts.
    let world = World::new();
    let calls = vec![
        world.call("safe", "a", json!({"cancels": true})),
        world.call("safe", "b", Value::Null),
    ];
    let report = world.run(10, calls).await.await.unwrap();
    assert_eq!(codes(&report), [DURING, BEFORE]);
    assert!(report.committed[1].result.is_synthetic());
}

/// One call's own token: its siblings go on.
#[tokio::test(start_paused = true)]
async fn a_call_may_be_cancelled_alone() {
    let world = World::new();
    for k in "abc".chars() {
        world.hold(&format!("body:{k}"));
    }
    let mut alone = World::new();
    alone.cancel = world.cancel.child_token();
    let calls = vec![
        world.call("safe", "a", Value::Null),
        alone.call("safe", "b", json!({"coop": true})),
        alone.call("safe", "d", Value::Null),
        world.call("safe", "c", Value::Null),
    ];
    let run = world.run(2, calls).await;
    alone.cancel.cancel();
    idle().await;
    world.release("body:a");
    world.release("body:c");
    let report = run.await.unwrap();
    // The bodies of `a` and `c` never saw a cancellation.
    assert_eq!(codes(&report), [None, DURING, BEFORE, None]);
    assert!(!report.end.aborted);
    assert!(report.committed[2].result.is_synthetic());
}

/// conformance: CANCEL-17, CANCEL-19
#[tokio::test(start_paused = true)]
async fn the_first_cause_counts_and_releases_a_cooperative_body() {
    let world = World::new();
    world.hold("body:a");
    let calls = vec![world.call("safe", "a", json!({"coop": true}))];
    let batch = world.scheduler(10).batch(calls, world.cancel.clone());
    let cancel = batch.cancel();
    let run = tokio::spawn(batch.run());
    idle().await;
    assert_eq!(cancel.cause(), None);
    cancel.clone().cancel("the user pressed escape");
    cancel.cancel("too late");
    let report = run.await.unwrap();
    assert!(report.end.aborted);
    assert_eq!(codes(&report), [DURING]);
    assert_eq!(cancel.cause(), Some("the user pressed escape"));
    assert!(
        world.cancel.is_cancelled(),
        "the turn's own token is cancelled"
    );
}

/// The outer token was cancelled without saying why; nothing can be claimed.
#[tokio::test(start_paused = true)]
async fn no_cause_is_invented_after_the_fact() {
    let world = World::new();
    let batch = world
        .scheduler(10)
        .batch(world.calls("safe", "a"), world.cancel.clone());
    let cancel = batch.cancel();
    world.cancel.cancel();
    cancel.cancel("me");
    assert_eq!(cancel.cause(), None);
    assert_eq!(codes(&batch.run().await), [BEFORE]);
}

/// A failure of the body's own is not replaced, and a denial neither.
#[tokio::test(start_paused = true)]
async fn a_cancellation_replaces_no_failure() {
    let world = World::new();
    for k in "ab".chars() {
        world.hold(&format!("body:{k}"));
    }
    let calls = vec![
        world.call("safe", "a", json!({"fail": "mine"})),
        world.call("safe", "b", Value::Null),
        world.call("safe", "c", json!({"deny": "no"})),
    ];
    let run = world.run(10, calls).await;
    world.cancel.cancel();
    world.release("body:a");
    world.release("body:b");
    let report = run.await.unwrap();
    assert_eq!(
        texts(&report),
        ["Error: mine", "Error: tool call aborted", "Error: no"]
    );
}
