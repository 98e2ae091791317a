//! The pre-decision stage: allow, ask, deny.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use support::{
    Around, CallService, Leaf, Log, Shelf, Tool, assert_shareable, polls, request, request_with,
};
use tokio_test::{assert_pending, assert_ready, assert_ready_ok, task};
use tokio_util::sync::CancellationToken;
use toolfall_layers::policy::Policy;
use toolfall_layers::*;
use tower::limit::ConcurrencyLimitLayer;
use tower::timeout::TimeoutLayer as StockTimeout;
use tower::{ServiceBuilder, service_fn};
use tower_layer::Layer as _;
use tower_test::mock;

/// A stack whose stages write down that they ran, with `policy` in place.
fn logged<P>(layer: PreDecisionLayer<P>, log: &Log) -> impl CallService
where
    P: Policy<CallView, Decision, Future: Send + 'static> + Clone + Send + Sync + 'static,
{
    let [post, guard, around, body] = [(); 4].map(|()| log.clone());
    ServiceBuilder::new()
        .layer(Shelf::of(Tool::default()).stage())
        .layer(PostExecuteLayer::new(move |post_request: &PostRequest| {
            let denied = post_request.outcome().is_denied();
            post.add(if denied { "post-denied" } else { "post" });
            PostDecision::accept()
        }))
        .layer(layer)
        .layer(ApprovalLayer::unavailable())
        .layer(GuardLayer::new(move |_: &CallView| {
            guard.add("guard");
            None::<Denial>
        }))
        .layer(Around(move |mut inner: Leaf, call| {
            around.add("around");
            tower_service::Service::call(&mut inner, call)
        }))
        .service(Leaf::new(move |_| {
            body.add("body");
            async { Ok(json!(1)) }
        }))
}

/// conformance: PRE-02, PRE-03, PRE-04, PRE-05
#[tokio::test]
async fn a_denial_stands_as_given_and_goes_through_post_execute_alone() {
    let log = Log::default();
    let layer = PreDecisionLayer::new(|_: &CallView| Decision::deny("no shell").by_rule("shell"));
    let result = logged(layer, &log).run(request("echo")).await;
    assert_eq!(result.text(), "Error: no shell");
    assert_eq!(result.message(), Some("no shell"));
    assert!(result.info().is_none());
    assert_eq!(
        result.decided_by(),
        Some(&DecidedBy::Policy(Some("shell".into())))
    );
    assert_eq!(result.effect(), Effect::NotStarted);
    assert_eq!(log.entries(), ["post-denied"]);
}

/// conformance: PRE-11, PRE-12
#[tokio::test]
async fn a_failing_policy_fails_the_call_and_nothing_else_runs() {
    let log = Log::default();
    let uncoded = PreDecisionLayer::new(|_: &CallView| Err::<Decision, _>("permission hook broke"));
    let result = logged(uncoded, &log).run(request("echo")).await;
    assert_eq!(result.text(), "Error: permission hook broke");
    assert!(result.info().is_none());
    assert_eq!(result.kind(), Some(FailureKind::Policy));

    let coded = PreDecisionLayer::new(|_: CallView| async {
        polls(2).await;
        Err::<Decision, _>(CodedError::new("QuotaError", "QUOTA", "used up"))
    });
    let result = logged(coded, &log).run(request("echo")).await;
    let info = result.info().unwrap();
    assert_eq!((info.name(), info.code()), ("QuotaError", "QUOTA"));
    assert!(log.entries().is_empty());
}

/// conformance: PRE-23
#[tokio::test]
async fn a_policy_that_panics_at_any_point_fails_the_call_only() {
    let log = Log::default();
    let before = PreDecisionLayer::new(|call: &CallView| {
        assert!(call.name() != "bad", "sync bug");
        Decision::Allow
    });
    let stack = logged(before, &log);
    assert_eq!(stack.run(request("bad")).await.text(), "Error: sync bug");
    assert!(log.entries().is_empty());
    assert!(!stack.run(request("good")).await.is_error());

    let log = Log::default();
    let making = PreDecisionLayer::new(|call: CallView| {
        assert!(call.name() != "bad", "bug before the first await");
        async { Decision::Allow }
    });
    let result = logged(making, &log).run(request("bad")).await;
    assert_eq!(result.text(), "Error: bug before the first await");

    let polling = PreDecisionLayer::new(|_: CallView| async {
        polls(2).await;
        support::bug("bug after an await");
        Decision::Allow
    });
    let result = logged(polling, &log).run(request("bad")).await;
    assert_eq!(result.text(), "Error: bug after an await");
    assert_eq!(result.kind(), Some(FailureKind::Policy));
    assert!(log.entries().is_empty());
}

struct InDrop;

impl Drop for InDrop {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "in drop");
    }
}

/// A policy service that panics where it is told to.
#[derive(Clone)]
struct Panicking(&'static str);

impl tower_service::Service<CallView> for Panicking {
    type Response = Decision;
    type Error = BoxError;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Decision, BoxError>> + Send>>;

    fn poll_ready(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), BoxError>> {
        assert!(self.0 != "poll_ready", "in poll_ready");
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: CallView) -> Self::Future {
        assert!(self.0 != "call", "in call");
        let drops = (self.0 == "drop").then(|| InDrop);
        let polls_panic = self.0 == "poll";
        Box::pin(async move {
            assert!(!polls_panic, "in poll");
            let _held = &drops;
            Ok(Decision::Allow)
        })
    }
}

#[tokio::test]
async fn a_policy_service_that_panics_anywhere_fails_closed() {
    for place in ["poll_ready", "call", "poll", "drop"] {
        let log = Log::default();
        let layer = PreDecisionLayer::new(Panicking(place));
        let result = logged(layer, &log).run(request("echo")).await;
        assert_eq!(result.text(), format!("Error: in {place}"));
        assert_eq!(log.count("body"), 0, "{place}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_policys_own_timeout_is_not_the_tools() {
    let log = Log::default();
    let slow = service_fn(|_: CallView| async {
        tokio::time::sleep(Duration::from_secs(60)).await;
        Ok::<_, BoxError>(Decision::Allow)
    });
    let policy = StockTimeout::new(Duration::from_secs(1)).layer(slow);
    let result = logged(PreDecisionLayer::new(policy), &log)
        .run(request("echo"))
        .await;
    assert_eq!(result.code(), None, "not TOOL_TIMEOUT");
    assert_eq!(result.kind(), Some(FailureKind::Policy));
    assert_eq!(result.effect(), Effect::NotStarted);
    assert!(log.entries().is_empty());
}

/// conformance: PRE-07, DISP-01
#[tokio::test]
async fn stages_run_in_order_and_each_is_done_before_the_next() {
    let log = Log::default();
    let [pre, post, before, body] = [(); 4].map(|()| log.clone());
    let after = log.clone();
    let stack = ServiceBuilder::new()
        .layer(Shelf::of(Tool::default()).stage())
        .layer(PostExecuteLayer::new(move |_: PostRequest| {
            let post = post.clone();
            async move {
                post.add("post-before");
                polls(2).await;
                post.add("post-after");
                PostDecision::accept()
            }
        }))
        .layer(PreDecisionLayer::new(move |_: CallView| {
            let pre = pre.clone();
            async move {
                pre.add("pre-before");
                polls(2).await;
                pre.add("pre-after");
                Decision::Allow
            }
        }))
        .layer(ApprovalLayer::unavailable())
        .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
        .layer(Around(move |mut inner: Leaf, call| {
            before.add("around-before");
            let after = after.clone();
            async move {
                let outcome = tower_service::Service::call(&mut inner, call).await;
                after.add("around-after");
                outcome
            }
        }))
        .service(Leaf::new(move |_| {
            body.add("body");
            async { Ok(json!(1)) }
        }));
    stack.run(request("echo")).await;
    assert_eq!(
        log.entries(),
        [
            "pre-before",
            "pre-after",
            "around-before",
            "body",
            "around-after",
            "post-before",
            "post-after"
        ]
    );
}

/// conformance: PRE-15, PRE-16
#[tokio::test]
async fn a_cancellation_while_a_policy_waits_never_replaces_its_denial_or_failure() {
    for (denies, expected) in [(true, "policy denied the call"), (false, "hook broke")] {
        let (token, log) = (CancellationToken::new(), Log::default());
        let cancel = token.clone();
        let layer = PreDecisionLayer::new(move |_: CallView| {
            let cancel = cancel.clone();
            async move {
                polls(1).await;
                cancel.cancel();
                polls(1).await;
                if denies {
                    Ok(Decision::deny("policy denied the call"))
                } else {
                    Err("hook broke")
                }
            }
        });
        let result = logged(layer, &log).run(request_with("echo", &token)).await;
        assert_eq!(result.message(), Some(expected));
        assert!(result.info().is_none());
        assert_eq!(log.count("body"), 0);
    }
}

/// conformance: PRE-17
#[tokio::test]
async fn a_policy_that_ignores_the_cancellation_is_waited_for() {
    let (token, log) = (CancellationToken::new(), Log::default());
    let (answer, answered) = tokio::sync::watch::channel(false);
    let layer = PreDecisionLayer::new(move |_: CallView| {
        let mut answered = answered.clone();
        async move {
            answered.wait_for(|answered| *answered).await.ok();
            Decision::Allow
        }
    });
    let stack = logged(layer, &log);
    let mut call = task::spawn(stack.run(request_with("echo", &token)));
    assert_pending!(call.poll());
    token.cancel();
    assert_pending!(call.poll());
    answer.send(true).unwrap();
    let result = assert_ready!(call.poll());
    assert_eq!(result.code(), Some(codes::ABORTED_BEFORE_DISPATCH));
}

#[tokio::test]
async fn across_layers_the_strictest_decision_wins_and_reasons_are_joined() {
    let decide = |decision: Decision| PreDecisionLayer::new(move |_: &CallView| decision.clone());
    let asked = Arc::new(AtomicUsize::new(0));
    let run = async |decisions: [Decision; 3], expected_reason: Option<&'static str>| {
        let [a, b, c] = decisions.map(decide);
        let asked = asked.clone();
        let stack = ServiceBuilder::new()
            .layer(Shelf::of(Tool::default()).stage())
            .layer(a)
            .layer(b)
            .layer(c)
            .layer(ApprovalLayer::new(move |request: ApprovalRequest| {
                asked.fetch_add(1, Ordering::SeqCst);
                async move {
                    assert_eq!(request.reason(), expected_reason);
                    ApprovalOutcome::AllowedOnce
                }
            }))
            .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
            .service(Leaf::returning(1));
        stack.run(request("echo")).await
    };
    let (allow, ask, deny) = (|| Decision::Allow, Decision::ask, Decision::deny);

    let granted = run([ask("one"), allow(), ask("two")], Some("one; two")).await;
    assert!(!granted.is_error());
    assert_eq!(granted.decided_by(), Some(&DecidedBy::Approver));
    assert_eq!(asked.swap(0, Ordering::SeqCst), 1, "a person is asked once");

    run(
        [Decision::ask_without_reason(), ask("why"), allow()],
        Some("why"),
    )
    .await;
    run([allow(), Decision::ask_without_reason(), allow()], None).await;
    assert_eq!(asked.swap(0, Ordering::SeqCst), 2);

    for decisions in [
        [ask("a"), deny("no"), allow()],
        [deny("no"), ask("a"), allow()],
        [allow(), ask("a"), deny("no")],
    ] {
        assert_eq!(run(decisions, None).await.text(), "Error: no");
    }
    run([allow(), allow(), allow()], None).await;
    assert_eq!(
        asked.load(Ordering::SeqCst),
        0,
        "neither a denial nor an allow asks"
    );
}

/// conformance: PRE-08
#[tokio::test]
async fn in_one_layer_a_listener_may_answer_without_the_next() {
    let log = Log::default();
    let next = log.clone();
    let listeners = service_fn(move |call: CallView| {
        let next = next.clone();
        async move {
            if call.name() == "echo" {
                return Ok::<_, BoxError>(Decision::Allow);
            }
            next.add("next");
            Ok(Decision::deny("the next listener"))
        }
    });
    let ran = Log::default();
    let stack = logged(PreDecisionLayer::new(listeners), &ran);
    assert!(!stack.run(request("echo")).await.is_error());
    assert!(log.entries().is_empty());
    assert_eq!(
        stack.run(request("other")).await.text(),
        "Error: the next listener"
    );
}

/// conformance: PRE-24
#[tokio::test]
async fn a_custom_stage_that_drops_the_inner_future_decides_itself() {
    let log = Log::default();
    let body = log.clone();
    let stack = ServiceBuilder::new()
        .layer(Shelf::of(Tool::default()).stage())
        .layer_fn(|mut inner: mock_free::Inner<_>| {
            service_fn(move |call: ToolCall| {
                drop(tower_service::Service::call(&mut inner.0, call));
                async { Ok::<_, BoxError>(ToolOutcome::failure("decided here")) }
            })
        })
        .layer_fn(mock_free::Inner)
        .layer(PreDecisionLayer::new(|_: CallView| async {
            polls(3).await;
            Decision::Allow
        }))
        .layer(ApprovalLayer::unavailable())
        .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
        .service(Leaf::new(move |_| {
            body.add("body");
            async { Ok(json!(1)) }
        }));
    let result = stack.run(request("echo")).await;
    assert_eq!(result.text(), "Error: decided here");
    assert!(log.entries().is_empty());
}

mod mock_free {
    /// Names what a `layer_fn` wraps.
    #[derive(Clone)]
    pub(super) struct Inner<S>(pub(super) S);
}

#[tokio::test]
async fn no_permit_is_held_while_a_policy_thinks_and_the_inner_service_is_readied_after() {
    let (service, mut handle) = mock::pair::<ToolCall, ToolOutcome>();
    let limited = ConcurrencyLimitLayer::new(1).layer(service);
    let mut other = mock::Spawn::new(limited.clone());
    let (answer, answered) = tokio::sync::watch::channel(false);
    let layer = PreDecisionLayer::new(move |_: CallView| {
        let mut answered = answered.clone();
        async move {
            answered.wait_for(|answered| *answered).await.ok();
            Decision::Allow
        }
    });
    let mut stage = mock::Spawn::new(layer.layer(limited));
    handle.allow(0);
    assert_ready_ok!(
        stage.poll_ready(),
        "ready although the inner service is not"
    );
    let (call, _rest) = testing::tool_call(request("echo"));
    let mut outcome = task::spawn(stage.call(call));
    assert_pending!(outcome.poll());
    handle.allow(1);
    assert_ready_ok!(other.poll_ready::<ToolCall>(), "the permit is free");
    drop(other);
    handle.allow(0);
    answer.send(true).unwrap();
    assert_pending!(outcome.poll(), "now it waits for the inner service");
    handle.allow(1);
    assert!(outcome.is_woken());
    assert_pending!(outcome.poll());
    let (_, respond) = assert_ready!(task::spawn(handle.next_request()).poll()).unwrap();
    respond.send_response(ToolOutcome::failure("passed"));
    assert_eq!(assert_ready_ok!(outcome.poll()).message(), Some("passed"));
}

#[tokio::test]
async fn an_inner_error_and_an_inner_readiness_error_pass_through() {
    let (service, mut handle) = mock::pair::<ToolCall, ToolOutcome>();
    let mut stage =
        mock::Spawn::new(PreDecisionLayer::new(|_: &CallView| Decision::Allow).layer(service));
    assert_shareable(stage.get_ref());
    let (call, _rest) = testing::tool_call(request("echo"));
    handle.send_error("gone");
    let error = stage.call(call).await.unwrap_err();
    assert_eq!(error.to_string(), "gone");
}

/// conformance: EXEC-02
#[tokio::test]
async fn each_call_has_one_token_shared_by_every_stage() {
    let tokens = Arc::new(std::sync::Mutex::new(Vec::new()));
    let [pre, around, post] = [(); 3].map(|()| tokens.clone());
    let stack = ServiceBuilder::new()
        .layer(Shelf::of(Tool::default()).stage())
        .layer(PostExecuteLayer::new(move |request: &PostRequest| {
            post.lock().unwrap().push(request.call().token());
            PostDecision::accept()
        }))
        .layer(PreDecisionLayer::new(move |call: &CallView| {
            pre.lock().unwrap().push(call.token());
            Decision::Allow
        }))
        .layer(ApprovalLayer::unavailable())
        .layer(GuardLayer::new(|call: &CallView| {
            (call.name() == "denied").then(|| Denial::new("no"))
        }))
        .layer(Around(move |mut inner: Leaf, call: ClearedCall| {
            around.lock().unwrap().push(call.token());
            tower_service::Service::call(&mut inner, call)
        }))
        .service(Leaf::returning(1));
    stack.run(request("allowed")).await;
    stack.run(request("denied")).await;
    let tokens = tokens.lock().unwrap();
    assert_eq!(tokens.len(), 5);
    assert!(tokens[..3].iter().all(|token| *token == tokens[0]));
    assert!(tokens[3] == tokens[4] && tokens[3] != tokens[0]);
}

#[test]
fn relaxing_is_an_error_that_changes_nothing() {
    let mut guard = MonotonicGuard::new();
    guard.tighten(Decision::deny("first"));
    guard.tighten(Decision::ask("ignored"));
    guard.tighten(Decision::deny("second"));
    let reasons: Vec<_> = guard
        .reasons()
        .map(|reason| reason.text.clone().unwrap())
        .collect();
    assert_eq!(reasons, ["first", "second"]);
    for weaker in [Decision::Allow, Decision::ask("x")] {
        assert!(guard.replace(weaker).is_err());
    }
    assert_eq!(guard.decision(), &Decision::deny("first"));
    assert!(guard.replace(Decision::deny("third")).is_ok());
}
