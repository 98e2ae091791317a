//! Cancelling, dropping and timing out one call.

#[path = "support/facade.rs"]
mod support;

use std::time::Duration;

use serde_json::{Value, json};
use support::{
    Counter, Log, any_object, context, delegate, registry, request, returns, texts, wrapper,
};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use toolfall::{
    Arguments, BoxError, CallRequest, CallView, ClearedCall, CodedError, Decision, Denial, Effect,
    Pipeline, PostDecision, PostRequest, TimeoutLayer, ToolContext, ToolDef, ToolOutcome,
    ToolResult, codes, raw_tool,
};

const MS: Duration = Duration::from_millis(1);

/// A body that defers a context, waits as its arguments say and ends as they
/// say once its token fires.
fn waiting(entered: &Counter) -> ToolDef {
    let entered = entered.clone();
    raw_tool(
        "wait",
        "",
        any_object(),
        move |arguments: Arguments, ctx: ToolContext| {
            let entered = entered.clone();
            async move {
                entered.add();
                ctx.defer_context(context("deferred"));
                match arguments.value()["does"].as_str() {
                    Some("ignores") => sleep(MS * 500).await,
                    Some("lingers") => {
                        ctx.cancellation().cancelled().await;
                        sleep(MS * 100).await;
                    }
                    Some("fails") => {
                        ctx.cancellation().cancelled().await;
                        return Err(
                            CodedError::new("Upstream", "UPSTREAM_ABORT", "upstream gone").into(),
                        );
                    }
                    Some("returns") => {}
                    _ => ctx.cancellation().cancelled().await,
                }
                Ok::<Value, BoxError>("stopped".into())
            }
        },
    )
    .presentation_meta(|_| Ok(json!({"shown": true})))
}

fn does(what: &str) -> String {
    json!({ "does": what }).to_string()
}

/// conformance: CANCEL-01, CANCEL-02, CANCEL-03, FINAL-23
#[tokio::test]
async fn a_call_cancelled_before_it_began_reaches_nothing() {
    let stages = Counter::default();
    let told = Log::<(Value, ToolResult)>::default();
    let [pre, guard, around, post] = std::array::from_fn(|_| stages.clone());
    let notified = told.clone();
    let pipeline = Pipeline::builder(registry([returns("t", 1.into(), &stages)]))
        .pre_decision(move |_: &CallView| {
            pre.add();
            Decision::Allow
        })
        .guard(move |_: &CallView| {
            guard.add();
            None::<Denial>
        })
        .around(wrapper(move |call, inner| {
            around.add();
            delegate(inner, call)
        }))
        .post_execute(move |_: &PostRequest| {
            post.add();
            PostDecision::accept()
        })
        .observer(move |call: &CallView, result: &ToolResult| {
            assert!(call.cancellation().is_cancelled() && !call.was_entered());
            notified.push((call.arguments().unwrap().value().clone(), result.clone()));
        })
        .build();
    let cancel = CancellationToken::new();
    cancel.cancel();
    for name in ["t", "nobody"] {
        let result = pipeline.call("c", name, r#"{"a":1}"#, cancel.clone()).await;
        assert_eq!(result.text(), "Error: tool call aborted before dispatch");
        assert_eq!(result.message(), Some("tool call aborted before dispatch"));
        let info = result.info().unwrap();
        assert_eq!(
            (info.name(), info.code()),
            ("AbortError", "ABORTED_BEFORE_DISPATCH")
        );
        assert_eq!(result.effect(), Effect::NotStarted);
        let told = told.take();
        assert_eq!((told.len(), &told[0].0), (1, &json!({"a": 1})));
        assert!(told[0].1.ptr_eq(&result));
    }
    assert_eq!(stages.get(), 0);
}

/// conformance: CANCEL-16
#[test]
fn the_two_codes_tell_whether_anything_can_have_happened() {
    assert_eq!(
        (codes::ABORTED, codes::ABORTED_BEFORE_DISPATCH),
        ("ABORTED", "ABORTED_BEFORE_DISPATCH")
    );
    assert_eq!(ToolOutcome::aborted(true).code(), Some(codes::ABORTED));
    assert_eq!(
        ToolOutcome::aborted(false).code(),
        Some(codes::ABORTED_BEFORE_DISPATCH)
    );
}

/// conformance: CANCEL-07, CANCEL-08, CANCEL-09, CANCEL-15, CTX-05
#[tokio::test(start_paused = true)]
async fn a_running_body_is_asked_to_stop_and_waited_for() {
    let entered = Counter::default();
    let pipeline = Pipeline::builder(registry([waiting(&entered)])).build();
    for (what, text, code, after) in [
        ("obeys", "Error: tool call aborted", "ABORTED", 0),
        ("fails", "Error: upstream gone", "UPSTREAM_ABORT", 0),
        ("lingers", "Error: tool call aborted", "ABORTED", 100),
        ("ignores", "Error: tool call aborted", "ABORTED", 500),
    ] {
        let cancel = CancellationToken::new();
        let mut call =
            tokio_test::task::spawn(pipeline.call("c", "wait", does(what), cancel.clone()));
        assert!(call.poll().is_pending());
        let started = tokio::time::Instant::now();
        cancel.cancel();
        let result = call.await;
        assert_eq!(
            (result.text().as_str(), result.code()),
            (text, Some(code)),
            "{what}"
        );
        assert_eq!((result.value(), result.meta()), (None, None));
        assert_eq!(texts(result.contexts()), ["deferred"]);
        assert_eq!(started.elapsed().as_millis() / 10, after / 10, "{what}");
        assert_eq!(result.effect(), Effect::Stopped);
    }
    let cancel = CancellationToken::new();
    let result = pipeline
        .call("c", "wait", does("returns"), cancel.clone())
        .await;
    cancel.cancel();
    assert_eq!(
        (result.text().as_str(), result.meta()),
        ("stopped", Some(&json!({"shown": true})))
    );
}

/// conformance: CANCEL-06, CANCEL-10, CANCEL-11, CANCEL-12, CANCEL-13, OUT-25, OUT-26
#[tokio::test(start_paused = true)]
async fn a_cancellation_on_the_way_back_replaces_a_success_and_nothing_else() {
    let entered = Counter::default();
    let pipeline = Pipeline::builder(registry([waiting(&entered)]))
        .around(wrapper(|call, inner| async move {
            use toolfall::Call as _;
            let (id, cancel) = (call.id().as_str().to_owned(), call.cancellation().clone());
            match &*id {
                "authored" => {
                    cancel.cancel();
                    Ok(ToolOutcome::success("mine").with_context(context("wrapper")))
                }
                "after" => {
                    let outcome = delegate(inner, call).await;
                    cancel.cancel();
                    outcome
                }
                _ => delegate(inner, call).await,
            }
        }))
        .post_execute(|post: PostRequest| async move {
            let cancel = post.call().cancellation();
            match post.call().id().as_str() {
                "post" => {
                    cancel.cancel();
                    Ok(PostDecision::accept().with_context(context("post")))
                }
                "breaks" => {
                    cancel.cancel();
                    Err(CodedError::new("PostError", "POST", "post broke"))
                }
                "blocks" => {
                    cancel.cancel();
                    Ok(PostDecision::block_with("withheld"))
                }
                _ => Ok(PostDecision::accept()),
            }
        })
        .build();
    let aborted = "Error: tool call aborted";
    for (id, text, code, contexts, runs) in [
        (
            "authored",
            "Error: tool call aborted before dispatch",
            Some("ABORTED_BEFORE_DISPATCH"),
            &["wrapper"][..],
            0,
        ),
        ("after", aborted, Some("ABORTED"), &["deferred"], 1),
        ("post", aborted, Some("ABORTED"), &["deferred", "post"], 1),
        ("breaks", "Error: post broke", Some("POST"), &[], 1),
        ("blocks", "withheld", None, &[], 1),
    ] {
        let before = entered.get();
        let result = pipeline
            .call(id, "wait", does("returns"), CancellationToken::new())
            .await;
        assert_eq!(
            (result.text().as_str(), result.code()),
            (text, code),
            "{id}"
        );
        assert_eq!(texts(result.contexts()), contexts, "{id}");
        assert_eq!(entered.get() - before, runs, "{id}");
    }
}

/// conformance: CANCEL-20, CANCEL-21
#[tokio::test(start_paused = true)]
async fn a_dropped_call_is_still_answered_once() {
    let (entered, told) = (Counter::default(), Log::<ToolResult>::default());
    let notified = told.clone();
    let pipeline = Pipeline::builder(registry([waiting(&entered)]))
        .pre_decision(|call: CallView| async move {
            if call.id().as_str() == "undecided" {
                std::future::pending::<()>().await;
            }
            Decision::Allow
        })
        .observer(move |_: &CallView, result: &ToolResult| notified.push(result.clone()))
        .build();
    let caller = CancellationToken::new();
    for (id, what, polls, code, runs) in [
        ("unpolled", "obeys", 0, "ABORTED_BEFORE_DISPATCH", 0),
        ("undecided", "obeys", 1, "ABORTED_BEFORE_DISPATCH", 0),
        ("running", "obeys", 1, "ABORTED", 1),
        ("lingering", "lingers", 1, "ABORTED", 1),
        ("failing", "fails", 1, "UPSTREAM_ABORT", 1),
    ] {
        let before = entered.get();
        let call = CallRequest::new(id, "wait", does(what), caller.clone());
        let mut service = pipeline.clone();
        let future = tower::Service::call(&mut service, call);
        let mut call = tokio_test::task::spawn(future);
        for _ in 0..polls {
            assert!(call.poll().is_pending());
        }
        drop(call);
        sleep(MS * 200).await;
        let told = told.take();
        assert_eq!(told.len(), 1, "{id}");
        assert_eq!(told[0].code(), Some(code), "{id}");
        assert_eq!(entered.get() - before, runs, "{id}");
    }
    assert!(!caller.is_cancelled());
}

/// conformance: CANCEL-22
#[tokio::test]
async fn a_body_that_ends_as_the_token_fires_is_aborted_every_time() {
    for _ in 0..200 {
        let tool = raw_tool(
            "t",
            "",
            any_object(),
            |_: Arguments, ctx: ToolContext| async move {
                ctx.call().cancellation().cancel();
                Ok::<Value, BoxError>(1.into())
            },
        );
        let pipeline = Pipeline::builder(registry([tool])).build();
        assert_eq!(
            pipeline.run(request("t", "{}")).await.code(),
            Some(codes::ABORTED)
        );
    }
}

/// conformance: CANCEL-17
#[tokio::test]
async fn the_first_cause_of_a_cancelled_batch_stays() {
    let entered = Counter::default();
    let pipeline = Pipeline::builder(registry([waiting(&entered)])).build();
    let cancel = CancellationToken::new();
    let call = CallRequest::new("1", "wait", does("obeys"), cancel.clone());
    let batch = pipeline.scheduler().batch([call], cancel.clone());
    let handle = batch.cancel();
    assert_eq!(handle.cause(), None);
    handle.cancel("the user pressed stop");
    handle.cancel("the server went down");
    assert_eq!(handle.cause(), Some("the user pressed stop"));
    assert!(handle.token().is_cancelled() && cancel.is_cancelled());
    let report = batch.run().await;
    assert!(report.end.aborted);
    assert_eq!((report.committed.len(), entered.get()), (1, 0));
}

fn budgeted(name: &'static str, entered: &Counter) -> ToolDef {
    waiting(entered).with_name(name).budget(MS * 100)
}

/// conformance: TIME-01, TIME-02, TIME-05, TIME-06, TIME-07, TIME-09, TIME-10, TIME-11, TIME-12,
/// TIME-15, TIME-18, TIME-19, TIME-21
#[tokio::test(start_paused = true)]
async fn a_budget_asks_the_body_to_stop_and_waits() {
    let entered = Counter::default();
    let pipeline = Pipeline::builder(registry([budgeted("timed", &entered), waiting(&entered)]))
        .timeout(TimeoutLayer::declared())
        .around(wrapper(|call, inner| async move {
            use toolfall::Call as _;
            let slow = call.id().as_str() == "slow wrapper";
            let outcome = delegate(inner, call).await;
            if slow {
                sleep(MS * 150).await;
            }
            outcome
        }))
        .build();
    let timed_out = "Error: tool call timed out after 100ms";
    for (id, tool, what, cancel_after, text, took) in [
        ("quick", "timed", "returns", None, "stopped", 0),
        ("obeys", "timed", "obeys", None, timed_out, 100),
        ("fails", "timed", "fails", None, timed_out, 100),
        ("lingers", "timed", "lingers", None, timed_out, 200),
        ("ignores", "timed", "ignores", None, timed_out, 500),
        ("slow wrapper", "timed", "returns", None, timed_out, 150),
        (
            "caller first",
            "timed",
            "obeys",
            Some(50),
            "Error: tool call aborted",
            50,
        ),
        (
            "caller later",
            "timed",
            "lingers",
            Some(150),
            timed_out,
            200,
        ),
        (
            "no budget",
            "wait",
            "obeys",
            Some(1_000),
            "Error: tool call aborted",
            1_000,
        ),
    ] {
        let cancel = CancellationToken::new();
        if let Some(after) = cancel_after {
            let cancel = cancel.clone();
            tokio::spawn(async move {
                sleep(MS * after).await;
                cancel.cancel();
            });
        }
        let started = tokio::time::Instant::now();
        let result = pipeline.call(id, tool, does(what), cancel).await;
        assert_eq!(result.text(), text, "{id}");
        // The timer's own resolution is a millisecond.
        let elapsed = started.elapsed().as_millis();
        assert!(elapsed >= took && elapsed <= took + 3, "{id}: {elapsed} ms");
        if text == timed_out {
            let info = result.info().unwrap();
            assert_eq!(
                (info.name(), info.code()),
                ("ToolTimeoutError", codes::TOOL_TIMEOUT)
            );
            assert_eq!((result.value(), result.meta()), (None, None));
        }
        assert_eq!(texts(result.contexts()), ["deferred"], "{id}");
    }
    assert_eq!(codes::TOOL_TIMEOUT, "TOOL_TIMEOUT");
}

/// conformance: TIME-08, TIME-14, TIME-16, TIME-17
#[tokio::test(start_paused = true)]
async fn only_the_stages_own_timer_makes_a_timeout() {
    let entered = Counter::default();
    let known = registry([budgeted("timed", &entered)]);
    let told = serde_json::to_value(known.schemas(None)).unwrap();
    let fields: Vec<&String> = told[0].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["description", "name", "parameters"]);

    // The deadline passes while a wrapper inside still waits.
    let pipeline = Pipeline::builder(known.clone())
        .timeout(TimeoutLayer::declared())
        .around(wrapper(|call, inner| async move {
            sleep(MS * 150).await;
            delegate(inner, call).await
        }))
        .build();
    let result = pipeline.run(request("timed", does("returns"))).await;
    assert_eq!(
        (result.code(), entered.get()),
        (Some(codes::TOOL_TIMEOUT), 0)
    );

    // A wrapper outside has a deadline of its own.
    let pipeline = Pipeline::builder(known.clone())
        .around(tower::util::MapRequestLayer::new(with_deadline))
        .timeout(TimeoutLayer::declared())
        .build();
    let result = pipeline.run(request("timed", does("obeys"))).await;
    assert_eq!(result.code(), Some(codes::ABORTED));

    // Without the stage a budget is only a word.
    let pipeline = Pipeline::builder(known).build();
    let waited = tokio::time::timeout(MS * 300, pipeline.run(request("timed", does("obeys"))));
    assert!(waited.await.is_err());
}

/// Another author's deadline, around whatever is inside.
fn with_deadline(call: ClearedCall) -> ClearedCall {
    use toolfall::Call as _;
    let token = call.cancellation().child_token();
    let timer = token.clone();
    tokio::spawn(async move {
        sleep(MS * 30).await;
        timer.cancel();
    });
    call.with_cancellation(token)
}
