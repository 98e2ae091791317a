//! The retry stage: only repeatable tools, one attempt at a time.

mod support;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::json;
use support::{
    Around, CallService, Leaf, Log, Shelf, Tool, around, assert_shareable, polls, request,
    request_with, settle,
};
use tokio::time::{Instant, sleep};
use tokio_test::{assert_pending, assert_ready, assert_ready_ok, task};
use tokio_util::sync::CancellationToken;
use toolfall_layers::*;
use tower_layer::{Layer as _, Stack};
use tower_service::Service as _;
use tower_test::mock;

fn times(attempts: u32) -> RetryLayer {
    RetryLayer::new(NonZeroU32::new(attempts).unwrap())
}

fn repeatable() -> Shelf {
    Shelf::of(Tool {
        repeatable: true,
        ..Tool::default()
    })
}

/// A body that fails until its attempt number `good`.
fn flaky(good: u32, ran: &Arc<AtomicU32>) -> Leaf {
    let ran = ran.clone();
    Leaf::new(move |_| {
        let attempt = ran.fetch_add(1, Ordering::SeqCst) + 1;
        async move {
            polls(1).await;
            if attempt >= good {
                Ok(json!(attempt))
            } else {
                Err("flaky".into())
            }
        }
    })
}

/// conformance: DISP-30
#[tokio::test]
async fn a_repeatable_tool_is_tried_until_it_succeeds() {
    let ran = Arc::default();
    let result = around(&repeatable(), times(5), flaky(3, &ran))
        .run(request("echo"))
        .await;
    assert_eq!(result.text(), "value: 3");
    assert_eq!(ran.load(Ordering::SeqCst), 3);
    assert_eq!(result.effect(), Effect::Stopped);
}

#[tokio::test]
async fn the_last_failure_counts_when_all_attempts_fail() {
    let ran = Arc::default();
    let result = around(&repeatable(), times(4), flaky(9, &ran))
        .run(request("echo"))
        .await;
    assert_eq!(result.text(), "Error: flaky");
    assert_eq!(ran.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn a_tool_that_is_not_repeatable_runs_once_whatever_the_layer_says() {
    let ran = Arc::default();
    let shelf = Shelf::of(Tool::default());
    let layer = times(4).when(|_| true);
    let result = around(&shelf, layer, flaky(2, &ran))
        .run(request("echo"))
        .await;
    assert!(result.is_error());
    assert_eq!(ran.load(Ordering::SeqCst), 1);
    // Nor is a tool that nobody knows.
    let shelf = Shelf::default();
    let result = around(&shelf, layer, flaky(2, &ran))
        .run(request("echo"))
        .await;
    assert_eq!(result.code(), Some(codes::UNKNOWN_TOOL));
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn only_failures_of_bodies_are_tried_again_unless_the_host_says_otherwise() {
    let ran = Arc::new(AtomicU32::new(0));
    let seen = ran.clone();
    let refusing = Around(move |_: Leaf, _| {
        seen.fetch_add(1, Ordering::SeqCst);
        async { Ok(ToolOutcome::failure("cached").of_kind(FailureKind::Overloaded)) }
    });
    let layer = Stack::new(refusing.clone(), times(3));
    around(&repeatable(), layer, Leaf::returning(1))
        .run(request("echo"))
        .await;
    assert_eq!(ran.swap(0, Ordering::SeqCst), 1);
    let overloaded = times(3).when(|outcome| outcome.kind() == Some(FailureKind::Overloaded));
    let layer = Stack::new(refusing, overloaded);
    around(&repeatable(), layer, Leaf::returning(1))
        .run(request("echo"))
        .await;
    assert_eq!(ran.load(Ordering::SeqCst), 3);
}

/// conformance: DISP-31
#[tokio::test]
async fn every_layer_inside_runs_on_every_attempt() {
    let (log, ran) = (Log::default(), Arc::default());
    let seen = log.clone();
    let inner = Around(move |mut inner: Leaf, call| {
        seen.add("inner");
        inner.call(call)
    });
    let stack = around(&repeatable(), Stack::new(inner, times(3)), flaky(3, &ran));
    assert!(!stack.run(request("echo")).await.is_error());
    assert_eq!(log.count("inner"), 3);
}

/// conformance: DISP-32
#[tokio::test]
async fn a_cancellation_between_attempts_is_after_a_body_was_entered() {
    let (token, ran) = (CancellationToken::new(), Arc::new(AtomicU32::new(0)));
    let cancel = token.clone();
    // Cancels once the stage has decided to go on, inside its second attempt.
    let inner = Around(move |mut inner: Leaf, call: ClearedCall| {
        if call.view().was_entered() {
            cancel.cancel();
        }
        inner.call(call)
    });
    let stack = around(&repeatable(), Stack::new(inner, times(3)), flaky(3, &ran));
    let result = stack.run(request_with("echo", &token)).await;
    assert_eq!(result.code(), Some(codes::ABORTED));
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn the_stage_waits_as_told_and_a_cancellation_ends_the_wait_with_the_last_outcome() {
    let ran = Arc::default();
    let layer = times(3).with_backoff(|attempt| Duration::from_secs(u64::from(attempt)));
    let stack = around(&repeatable(), layer, flaky(3, &ran));
    let started = Instant::now();
    assert!(!stack.run(request("echo")).await.is_error());
    assert_eq!(started.elapsed(), Duration::from_secs(3));

    let (token, ran) = (CancellationToken::new(), Arc::default());
    let stack = around(&repeatable(), layer, flaky(3, &ran));
    let call = tokio::spawn({
        let call = request_with("echo", &token);
        async move { stack.run(call).await }
    });
    sleep(Duration::from_millis(500)).await;
    token.cancel();
    let started = Instant::now();
    let result = call.await.unwrap();
    assert_eq!(started.elapsed(), Duration::ZERO);
    assert_eq!(
        result.message(),
        Some("flaky"),
        "a failure outlives a cancellation"
    );
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn the_caller_ends_the_wait_also_where_an_outer_stage_replaced_the_token() {
    let (token, ran) = (CancellationToken::new(), Arc::default());
    let outer = Around(|mut inner: retry::Retry<Leaf>, call: ClearedCall| {
        inner.call(call.with_cancellation(CancellationToken::new()))
    });
    let layer = times(3).with_backoff(|_| Duration::from_secs(3_600));
    let stack = around(&repeatable(), Stack::new(layer, outer), flaky(3, &ran));
    let call = tokio::spawn({
        let call = request_with("echo", &token);
        async move { stack.run(call).await }
    });
    sleep(Duration::from_millis(500)).await;
    token.cancel();
    let started = Instant::now();
    let result = call.await.unwrap();
    assert!(
        started.elapsed() < Duration::from_secs(1),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(result.message(), Some("flaky"));
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_begins_only_after_the_bodies_of_the_one_before_have_settled() {
    let log = Log::default();
    let seen = log.clone();
    let open = Arc::new(AtomicU32::new(0));
    // Drops each dispatch while its body runs, and reports a failure.
    let hasty = Around(|mut inner: Leaf, call| async move {
        let mut dispatch = inner.call(call);
        std::future::poll_fn(|cx| {
            let _ = std::pin::Pin::new(&mut dispatch).poll(cx);
            std::task::Poll::Ready(())
        })
        .await;
        Ok(ToolOutcome::failure("too slow").of_kind(FailureKind::Body))
    });
    let leaf = Leaf::new(move |_| {
        let (open, log) = (open.clone(), seen.clone());
        async move {
            assert_eq!(
                open.fetch_add(1, Ordering::SeqCst),
                0,
                "never two at a time"
            );
            sleep(Duration::from_secs(1)).await;
            open.fetch_sub(1, Ordering::SeqCst);
            log.add("settled");
            Ok(json!(1))
        }
    });
    let stack = around(&repeatable(), Stack::new(hasty, times(3)), leaf);
    let result = stack.run(request("echo")).await;
    assert_eq!(result.message(), Some("too slow"));
    assert_eq!(log.count("settled"), 3);
}

/// An attempt that was given up, or failed while it was drained, says nothing
/// about the next one.
#[tokio::test(start_paused = true)]
async fn an_attempt_starts_afresh() {
    let seen = Log::default();
    let results = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (record, body_log) = (results.clone(), seen.clone());
    let runs = Arc::new(AtomicU32::new(0));
    let leaf = Leaf::new(move |body: BodyContext| {
        let attempt = runs.fetch_add(1, Ordering::SeqCst);
        let log = body_log.clone();
        async move {
            if attempt == 0 {
                // Deaf: is given up.
                sleep(Duration::from_secs(3_600)).await;
            } else {
                body.cancellation().cancelled().await;
                sleep(Duration::from_millis(10)).await;
                log.add("second attempt cleaned up");
            }
            Ok(json!(1))
        }
    });
    let stage = Shelf::of(Tool {
        repeatable: true,
        budget: Some(Duration::from_secs(5)),
        ..Tool::default()
    })
    .stage()
    .observer(move |_: &CallView, result: &ToolResult| {
        record.lock().unwrap().push(result.clone());
    });
    let stack = tower::ServiceBuilder::new()
        .layer(stage)
        .layer(ApprovalLayer::unavailable())
        .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
        .layer(times(2).when(|outcome| outcome.kind() == Some(FailureKind::TimedOut)))
        .layer(TimeoutLayer::declared().with_grace(Duration::from_secs(1)))
        .service(leaf);
    let call = tokio::spawn(async move { stack.run(request("echo")).await });
    sleep(Duration::from_secs(8)).await;
    call.abort();
    settle().await;
    assert_eq!(
        seen.entries(),
        ["second attempt cleaned up"],
        "driven to its end, not dropped"
    );
    let results = results.lock().unwrap();
    assert_eq!(results.len(), 1);
    assert_eq!(results[0].code(), Some(codes::ABORTED));
    assert_eq!(results[0].effect(), Effect::Unknown, "of the first attempt");
}

#[tokio::test]
async fn a_later_attempt_readies_its_own_instance() {
    let (service, mut handle) = mock::pair::<ClearedCall, ToolOutcome>();
    let stage = times(2).layer(service);
    assert_shareable(&stage);
    let mut stage = mock::Spawn::new(stage);
    handle.allow(0);
    assert_pending!(stage.poll_ready());
    handle.allow(1);
    assert_ready_ok!(stage.poll_ready());
    let (call, _rest) = testing::cleared_call_in(&repeatable().stage(), request("echo"));
    let token = call.token();
    let mut outcome = task::spawn(stage.call(call));
    assert_pending!(outcome.poll());
    let (_, respond) = assert_ready!(task::spawn(handle.next_request()).poll()).unwrap();
    respond.send_response(ToolOutcome::failure("flaky").of_kind(FailureKind::Body));
    assert_pending!(outcome.poll());
    assert_pending!(task::spawn(handle.next_request()).poll());
    handle.allow(1);
    assert!(outcome.is_woken());
    assert_pending!(outcome.poll());
    let (again, respond) = assert_ready!(task::spawn(handle.next_request()).poll()).unwrap();
    assert!(again.token() == token, "another attempt at the same call");
    respond.send_response(ToolOutcome::failure("still").of_kind(FailureKind::Body));
    assert_eq!(assert_ready_ok!(outcome.poll()).message(), Some("still"));
}

#[tokio::test]
async fn an_error_is_not_tried_again() {
    let ran = Arc::new(AtomicU32::new(0));
    let seen = ran.clone();
    let broken = Around(move |_: Leaf, _| {
        seen.fetch_add(1, Ordering::SeqCst);
        async { Err("broken layer".into()) }
    });
    let layer = Stack::new(broken, times(3).when(|_| true));
    let result = around(&repeatable(), layer, Leaf::returning(1))
        .run(request("echo"))
        .await;
    assert_eq!(result.text(), "Error: broken layer");
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}
