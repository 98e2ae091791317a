//! The timeout stage, on tokio's paused clock.
//!
//! conformance: TIME-19

mod support;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use support::{
    Around, CallService, Leaf, Log, Shelf, Tool, around, assert_shareable, context, request,
    request_with, settle, texts,
};
use tokio::time::{Instant, sleep};
use tokio_test::{assert_pending, assert_ready_ok};
use tokio_util::sync::CancellationToken;
use toolfall_layers::*;
use tower::ServiceBuilder;
use tower_layer::Layer as _;
use tower_service::Service as _;
use tower_test::mock;

const BUDGET: Duration = Duration::from_millis(100);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn budgeted() -> Shelf {
    Shelf::of(Tool {
        budget: Some(BUDGET),
        ..Tool::default()
    })
}

/// A body that returns once its token is cancelled, or after `at_most`.
fn cooperative(at_most: Duration) -> Leaf {
    Leaf::new(move |body: BodyContext| async move {
        tokio::select! {
            biased;
            () = body.cancellation().cancelled() => {}
            () = sleep(at_most) => {}
        }
        Ok(json!("done"))
    })
}

fn deaf(takes: Duration) -> Leaf {
    Leaf::new(move |_| async move {
        sleep(takes).await;
        Ok(json!("done"))
    })
}

fn declared() -> TimeoutLayer {
    TimeoutLayer::declared()
}

/// conformance: TIME-01, DISP-15
#[tokio::test(start_paused = true)]
async fn without_a_budget_the_call_is_passed_on_untouched() {
    let touched = Around(|mut inner: Leaf, call: ClearedCall| {
        let caller = call.view().cancellation().clone();
        call.cancellation().cancel();
        assert!(caller.is_cancelled(), "it is the caller's own token");
        inner.call(call)
    });
    let layer = tower_layer::Stack::new(touched, declared());
    let stack = around(&Shelf::of(Tool::default()), layer, deaf(ms(5_000)));
    let result = stack.run(request("echo")).await;
    assert_eq!(result.code(), Some(codes::ABORTED_BEFORE_DISPATCH));
    let plain = around(&Shelf::of(Tool::default()), declared(), deaf(ms(5_000)));
    assert!(!plain.run(request("echo")).await.is_error());
}

/// conformance: TIME-02
#[tokio::test(start_paused = true)]
async fn a_body_within_its_budget_keeps_its_result() {
    for takes in [0, 50, 99] {
        let result = around(&budgeted(), declared(), deaf(ms(takes)))
            .run(request("echo"))
            .await;
        assert_eq!(result.text(), "value: \"done\"", "after {takes}ms");
    }
}

/// conformance: TIME-03, TIME-04
#[tokio::test(start_paused = true)]
async fn the_body_gets_a_derived_token_and_post_execute_the_callers() {
    let token = CancellationToken::new();
    let stack = ServiceBuilder::new()
        .layer(budgeted().stage())
        .layer(PostExecuteLayer::new(|post: &PostRequest| {
            assert!(!post.call().cancellation().is_cancelled());
            PostDecision::accept()
        }))
        .layer(ApprovalLayer::unavailable())
        .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
        .layer(declared())
        .service(Leaf::new(|body: BodyContext| async move {
            body.cancellation().cancelled().await;
            assert!(
                !body.call().cancellation().is_cancelled(),
                "derived, not the caller's"
            );
            Ok(json!(1))
        }));
    let result = stack.run(request_with("echo", &token)).await;
    assert_eq!(result.code(), Some(codes::TOOL_TIMEOUT));
    assert!(!token.is_cancelled());
}

/// conformance: TIME-05, TIME-15, TIME-21
#[tokio::test(start_paused = true)]
async fn a_body_that_stops_at_its_deadline_has_timed_out() {
    let started = Instant::now();
    let result = around(&budgeted(), declared(), cooperative(ms(1_000)))
        .run(request("echo"))
        .await;
    assert_eq!(result.text(), "Error: tool call timed out after 100ms");
    assert_eq!(result.message(), Some("tool call timed out after 100ms"));
    let info = result.info().unwrap();
    assert_eq!(
        (info.name(), info.code()),
        ("ToolTimeoutError", "TOOL_TIMEOUT")
    );
    assert_eq!(result.kind(), Some(FailureKind::TimedOut));
    assert_eq!(result.effect(), Effect::Stopped);
    assert!(started.elapsed() >= BUDGET && started.elapsed() < ms(110));
}

/// conformance: TIME-06
#[tokio::test(start_paused = true)]
async fn whose_timer_fired_decides_and_not_what_the_body_made_of_it() {
    let leaf = Leaf::new(|body: BodyContext| async move {
        body.cancellation().cancelled().await;
        Err(CodedError::new("UpstreamAbort", "UPSTREAM_ABORT", "the request was aborted").into())
    });
    let result = around(&budgeted(), declared(), leaf)
        .run(request("echo"))
        .await;
    assert_eq!(result.code(), Some(codes::TOOL_TIMEOUT));
}

/// conformance: TIME-20
#[tokio::test(start_paused = true)]
async fn a_body_that_is_done_when_the_deadline_is_first_looked_at_is_in_time() {
    // Body and timer are due in the same millisecond; the body is polled first
    // and saw no cancellation.
    let result = around(&budgeted(), declared(), deaf(BUDGET))
        .run(request("echo"))
        .await;
    assert!(!result.is_error(), "{}", result.text());
    let result = around(&budgeted(), declared(), deaf(ms(102)))
        .run(request("echo"))
        .await;
    assert_eq!(result.code(), Some(codes::TOOL_TIMEOUT));
}

/// conformance: TIME-07
#[tokio::test(start_paused = true)]
async fn a_deadline_that_fires_between_body_and_answer_counts() {
    let slow = Around(|mut inner: Leaf, call| async move {
        let outcome = inner.call(call).await;
        sleep(ms(200)).await;
        outcome
    });
    let layer = tower_layer::Stack::new(slow, declared());
    let result = around(&budgeted(), layer, deaf(ms(10)))
        .run(request("echo"))
        .await;
    assert_eq!(result.code(), Some(codes::TOOL_TIMEOUT));
}

/// conformance: TIME-08
#[tokio::test(start_paused = true)]
async fn a_deadline_before_the_body_counts_too_and_nothing_runs() {
    let ran = Log::default();
    let seen = ran.clone();
    let slow = Around(|mut inner: Leaf, call| async move {
        sleep(ms(200)).await;
        inner.call(call).await
    });
    let layer = tower_layer::Stack::new(slow, declared());
    let leaf = Leaf::new(move |_| {
        seen.add("body");
        async { Ok(json!(1)) }
    });
    let result = around(&budgeted(), layer, leaf).run(request("echo")).await;
    assert_eq!(result.code(), Some(codes::TOOL_TIMEOUT));
    assert_eq!(result.effect(), Effect::NotStarted);
    assert!(ran.entries().is_empty());
}

/// conformance: TIME-09
#[tokio::test(start_paused = true)]
async fn a_caller_who_cancels_first_is_told_aborted() {
    let token = CancellationToken::new();
    let stack = around(&budgeted(), declared(), cooperative(ms(1_000)));
    let call = tokio::spawn({
        let call = request_with("echo", &token);
        async move { stack.run(call).await }
    });
    sleep(ms(50)).await;
    token.cancel();
    let result = call.await.unwrap();
    assert_eq!(result.code(), Some(codes::ABORTED));
}

/// conformance: TIME-28
#[tokio::test(start_paused = true)]
async fn a_timer_that_fires_after_the_callers_cancellation_is_no_timeout() {
    let token = CancellationToken::new();
    let layer = declared().with_grace(ms(10));
    let stack = around(&budgeted(), layer, deaf(ms(400)));
    let call = tokio::spawn({
        let call = request_with("echo", &token);
        async move { stack.run(call).await }
    });
    sleep(ms(50)).await;
    token.cancel();
    let result = call.await.unwrap();
    assert_eq!(result.code(), Some(codes::ABORTED));
    assert_eq!(result.effect(), Effect::Stopped, "and no grace runs either");
}

/// conformance: TIME-10, TIME-29
#[tokio::test(start_paused = true)]
async fn a_timeout_stays_one_when_the_caller_cancels_later() {
    let token = CancellationToken::new();
    let leaf = Leaf::new(|body: BodyContext| async move {
        body.cancellation().cancelled().await;
        sleep(ms(100)).await;
        Ok(json!("cleaned up"))
    });
    let stack = around(&budgeted(), declared(), leaf);
    let call = tokio::spawn({
        let call = request_with("echo", &token);
        async move { stack.run(call).await }
    });
    sleep(ms(150)).await;
    token.cancel();
    let result = call.await.unwrap();
    assert_eq!(result.code(), Some(codes::TOOL_TIMEOUT));
}

/// conformance: TIME-11
#[tokio::test(start_paused = true)]
async fn a_body_that_ignores_its_token_is_waited_for() {
    let started = Instant::now();
    let result = around(&budgeted(), declared(), deaf(ms(5_000)))
        .run(request("echo"))
        .await;
    assert_eq!(result.code(), Some(codes::TOOL_TIMEOUT));
    assert!(started.elapsed() >= ms(5_000));
    assert_eq!(result.effect(), Effect::Stopped);
}

/// conformance: TIME-12
#[tokio::test(start_paused = true)]
async fn deferred_contexts_survive_and_those_of_the_replaced_outcome_do_not() {
    let decorate = Around(|mut inner: Leaf, call| async move {
        Ok(inner
            .call(call)
            .await?
            .with_context(context("wrapper"))
            .with_meta(json!("meta")))
    });
    let leaf = Leaf::new(|body: BodyContext| async move {
        body.defer_context(context("deferred"));
        body.cancellation().cancelled().await;
        Ok(json!(1))
    });
    let layer = tower_layer::Stack::new(decorate, declared());
    let result = around(&budgeted(), layer, leaf).run(request("echo")).await;
    assert_eq!(result.code(), Some(codes::TOOL_TIMEOUT));
    assert_eq!(texts(result.contexts()), ["deferred"]);
    assert!(result.meta().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_declared_budget_goes_before_the_layers_own() {
    let layer = TimeoutLayer::new(ms(10));
    let result = around(&budgeted(), layer, cooperative(ms(1_000)))
        .run(request("echo"))
        .await;
    assert_eq!(result.message(), Some("tool call timed out after 100ms"));
    let plain = Shelf::of(Tool::default());
    let result = around(&plain, layer, cooperative(ms(1_000)))
        .run(request("echo"))
        .await;
    assert_eq!(result.message(), Some("tool call timed out after 10ms"));
}

#[tokio::test(start_paused = true)]
async fn a_budget_beyond_the_timers_range_never_fires_and_never_panics() {
    let layer = TimeoutLayer::new(Duration::MAX).with_grace(Duration::MAX);
    let shelf = Shelf::of(Tool::default());
    let result = around(&shelf, layer, deaf(ms(86_400_000)))
        .run(request("echo"))
        .await;
    assert!(!result.is_error());
    // A grace without end waits for the body.
    let layer = TimeoutLayer::new(BUDGET).with_grace(Duration::MAX);
    let result = around(&shelf, layer, deaf(ms(86_400_000)))
        .run(request("echo"))
        .await;
    assert_eq!(result.code(), Some(codes::TOOL_TIMEOUT));
    assert_eq!(result.effect(), Effect::Stopped);
}

#[tokio::test(start_paused = true)]
async fn after_its_grace_a_deaf_body_is_dropped_and_its_effect_unknown() {
    struct Held(Log);
    impl Drop for Held {
        fn drop(&mut self) {
            self.0.add("dropped");
        }
    }
    let log = Log::default();
    let seen = log.clone();
    let leaf = Leaf::new(move |body: BodyContext| {
        let held = Held(seen.clone());
        async move {
            body.defer_context(context("deferred"));
            sleep(ms(60_000)).await;
            drop(held);
            Ok(json!(1))
        }
    });
    let started = Instant::now();
    let layer = declared().with_grace(ms(50));
    let result = around(&budgeted(), layer, leaf).run(request("echo")).await;
    assert_eq!(result.code(), Some(codes::TOOL_TIMEOUT));
    assert_eq!(result.effect(), Effect::Unknown);
    assert_eq!(texts(result.contexts()), ["deferred"]);
    assert_eq!(log.entries(), ["dropped"]);
    assert!(started.elapsed() >= ms(150) && started.elapsed() < ms(170));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_uses_its_grace_is_not_dropped() {
    let leaf = Leaf::new(|body: BodyContext| async move {
        body.cancellation().cancelled().await;
        sleep(ms(40)).await;
        Ok(json!(1))
    });
    let layer = declared().with_grace(ms(50));
    let result = around(&budgeted(), layer, leaf).run(request("echo")).await;
    assert_eq!(result.code(), Some(codes::TOOL_TIMEOUT));
    assert_eq!(result.effect(), Effect::Stopped);
}

#[tokio::test(start_paused = true)]
async fn a_grace_also_ends_a_body_that_is_being_drained_and_contains_its_destructor() {
    struct Loud;
    impl Drop for Loud {
        fn drop(&mut self) {
            panic!("destructor bug");
        }
    }
    // The wrapper lets go of its dispatch at once and waits for something else.
    let careless = Around(|mut inner: Leaf, call| {
        drop(inner.call(call));
        async {
            sleep(ms(3_600_000)).await;
            Ok(ToolOutcome::failure("never"))
        }
    });
    let leaf = Leaf::new(|_| {
        let loud = Loud;
        async move {
            sleep(ms(60_000_000)).await;
            std::mem::forget(loud);
            Ok(json!(1))
        }
    });
    let layer = tower_layer::Stack::new(careless, declared().with_grace(ms(50)));
    let started = Instant::now();
    let result = around(&budgeted(), layer, leaf).run(request("echo")).await;
    assert_eq!(result.code(), Some(codes::TOOL_TIMEOUT));
    assert_eq!(result.effect(), Effect::Unknown);
    assert!(started.elapsed() < ms(200));
}

/// conformance: TIME-16
#[tokio::test(start_paused = true)]
async fn an_outer_stages_deadline_is_not_claimed_by_the_inner_one() {
    let outer_fired = Log::default();
    let seen = outer_fired.clone();
    // An outer deadline of its own: cancels what it replaced the token with.
    let outer = Around(
        move |mut inner: timeout::Timeout<Leaf>, call: ClearedCall| {
            let own = call.cancellation().child_token();
            let (timer, seen) = (own.clone(), seen.clone());
            let dispatch = inner.call(call.with_cancellation(own));
            async move {
                let fire = async {
                    sleep(ms(50)).await;
                    timer.cancel();
                    std::future::pending::<()>().await;
                };
                tokio::select! {
                    outcome = dispatch => {
                        let outcome = outcome?;
                        seen.add(outcome.code().unwrap_or("none").to_owned());
                        Ok(outcome)
                    }
                    () = fire => unreachable!(),
                }
            }
        },
    );
    let leaf = cooperative(ms(1_000));
    let stack = ServiceBuilder::new()
        .layer(budgeted().stage())
        .layer(ApprovalLayer::unavailable())
        .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
        .layer(outer)
        .layer(declared())
        .service(leaf);
    let result = stack.run(request("echo")).await;
    assert_eq!(outer_fired.entries(), [codes::ABORTED]);
    assert_eq!(result.code(), Some(codes::ABORTED));
}

/// conformance: DISP-24
#[tokio::test(start_paused = true)]
async fn the_budget_is_the_one_of_the_tool_as_it_is_resolved_at_dispatch() {
    let shelf = budgeted();
    let shadow = shelf.clone();
    let stack = ServiceBuilder::new()
        .layer(shelf.stage())
        .layer(PreDecisionLayer::new(move |call: &CallView| {
            match call.name() {
                "shadowed" => {
                    shadow.put(Some(Arc::new(Tool {
                        budget: Some(ms(30)),
                        ..Tool::default()
                    })));
                }
                "gone" => shadow.put(None),
                _ => {}
            }
            Decision::Allow
        }))
        .layer(ApprovalLayer::unavailable())
        .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
        .layer(declared())
        .service(cooperative(ms(1_000)));
    let message = async |name| stack.run(request(name)).await.message().unwrap().to_owned();
    assert_eq!(message("plain").await, "tool call timed out after 100ms");
    assert_eq!(message("shadowed").await, "tool call timed out after 30ms");
    assert_eq!(message("gone").await, "unknown tool \"gone\"");
}

/// conformance: TIME-18, DISP-35
#[tokio::test(start_paused = true)]
async fn stock_timeout_around_the_dispatch_is_told_as_one_and_abandons_no_body() {
    let (log, seen) = (Log::default(), Log::default());
    let (body_log, post) = (log.clone(), seen.clone());
    let stack = ServiceBuilder::new()
        .layer(Shelf::of(Tool::default()).stage())
        .layer(PostExecuteLayer::new(move |_: &PostRequest| {
            post.add("post");
            PostDecision::accept()
        }))
        .layer(ApprovalLayer::unavailable())
        .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
        .layer(tower::timeout::TimeoutLayer::new(BUDGET))
        .service(Leaf::new(move |body: BodyContext| {
            let log = body_log.clone();
            async move {
                body.cancellation().cancelled().await;
                sleep(ms(300)).await;
                log.add("cleaned up");
                Ok(json!(1))
            }
        }));
    let result = stack.run(request("echo")).await;
    assert_eq!(
        log.entries(),
        ["cleaned up"],
        "the result waited for the body"
    );
    assert_eq!(result.code(), Some(codes::TOOL_TIMEOUT));
    assert_eq!(result.kind(), Some(FailureKind::TimedOut));
    assert_eq!(result.effect(), Effect::Stopped);
    assert!(seen.entries().is_empty(), "an error skips post-execute");
}

#[tokio::test(start_paused = true)]
async fn other_errors_around_the_dispatch_keep_code_or_message() {
    #[derive(Debug)]
    struct Outer(BoxError);
    impl std::fmt::Display for Outer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("outer")
        }
    }
    impl std::error::Error for Outer {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&*self.0)
        }
    }
    type Make = fn() -> BoxError;
    let cases: [(Make, Option<&str>, FailureKind, &str); 5] = [
        (
            || Outer(tower::load_shed::error::Overloaded::new().into()).into(),
            Some(codes::OVERLOADED),
            FailureKind::Overloaded,
            "the tool is overloaded; try again later",
        ),
        (
            || Outer(tower::timeout::error::Elapsed::new().into()).into(),
            Some(codes::TOOL_TIMEOUT),
            FailureKind::TimedOut,
            "tool call timed out",
        ),
        (
            || Outer(Outer(CodedError::new("DeepError", "DEEP", "deep").into()).into()).into(),
            Some("DEEP"),
            FailureKind::Pipeline,
            "outer",
        ),
        (
            || Outer("inner".into()).into(),
            None,
            FailureKind::Pipeline,
            "outer",
        ),
        (
            || StageError::new(Part::Guard, tower::timeout::error::Elapsed::new()).into(),
            None,
            FailureKind::Policy,
            "request timed out",
        ),
    ];
    for (make, code, kind, message) in cases {
        let failing = Around(move |_: Leaf, _| async move { Err(make()) });
        let stack = around(&Shelf::of(Tool::default()), failing, Leaf::returning(1));
        let result = stack.run(request("echo")).await;
        assert_eq!(result.code(), code);
        assert_eq!(result.kind(), Some(kind));
        assert_eq!(result.message(), Some(message));
    }
}

#[tokio::test(start_paused = true)]
async fn load_shedding_around_the_dispatch_is_told_as_overload() {
    let limit = tower::limit::GlobalConcurrencyLimitLayer::new(1);
    let layer = tower_layer::Stack::new(limit, tower::load_shed::LoadShedLayer::new());
    let stack = around(&Shelf::of(Tool::default()), layer, deaf(ms(100)));
    let first = tokio::spawn({
        let stack = stack.clone();
        async move { stack.run(request("echo")).await }
    });
    sleep(ms(10)).await;
    let second = stack.run(request("echo")).await;
    assert_eq!(second.code(), Some(codes::OVERLOADED));
    assert_eq!(second.effect(), Effect::NotStarted);
    assert!(!first.await.unwrap().is_error());
}

#[tokio::test(start_paused = true)]
async fn readiness_and_errors_are_the_inner_services() {
    let (service, mut handle) = mock::pair::<ClearedCall, ToolOutcome>();
    let stage = TimeoutLayer::new(BUDGET).layer(service);
    assert_shareable(&stage);
    let mut stage = mock::Spawn::new(stage);
    handle.allow(0);
    assert_pending!(stage.poll_ready());
    handle.allow(1);
    assert_ready_ok!(stage.poll_ready());
    let (call, _rest) = testing::cleared_call(request("echo"));
    let outcome = stage.call(call);
    let (_call, respond) = handle.next_request().await.unwrap();
    respond.send_error("inner broke");
    assert_eq!(outcome.await.unwrap_err().to_string(), "inner broke");
    settle().await;
}

/// conformance: DISP-27
#[tokio::test(start_paused = true)]
async fn the_order_of_timeout_and_retry_says_whether_attempts_share_the_budget() {
    let tool = || {
        Shelf::of(Tool {
            budget: Some(BUDGET),
            repeatable: true,
            ..Tool::default()
        })
    };
    let failing = || {
        Leaf::new(|body: BodyContext| async move {
            tokio::select! {
                () = body.cancellation().cancelled() => {}
                () = sleep(ms(60)) => {}
            }
            Err("flaky".into())
        })
    };
    let retry = || RetryLayer::new(std::num::NonZeroU32::new(3).unwrap());
    let each = tower_layer::Stack::new(declared(), retry());
    let result = around(&tool(), each, failing()).run(request("echo")).await;
    assert_eq!(
        result.message(),
        Some("flaky"),
        "each attempt had its own budget"
    );
    let shared = tower_layer::Stack::new(retry(), declared());
    let result = around(&tool(), shared, failing())
        .run(request("echo"))
        .await;
    assert_eq!(result.code(), Some(codes::TOOL_TIMEOUT));
}

/// A grace is nobody's approval.
#[tokio::test(start_paused = true)]
async fn a_call_with_a_grace_was_not_decided_by_anybody() {
    let stack = tower::ServiceBuilder::new()
        .layer(ResultNotifyLayer::new())
        .layer(ApprovalLayer::unavailable())
        .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
        .layer(TimeoutLayer::new(Duration::from_secs(1)).with_grace(Duration::from_secs(1)))
        .service_fn(|_: ClearedCall| async {
            tokio::task::yield_now().await;
            Ok::<_, BoxError>(ToolOutcome::failure("as it says"))
        });
    let request = CallRequest::new("1", "echo", "{}", CancellationToken::new());
    let result = tower::ServiceExt::oneshot(stack, request).await.unwrap();
    assert_eq!(result.decided_by(), None);
}
