//! Budgets: what one run may spend.

#[path = "support/facade.rs"]
mod support;

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use serde_json::{Value, json};
use support::{Counter, any_object, echo, registry, request, returns, wrapper};
use tokio::sync::{Barrier, Notify};
use tokio_util::sync::CancellationToken;
use toolfall::pipeline::BoxPipeline;
use toolfall::policy::budget::{BUDGET_EXCEEDED, Budget, Budgets, Limits};
use toolfall::{
    Arguments, BoxError, CallRequest, CallView, DecidedBy, Decision, Effect, FailureKind, Pipeline,
    Registry, Scope, ToolContext, ToolResult, raw_tool,
};

/// Tools that succeed, fail and never end.
fn tools() -> Registry {
    let fails = raw_tool(
        "fails",
        "",
        any_object(),
        |_: Arguments, _: ToolContext| async { Err::<Value, BoxError>("it broke".into()) },
    );
    let hangs = raw_tool(
        "hangs",
        "",
        any_object(),
        |_: Arguments, body: ToolContext| async move {
            body.cancellation().cancelled().await;
            Ok::<Value, BoxError>(json!(null))
        },
    );
    registry([echo("works"), echo("other"), fails, hangs])
}

fn pipeline(budgets: &Budgets) -> BoxPipeline {
    Pipeline::builder(tools())
        .decision_layer(budgets.layer())
        .pre_decision(|call: &CallView| match call.name() {
            name if name.starts_with("denied") => Decision::deny("no"),
            _ => Decision::Allow,
        })
        .build()
        .boxed()
}

async fn call(pipeline: &BoxPipeline, name: &'static str) -> ToolResult {
    pipeline.run(request(name, "{}")).await
}

/// Polls once.
async fn is_pending<F: Future + Unpin>(future: &mut F) -> bool {
    poll_fn(|cx| Poll::Ready(Pin::new(&mut *future).poll(cx).is_pending())).await
}

fn is_refused(result: &ToolResult) -> bool {
    result.code() == Some(BUDGET_EXCEEDED)
}

#[tokio::test]
async fn a_call_past_the_budget_is_answered_and_nothing_runs() {
    let runs = Counter::default();
    let budgets = Budgets::new(Limits::new().calls(2));
    let pipeline = Pipeline::builder(registry([returns("t", json!("done"), &runs)]))
        .decision_layer(budgets.layer())
        .build()
        .boxed();
    for _ in 0..2 {
        assert!(!call(&pipeline, "t").await.is_error());
    }
    assert_eq!(budgets.exceeded(None), None, "spent is not exceeded");
    let refused = call(&pipeline, "t").await;
    assert_eq!(
        refused.text(),
        "Error: the budget of calls of this run is spent (limit 2)"
    );
    assert_eq!(refused.code(), Some("BUDGET_EXCEEDED"));
    assert_eq!(refused.kind(), Some(FailureKind::Denied));
    let rule = DecidedBy::Policy(Some("budget/calls".into()));
    assert_eq!(refused.decided_by(), Some(&rule));
    assert_eq!(refused.effect(), Effect::NotStarted);
    assert!(!refused.concludes_turn());
    assert_eq!(runs.get(), 2);
    let exceeded = budgets.exceeded(None).unwrap();
    assert_eq!((exceeded.budget, exceeded.limit), (Budget::Calls, 2));
    assert_eq!(budgets.spent(None).calls, 2, "refusals spend nothing");

    budgets.begin_run(None);
    assert_eq!(budgets.exceeded(None), None);
    assert!(!call(&pipeline, "t").await.is_error());
}

#[tokio::test]
async fn tools_have_budgets_of_their_own() {
    let budgets = Budgets::new(Limits::new().each_tool(2).tool("works", 1).tool("none", 0));
    let pipeline = pipeline(&budgets);
    let mut refused = Vec::new();
    for name in ["works", "works", "other", "other", "other", "none", "fails"] {
        refused.push(is_refused(&call(&pipeline, name).await));
    }
    assert_eq!(refused, [false, true, false, false, true, true, false]);
    let first = budgets.exceeded(None).unwrap();
    assert_eq!(first.budget, Budget::Tool("works".to_owned()), "the first");
    assert_eq!(
        first.to_string(),
        "the budget of calls of tool \"works\" is spent (limit 1)"
    );
}

/// Names without end share a count, and limits the host set stay exact.
#[tokio::test]
async fn invented_names_are_bounded() {
    let budgets = Budgets::new(Limits::new().each_tool(2).tool("works", 1));
    let pipeline = pipeline(&budgets);
    let long: &str = "n".repeat(300).leak();
    let longer: &str = "n".repeat(301).leak();
    assert!(!is_refused(&call(&pipeline, long).await));
    assert!(!is_refused(&call(&pipeline, longer).await));
    let refused = call(&pipeline, long).await;
    assert!(is_refused(&refused), "long names share one count");
    assert!(refused.text().len() < 300, "and are shown in part");
    for number in 0..1100 {
        let name: &'static str = format!("invented{number}").leak();
        let refused = is_refused(&call(&pipeline, name).await);
        assert_eq!(refused, number >= 1001, "{name}");
    }
    assert!(!is_refused(&call(&pipeline, "works").await));
    assert!(is_refused(&call(&pipeline, "works").await));
    assert!(!is_refused(&call(&pipeline, "invented7").await));
}

#[tokio::test]
async fn failures_in_a_row_end_the_run() {
    let budgets = Budgets::new(Limits::new().consecutive_failures(3));
    let pipeline = pipeline(&budgets);
    for name in ["fails", "denied", "works", "fails", "unknown"] {
        assert!(!is_refused(&call(&pipeline, name).await), "{name}");
    }
    assert_eq!(budgets.spent(None).consecutive_failures, 2);
    assert_eq!(budgets.exceeded(None), None);
    assert!(!is_refused(&call(&pipeline, "fails").await));
    let exceeded = budgets.exceeded(None).expect("the third failure ends it");
    assert_eq!(exceeded.budget, Budget::ConsecutiveFailures);
    for _ in 0..2 {
        let refused = call(&pipeline, "works").await;
        assert_eq!(
            refused.message(),
            Some("the budget of failed calls in a row is spent (limit 3)")
        );
    }
    budgets.begin_run(None);
    assert!(!call(&pipeline, "works").await.is_error());
}

#[tokio::test]
async fn unknown_names_in_a_row_end_the_run() {
    let budgets = Budgets::new(Limits::new().consecutive_unknown_names(3));
    let pipeline = pipeline(&budgets);
    for name in ["a", "b", "fails", "c", "denied", "d", "works", "e", "f"] {
        assert!(!is_refused(&call(&pipeline, name).await), "{name}");
    }
    assert_eq!(budgets.spent(None).consecutive_unknown_names, 2);
    call(&pipeline, "g").await;
    let refused = call(&pipeline, "works").await;
    assert_eq!(
        refused.message(),
        Some("the budget of calls in a row of unknown tools is spent (limit 3)")
    );
    let exceeded = budgets.exceeded(None).unwrap();
    assert_eq!(exceeded.budget, Budget::ConsecutiveUnknownNames);
}

/// What the caller cancels or drops is nobody's failure, and no success.
#[tokio::test]
async fn cancelled_and_dropped_calls_leave_streaks_alone() {
    let budgets = Budgets::new(Limits::new().consecutive_failures(3));
    let pipeline = pipeline(&budgets);
    call(&pipeline, "fails").await;
    for before in [true, false] {
        let token = CancellationToken::new();
        let hanging = pipeline.call("1", "hangs", "{}", token.clone());
        if before {
            token.cancel();
            assert_eq!(hanging.await.kind(), Some(FailureKind::Cancelled));
        } else {
            let stop = async {
                tokio::task::yield_now().await;
                token.cancel();
            };
            let (result, ()) = tokio::join!(hanging, stop);
            assert_eq!(result.kind(), Some(FailureKind::Cancelled));
        }
        assert_eq!(budgets.spent(None).consecutive_failures, 1);
    }
    let token = CancellationToken::new();
    {
        let mut hanging = std::pin::pin!(pipeline.call("1", "hangs", "{}", token));
        assert!(is_pending(&mut hanging).await);
    }
    let spent = budgets.spent(None);
    // The call that was cancelled beforehand never came this far.
    assert_eq!((spent.calls, spent.consecutive_failures), (3, 1));
}

#[tokio::test]
async fn every_scope_has_an_account_that_ends_with_it() {
    let budgets = Budgets::new(Limits::new().calls(1));
    let pipeline = pipeline(&budgets);
    let run = async |scope: &Scope| {
        let request = request("works", "{}").with_scope(scope.clone());
        is_refused(&pipeline.run(request).await)
    };
    let (one, two) = (Scope::new("agent"), Scope::new("agent"));
    assert!(!run(&one).await);
    assert!(!run(&two).await);
    assert!(run(&one).await);
    assert!(budgets.exceeded(Some(&one)).is_some());
    assert!(budgets.exceeded(Some(&two)).is_none());
    assert!(!is_refused(&call(&pipeline, "works").await));
    budgets.begin_run(Some(&one));
    assert!(!run(&one).await);
    assert!(run(&two).await);
    assert_eq!(budgets.live_accounts(), 2);
    drop(one);
    assert_eq!(budgets.live_accounts(), 1);
    for _ in 0..200 {
        assert!(!run(&Scope::new("agent")).await, "nobody inherits");
    }
    assert_eq!(budgets.live_accounts(), 1);
}

/// A host with one run for all its agents has one account.
#[tokio::test]
async fn a_common_account_is_spent_by_all_scopes() {
    let budgets = Budgets::common(Limits::new().calls(2));
    let pipeline = pipeline(&budgets);
    let one = Scope::new("one");
    let scopes = [Some(one.nested("inner")), Some(Scope::new("two")), None];
    for (scope, refused) in scopes.iter().zip([false, false, true]) {
        let mut request = CallRequest::new("1", "works", "{}", CancellationToken::new());
        if let Some(scope) = scope {
            request = request.with_scope(scope.clone());
        }
        assert_eq!(is_refused(&pipeline.run(request).await), refused);
    }
    assert!(budgets.exceeded(Some(&one)).is_some() && budgets.exceeded(None).is_some());
    budgets.begin_run(Some(&one));
    assert_eq!(budgets.exceeded(None), None);
}

/// Of many calls at once exactly as many are admitted as the budget has left.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_calls_never_share_what_is_left() {
    for limits in [Limits::new().calls(5), Limits::new().tool("works", 5)] {
        let budgets = Budgets::new(limits);
        let pipeline = pipeline(&budgets);
        let barrier = Arc::new(Barrier::new(32));
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..32 {
            let (pipeline, barrier) = (pipeline.clone(), barrier.clone());
            calls.spawn(async move {
                barrier.wait().await;
                is_refused(&call(&pipeline, "works").await)
            });
        }
        let refused = calls.join_all().await;
        assert_eq!(refused.into_iter().filter(|refused| !refused).count(), 5);
        assert_eq!(budgets.spent(None).calls, 5);
    }
}

/// A tool that fails or succeeds when it is let go.
fn waiting(go: &Arc<Notify>) -> Registry {
    let go = go.clone();
    let waits = raw_tool(
        "waits",
        "",
        any_object(),
        move |arguments: Arguments, _: ToolContext| {
            let go = go.clone();
            async move {
                go.notified().await;
                if arguments.value()["fail"] == json!(true) {
                    Err::<Value, BoxError>("it broke".into())
                } else {
                    Ok(json!("done"))
                }
            }
        },
    );
    let fails = raw_tool(
        "fails",
        "",
        any_object(),
        |_: Arguments, _: ToolContext| async { Err::<Value, BoxError>("it broke".into()) },
    );
    registry([waits, fails])
}

/// A success that was under way revives nothing, and an old run's ending is
/// not on the new run's account.
#[tokio::test]
async fn what_is_under_way_ends_on_its_own_account() {
    let go = Arc::new(Notify::new());
    let budgets = Budgets::new(Limits::new().consecutive_failures(2));
    let pipeline = Pipeline::builder(waiting(&go))
        .decision_layer(budgets.layer())
        .build()
        .boxed();
    let started = |arguments: &'static str| {
        let token = CancellationToken::new();
        let call = CallRequest::new("1", "waits", arguments, token);
        Box::pin(pipeline.run(call))
    };
    let mut succeeding = started("{}");
    assert!(is_pending(&mut succeeding).await);
    call(&pipeline, "fails").await;
    call(&pipeline, "fails").await;
    go.notify_one();
    assert!(!succeeding.await.is_error(), "it was admitted before");
    assert!(is_refused(&call(&pipeline, "fails").await));
    assert!(budgets.exceeded(None).is_some());

    budgets.begin_run(None);
    let mut failing = started(r#"{"fail":true}"#);
    assert!(is_pending(&mut failing).await);
    budgets.begin_run(None);
    go.notify_one();
    assert!(failing.await.is_error());
    assert_eq!(budgets.spent(None), Budgets::new(Limits::new()).spent(None));
}

/// A wrapper that breaks is a failure like any other.
#[tokio::test]
async fn a_broken_layer_inside_counts_as_a_failure() {
    let budgets = Budgets::new(Limits::new().consecutive_failures(2));
    let pipeline = Pipeline::builder(tools())
        .decision_layer(budgets.layer())
        .around(wrapper(|_, _| async { Err("wrapper broke".into()) }))
        .build()
        .boxed();
    for refused in [false, false, true] {
        assert_eq!(is_refused(&call(&pipeline, "works").await), refused);
    }
}

/// Around the body it counts as it does among the decisions.
#[tokio::test]
async fn the_layer_fits_around_the_body_too() {
    let budgets = Budgets::new(Limits::new().calls(1));
    let pipeline = Pipeline::builder(tools())
        .pre_decision(|call: &CallView| match call.name() {
            "denied" => Decision::deny("no"),
            _ => Decision::Allow,
        })
        .around(budgets.layer())
        .build()
        .boxed();
    assert_eq!(call(&pipeline, "denied").await.text(), "Error: no");
    assert!(!call(&pipeline, "works").await.is_error());
    assert!(is_refused(&call(&pipeline, "works").await));
}

/// In a batch every call gets its answer, refused ones too, in their places.
#[tokio::test]
async fn a_batch_past_its_budget_is_answered_in_full() {
    let budgets = Budgets::new(Limits::new().calls(2));
    let pipeline = pipeline(&budgets);
    let cancel = CancellationToken::new();
    let calls =
        (0..4).map(|id: u32| CallRequest::new(id.to_string(), "works", "{}", cancel.clone()));
    let report = pipeline
        .scheduler()
        .batch(calls, cancel.clone())
        .run()
        .await;
    let refused = report.committed.iter().map(|call| is_refused(&call.result));
    assert_eq!(refused.collect::<Vec<_>>(), [false, false, true, true]);
    assert!(budgets.exceeded(None).is_some(), "the host may stop here");
}
