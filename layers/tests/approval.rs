//! The approval stage: an ask is resolved once.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use support::{
    CallService, Leaf, Log, Shelf, Tool, assert_shareable, polls, request, request_with, settle,
};
use tokio_test::{assert_pending, assert_ready, assert_ready_ok, task};
use tokio_util::sync::CancellationToken;
use toolfall_layers::policy::Policy;
use toolfall_layers::turn::{Mark, turn};
use toolfall_layers::*;
use tower::limit::ConcurrencyLimitLayer;
use tower::{ServiceBuilder, service_fn};
use tower_layer::Layer as _;
use tower_test::mock;

/// A stack that asks, and writes down which stages ran after that.
fn asking<A>(approval: ApprovalLayer<A>, ask: Decision, tool: Tool, log: &Log) -> impl CallService
where
    A: Policy<ApprovalRequest, ApprovalAnswer, Future: Send + 'static>
        + Clone
        + Send
        + Sync
        + 'static,
{
    let [post, guard, body] = [(); 3].map(|()| log.clone());
    ServiceBuilder::new()
        .layer(Shelf::of(tool).stage())
        .layer(PostExecuteLayer::new(move |_: &PostRequest| {
            post.add("post");
            PostDecision::accept()
        }))
        .layer(PreDecisionLayer::new(move |_: &CallView| ask.clone()))
        .layer(approval)
        .layer(GuardLayer::new(move |call: &CallView| {
            guard.add("guard");
            (call.name() == "guarded").then(|| Denial::new("guarded"))
        }))
        .service(Leaf::new(move |_| {
            body.add("body");
            async { Ok(json!(1)) }
        }))
}

fn why() -> Decision {
    Decision::ask("needs approval")
}

/// conformance: ASK-01, ASK-02
#[tokio::test]
async fn without_an_approver_an_ask_is_a_denial() {
    let log = Log::default();
    let run = async |ask| {
        let stack = asking(ApprovalLayer::unavailable(), ask, Tool::default(), &log);
        stack.run(request("echo")).await
    };
    let result = run(why()).await;
    assert_eq!(result.text(), "Error: needs approval");
    assert_eq!(result.decided_by(), Some(&DecidedBy::Nobody));
    let result = run(Decision::ask_without_reason()).await;
    assert_eq!(
        result.text(),
        "Error: tool \"echo\" requires approval (not yet supported)"
    );
    assert_eq!(log.entries(), ["post", "post"]);
}

/// conformance: ASK-03, ASK-11
#[tokio::test]
async fn a_grant_runs_the_very_call_that_was_shown_and_bypasses_no_guard() {
    let (log, asked) = (Log::default(), Arc::new(AtomicUsize::new(0)));
    let token = CancellationToken::new();
    let (count, own) = (asked.clone(), token.clone());
    let approval = ApprovalLayer::new(move |request: ApprovalRequest| {
        count.fetch_add(1, Ordering::SeqCst);
        assert_eq!(request.scope().unwrap().name(), "agent");
        assert_eq!(request.call_id().as_str(), "call_1");
        assert_eq!(request.reason(), Some("needs approval"));
        assert_eq!(request.arguments().unwrap().value(), &json!({"a": 1}));
        // The caller's own token, and no child of it.
        if request.tool() == "cancel" {
            request.cancellation().cancel();
            assert!(own.is_cancelled());
        }
        async { ApprovalOutcome::AllowedOnce }
    });
    let stack = asking(approval, why(), Tool::default(), &log);
    let result = stack.run(request("echo")).await;
    assert!(!result.is_error());
    assert_eq!(result.decided_by(), Some(&DecidedBy::Approver));
    assert_eq!(log.entries(), ["guard", "body", "post"]);
    let result = stack.run(request("guarded")).await;
    assert_eq!(result.text(), "Error: guarded");
    assert_eq!(
        asked.load(Ordering::SeqCst),
        2,
        "each call is asked about anew"
    );
    let result = stack.run(request_with("cancel", &token)).await;
    assert_eq!(result.code(), Some(codes::ABORTED_BEFORE_DISPATCH));
}

/// conformance: ASK-04, ASK-05, ASK-06, ASK-12
#[tokio::test]
async fn what_is_no_grant_is_a_denial_that_reaches_post_execute_only() {
    for (answer, text, by) in [
        (
            ApprovalOutcome::Rejected,
            "Error: the user rejected tool \"echo\"",
            DecidedBy::Approver,
        ),
        (
            ApprovalOutcome::Cancelled,
            "Error: approval for tool \"echo\" was cancelled",
            DecidedBy::Approver,
        ),
        (
            ApprovalOutcome::Unavailable,
            "Error: tool \"echo\" requires approval, but no approval channel is available",
            DecidedBy::Nobody,
        ),
    ] {
        let log = Log::default();
        let approval = ApprovalLayer::new(move |_: &ApprovalRequest| answer);
        let stack = asking(approval, why(), Tool::default(), &log);
        let result = stack.run(request("echo")).await;
        assert_eq!(result.text(), text);
        assert_eq!(result.decided_by(), Some(&by));
        assert_eq!(result.kind(), Some(FailureKind::Denied));
        assert!(result.info().is_none());
        assert_eq!(log.entries(), ["post"]);
    }
}

/// conformance: ASK-07
#[tokio::test]
async fn a_call_without_an_agent_has_nobody_to_ask() {
    let (log, asked) = (Log::default(), Log::default());
    let seen = asked.clone();
    let approval = ApprovalLayer::new(move |_: &ApprovalRequest| {
        seen.add("asked");
        ApprovalOutcome::AllowedOnce
    });
    let stack = asking(approval, why(), Tool::default(), &log);
    let call = CallRequest::new("1", "echo", "{}", CancellationToken::new());
    assert_eq!(
        stack.run(call).await.text(),
        "Error: tool \"echo\" requires approval, but the call has no agent to route it through"
    );
    assert!(asked.entries().is_empty());
}

/// conformance: ASK-50
#[tokio::test]
async fn a_missing_reason_is_absent_and_not_empty() {
    let log = Log::default();
    let approval = ApprovalLayer::new(|request: &ApprovalRequest| {
        assert!(request.reason().is_none());
        assert!(request.scope().is_some());
        ApprovalOutcome::AllowedOnce
    });
    let ask = Decision::ask_without_reason();
    let stack = asking(approval, ask, Tool::default(), &log);
    assert!(!stack.run(request("echo")).await.is_error());
}

/// conformance: ASK-08, ASK-09
#[tokio::test]
async fn a_cancellation_answers_the_open_question_and_a_late_grant_changes_nothing() {
    let (log, token) = (Log::default(), CancellationToken::new());
    let (grant, granted) = tokio::sync::watch::channel(false);
    let approval = ApprovalLayer::new(move |_: ApprovalRequest| {
        let mut granted = granted.clone();
        async move {
            granted.wait_for(|granted| *granted).await.ok();
            ApprovalOutcome::AllowedOnce
        }
    });
    let stack = asking(approval, why(), Tool::default(), &log);
    let mut call = task::spawn(stack.run(request_with("echo", &token)));
    assert_pending!(call.poll());
    token.cancel();
    assert!(call.is_woken(), "nobody waits for the approver");
    let result = assert_ready!(call.poll());
    grant.send(true).ok();
    assert_eq!(result.code(), Some(codes::ABORTED_BEFORE_DISPATCH));
    assert_eq!(result.kind(), Some(FailureKind::Cancelled));
    assert_eq!(log.entries(), ["post"]);
}

/// conformance: ASK-10
#[tokio::test]
async fn a_rejection_is_kept_although_the_caller_cancelled() {
    let (log, token) = (Log::default(), CancellationToken::new());
    let cancel = token.clone();
    let approval = ApprovalLayer::new(move |_: ApprovalRequest| {
        let cancel = cancel.clone();
        async move {
            polls(1).await;
            cancel.cancel();
            ApprovalOutcome::Rejected
        }
    });
    let stack = asking(approval, why(), Tool::default(), &log);
    let result = stack.run(request_with("echo", &token)).await;
    assert_eq!(result.text(), "Error: the user rejected tool \"echo\"");
}

/// conformance: ASK-13
#[tokio::test]
async fn an_approver_that_fails_or_panics_fails_the_call() {
    let log = Log::default();
    let failing = ApprovalLayer::new(|_: ApprovalRequest| async {
        polls(1).await;
        Err::<ApprovalOutcome, _>(CodedError::new(
            "AuditError",
            "AUDIT",
            "outside an open turn",
        ))
    });
    let result = asking(failing, why(), Tool::default(), &log)
        .run(request("echo"))
        .await;
    assert_eq!(result.text(), "Error: outside an open turn");
    assert_eq!(result.code(), Some("AUDIT"));
    assert_eq!(result.decided_by(), Some(&DecidedBy::Approver));

    let panicking = ApprovalLayer::new(|_: ApprovalRequest| async {
        polls(1).await;
        support::bug("approver bug");
        ApprovalOutcome::AllowedOnce
    });
    let result = asking(panicking, why(), Tool::default(), &log)
        .run(request("echo"))
        .await;
    assert_eq!(result.text(), "Error: approver bug");

    let at_once = ApprovalLayer::new(|request: &ApprovalRequest| {
        assert!(request.tool() != "echo", "sync approver bug");
        ApprovalOutcome::AllowedOnce
    });
    let result = asking(at_once, why(), Tool::default(), &log)
        .run(request("echo"))
        .await;
    assert_eq!(result.text(), "Error: sync approver bug");
    assert_eq!(result.kind(), Some(FailureKind::Policy));
    assert!(log.entries().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_approvers_own_timeout_is_not_the_tools() {
    let log = Log::default();
    let person = service_fn(|_: ApprovalRequest| async {
        tokio::time::sleep(Duration::from_secs(600)).await;
        Ok::<_, BoxError>(ApprovalOutcome::AllowedOnce)
    });
    let approver = tower::timeout::TimeoutLayer::new(Duration::from_secs(60)).layer(person);
    let stack = asking(ApprovalLayer::new(approver), why(), Tool::default(), &log);
    let result = stack.run(request("echo")).await;
    assert_eq!(result.code(), None);
    assert_eq!(result.kind(), Some(FailureKind::Policy));
}

#[tokio::test]
async fn no_grant_is_remembered() {
    let (log, asked) = (Log::default(), Log::default());
    let seen = asked.clone();
    let approval = ApprovalLayer::new(move |_: &ApprovalRequest| {
        seen.add("asked");
        ApprovalOutcome::AllowedOnce
    });
    let stack = asking(approval, why(), Tool::default(), &log);
    let agent = Scope::new("agent");
    for _ in 0..2 {
        let call = CallRequest::new("1", "echo", "{}", CancellationToken::new());
        assert!(!stack.run(call.with_scope(agent.clone())).await.is_error());
    }
    assert_eq!(asked.count("asked"), 2);
}

/// conformance: ASK-15
#[test]
fn an_unknown_word_is_never_a_grant() {
    for outcome in [
        ApprovalOutcome::AllowedOnce,
        ApprovalOutcome::Rejected,
        ApprovalOutcome::Cancelled,
        ApprovalOutcome::Unavailable,
    ] {
        assert_eq!(ApprovalOutcome::from_wire(outcome.as_str()), outcome);
    }
    for word in ["allowed-always", "ALLOWED-ONCE", "", " allowed-once"] {
        assert_eq!(
            ApprovalOutcome::from_wire(word),
            ApprovalOutcome::Unavailable
        );
    }
}

#[tokio::test]
async fn nobody_is_asked_about_arguments_that_the_tool_refuses() {
    let (log, asked) = (Log::default(), Log::default());
    let seen = asked.clone();
    let approval = ApprovalLayer::new(move |_: &ApprovalRequest| {
        seen.add("asked");
        ApprovalOutcome::AllowedOnce
    });
    let tool = Tool {
        check: Some(Box::new(|| {
            Err(ToolOutcome::invalid_arguments(&["\"a\" must be a string"]))
        })),
        ..Tool::default()
    };
    let result = asking(approval, why(), tool, &log)
        .run(request("echo"))
        .await;
    assert_eq!(result.code(), Some(codes::INVALID_ARGS));
    assert!(asked.entries().is_empty());
    assert_eq!(log.entries(), ["post"]);
}

#[tokio::test]
async fn a_check_of_arguments_that_panics_fails_the_call() {
    let log = Log::default();
    let approval = ApprovalLayer::new(|_: &ApprovalRequest| ApprovalOutcome::AllowedOnce);
    let tool = Tool {
        check: Some(Box::new(|| panic!("check bug"))),
        ..Tool::default()
    };
    let result = asking(approval, why(), tool, &log)
        .run(request("echo"))
        .await;
    assert_eq!(result.text(), "Error: check bug");
    assert!(log.entries().is_empty());
}

#[tokio::test]
async fn no_permit_is_held_while_a_person_thinks() {
    let (service, mut handle) = mock::pair::<DecidedCall, ToolOutcome>();
    let limited = ConcurrencyLimitLayer::new(1).layer(service);
    let mut other = mock::Spawn::new(limited.clone());
    let (answer, answered) = tokio::sync::watch::channel(false);
    let approval = ApprovalLayer::new(move |_: ApprovalRequest| {
        let mut answered = answered.clone();
        async move {
            answered.wait_for(|answered| *answered).await.ok();
            ApprovalOutcome::AllowedOnce
        }
    });
    let stage = PreDecisionLayer::new(|_: &CallView| why()).layer(approval.layer(limited));
    assert_shareable(&stage);
    let mut stage = mock::Spawn::new(stage);
    handle.allow(0);
    assert_ready_ok!(stage.poll_ready());
    let (call, _rest) = testing::tool_call(request("echo"));
    let mut outcome = task::spawn(stage.call(call));
    assert_pending!(outcome.poll());
    handle.allow(1);
    assert_ready_ok!(other.poll_ready::<DecidedCall>(), "the permit is free");
    answer.send(true).unwrap();
    assert_pending!(outcome.poll(), "the other call holds the only permit");
    drop(other);
    assert!(outcome.is_woken());
    handle.allow(1);
    assert_pending!(outcome.poll());
    let (_, respond) = assert_ready!(task::spawn(handle.next_request()).poll()).unwrap();
    respond.send_response(ToolOutcome::failure("passed"));
    assert_eq!(assert_ready_ok!(outcome.poll()).message(), Some("passed"));
}

#[tokio::test(start_paused = true)]
async fn a_call_dropped_with_its_question_open_ends_once() {
    struct Withdrawn(Log);
    impl Drop for Withdrawn {
        fn drop(&mut self) {
            self.0.add("withdrawn");
        }
    }
    let (log, asked) = (Log::default(), Log::default());
    let seen = asked.clone();
    let approval = ApprovalLayer::new(move |_: ApprovalRequest| {
        let open = Withdrawn(seen.clone());
        async move {
            std::future::pending::<()>().await;
            drop(open);
            ApprovalOutcome::AllowedOnce
        }
    });
    let stack = asking(approval, why(), Tool::default(), &log);
    let mut call = task::spawn(stack.run(request("echo")));
    assert_pending!(call.poll());
    drop(call);
    settle().await;
    assert_eq!(asked.entries(), ["withdrawn"]);
}

#[tokio::test]
async fn an_open_question_parks_the_call_and_a_grant_waits_for_a_slot() {
    let log = Log::default();
    let (answer, answered) = tokio::sync::watch::channel(false);
    let approval = ApprovalLayer::new(move |_: ApprovalRequest| {
        let mut answered = answered.clone();
        async move {
            answered.wait_for(|answered| *answered).await.ok();
            ApprovalOutcome::AllowedOnce
        }
    });
    let stack = asking(approval, why(), Tool::default(), &log);
    let (place, control) = turn(std::task::Waker::noop().clone());
    let mut call = task::spawn(stack.run(request("echo").with_turn(place)));
    assert_pending!(call.poll());
    assert!(control.has(Mark::Parked) && !control.has(Mark::Admitted));
    answer.send(true).unwrap();
    assert_pending!(call.poll());
    assert!(!control.has(Mark::Parked) && control.has(Mark::WantsSlot));
    assert!(log.entries().is_empty(), "nothing runs without a slot");
    control.grant_slot();
    assert!(call.is_woken());
    assert_pending!(call.poll());
    assert!(control.has(Mark::Admitted) && control.has(Mark::Settled));
    assert!(!control.has(Mark::WantsSlot));
    assert_eq!(
        log.entries(),
        ["guard", "body"],
        "post-execute waits for its place"
    );
    control.grant_commit();
    assert!(!assert_ready!(call.poll()).is_error());
    assert!(control.has(Mark::Done));
}
