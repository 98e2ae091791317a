//! Batches that grow, and replies that were cut off.

#[path = "support/sched.rs"]
mod support;

use std::time::Duration;

use serde_json::Value;
use support::{World, codes, idle, texts};
use tokio::time::timeout;
use toolfall::FailureKind;

#[tokio::test(start_paused = true)]
async fn calls_run_while_more_are_submitted() {
    let world = World::new();
    let (batch, submitter) = world.scheduler(10).open(world.cancel.clone(), 4);
    let run = tokio::spawn(batch.run());
    submitter
        .submit(world.call("safe", "a", Value::Null))
        .await
        .unwrap();
    idle().await;
    assert!(world.has("result a"), "it does not wait for the rest");
    assert!(!run.is_finished());
    let second = submitter.clone();
    second
        .submit(world.call("lone", "b", Value::Null))
        .await
        .unwrap();
    drop(submitter);
    idle().await;
    assert!(!run.is_finished(), "a clone is open");
    drop(second);
    assert_eq!(texts(&run.await.unwrap()), ["a", "b"]);
}

/// At most a pool's worth inside and `capacity` outside wait; then the
/// submitter does.
#[tokio::test(start_paused = true)]
async fn submitting_waits_while_too_many_wait() {
    let world = World::new();
    world.hold("body:x");
    let (batch, submitter) = world.scheduler(2).open(world.cancel.clone(), 3);
    let run = tokio::spawn(batch.run());
    submitter
        .submit(world.call("lone", "x", Value::Null))
        .await
        .unwrap();
    idle().await;
    let mut taken = 0;
    for k in "abcdefgh".chars() {
        let call = world.call("safe", &k.to_string(), Value::Null);
        if timeout(Duration::from_secs(1), submitter.submit(call))
            .await
            .is_err()
        {
            break;
        }
        taken += 1;
    }
    assert_eq!(taken, 2 + 3);
    world.release("body:x");
    idle().await;
    submitter
        .submit(world.call("safe", "z", Value::Null))
        .await
        .unwrap();
    drop(submitter);
    assert_eq!(
        texts(&run.await.unwrap()),
        ["x", "a", "b", "c", "d", "e", "z"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_cut_off_never_runs_and_says_so() {
    let world = World::new();
    let (batch, submitter) = world.scheduler(10).open(world.cancel.clone(), 4);
    let run = tokio::spawn(batch.run());
    submitter
        .submit(world.call("safe", "a", Value::Null))
        .await
        .unwrap();
    submitter
        .cut(
            world.call("safe", "b", Value::Null),
            "the reply hit its length limit",
        )
        .await
        .unwrap();
    drop(submitter);
    let report = run.await.unwrap();
    assert_eq!(codes(&report), [None, Some("TRUNCATED")]);
    let cut = &report.committed[1].result;
    assert_eq!(
        cut.text(),
        "Error: the call was not run: the reply hit its length limit"
    );
    assert_eq!(cut.kind(), Some(FailureKind::Truncated));
    assert!(cut.is_synthetic());
    assert_eq!(
        world.only(&["pre:b", "body:b", "call", "result"]),
        "call a result a call b result b"
    );
    assert!(!report.end.aborted);
}

#[tokio::test(start_paused = true)]
async fn nothing_of_an_incomplete_batch_begins() {
    let world = World::new();
    let batch = world
        .scheduler(10)
        .batch(world.calls("safe", "ab"), world.cancel.clone());
    let report = batch.incomplete("the stream broke").run().await;
    assert_eq!(codes(&report), [Some("TRUNCATED"); 2]);
    assert_eq!(world.events(), ["call a", "result a", "call b", "result b"]);
}

/// What has begun before the reply broke off runs to its end.
#[tokio::test(start_paused = true)]
async fn an_incomplete_batch_finishes_what_has_begun() {
    use futures_util::StreamExt as _;
    use toolfall::BatchEvent;

    let world = World::new();
    world.hold("body:b");
    world.hold("body:c");
    let mut batch = world
        .scheduler(2)
        .batch(world.calls("safe", "abcd"), world.cancel.clone());
    let Some(BatchEvent::Committed(first)) = batch.next().await else {
        panic!("expected the first call");
    };
    assert_eq!(first.id.as_str(), "a");
    let _ = timeout(Duration::from_secs(1), batch.next()).await;
    let run = tokio::spawn(batch.incomplete("the stream broke").run());
    idle().await;
    world.release("body:b");
    world.release("body:c");
    let report = run.await.unwrap();
    assert_eq!(codes(&report), [None, None, Some("TRUNCATED")]);
    assert_eq!(texts(&report)[..2], ["b", "c"]);
    assert!(!world.has("pre:d"));
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_is_gone_gives_the_call_back() {
    let world = World::new();
    let (batch, submitter) = world.scheduler(10).open(world.cancel.clone(), 4);
    drop(batch);
    let error = submitter
        .submit(world.call("safe", "a", Value::Null))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected a batch that runs, found one that is gone"
    );
    assert_eq!(error.0.id().as_str(), "a");
    assert_eq!(world.events(), Vec::<String>::new());
}

/// Every call that was taken gets its result, also if the batch goes away
/// with calls still on their way in, and the batch does not wait for the
/// submitter any more.
#[tokio::test(start_paused = true)]
async fn submitted_calls_are_answered_when_the_batch_is_dropped() {
    for begun in [false, true] {
        let world = World::new();
        world.hold("body:x");
        let (mut batch, submitter) = world.scheduler(1).open(world.cancel.clone(), 8);
        for k in ["x", "a", "b", "c"] {
            submitter
                .submit(world.call("lone", k, Value::Null))
                .await
                .unwrap();
        }
        if begun {
            use futures_util::StreamExt as _;
            assert!(timeout(Duration::from_secs(1), batch.next()).await.is_err());
            assert!(world.has("body:x"));
        }
        drop(batch);
        assert!(
            submitter
                .submit(world.call("lone", "late", Value::Null))
                .await
                .is_err()
        );
        idle().await;
        world.release("body:x");
        idle().await;
        assert_eq!(
            world.only(&["call", "result"]),
            "call x result x call a result a call b result b call c result c",
            "begun: {begun}"
        );
        assert_eq!(world.running(), 0);
    }
}

/// A cancelled batch still answers what comes later.
#[tokio::test(start_paused = true)]
async fn a_cancelled_batch_answers_later_calls_without_running_them() {
    let world = World::new();
    let (batch, submitter) = world.scheduler(1).open(world.cancel.clone(), 1);
    let run = tokio::spawn(batch.run());
    world.cancel.cancel();
    for k in ["a", "b", "c"] {
        submitter
            .submit(world.call("safe", k, Value::Null))
            .await
            .unwrap();
    }
    drop(submitter);
    let report = run.await.unwrap();
    assert_eq!(codes(&report), [Some("ABORTED_BEFORE_DISPATCH"); 3]);
    assert_eq!(world.bodies(), "");
}
