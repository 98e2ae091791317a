//! A tool's last word on its content, and who is told of the result.

#[path = "support/facade.rs"]
mod support;

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use support::{Counter, Log, any_object, delegate, registry, request, returns, wrapper};
use tokio_util::sync::CancellationToken;
use toolfall::{
    Arguments, BoxError, Call as _, CallRequest, CallView, CodedError, ContentBlock, Decision,
    Denial, Pipeline, PostDecision, PostRequest, Registration, Registry, ToolContext, ToolDef,
    ToolOutcome, ToolResult, raw_tool,
};

/// Adds a finalizer that counts and says what it saw.
fn finalized(tool: ToolDef, runs: &Counter) -> ToolDef {
    let runs = runs.clone();
    tool.finalizer(move |_: &CallView, outcome: &ToolOutcome| {
        runs.add();
        let saw = outcome.message().unwrap_or("a success");
        Ok(Some(vec![ContentBlock::text(format!("final: {saw}"))]))
    })
}

/// conformance: FINAL-12, FINAL-23, OUT-28
#[tokio::test]
async fn a_finalizer_that_has_nothing_to_say_changes_nothing() {
    let runs = Counter::default();
    let count = runs.clone();
    let tool = returns("t", "hi".into(), &Counter::default()).finalizer(move |_, outcome| {
        count.add();
        assert!(outcome.is_success());
        Ok(None)
    });
    let told = Counter::default();
    let notified = told.clone();
    let pipeline = Pipeline::builder(registry([tool]))
        .observer(move |_: &CallView, _: &ToolResult| notified.add())
        .build();
    assert_eq!(pipeline.run(request("t", "{}")).await.text(), "hi");
    assert_eq!((runs.get(), told.get()), (1, 1));
}

/// conformance: FINAL-13, FINAL-15, OUT-29
#[tokio::test]
async fn a_finalizer_that_was_there_at_intake_has_its_say() {
    let runs = Counter::default();
    let registry = Registry::new();
    let tool = finalized(returns("t", 1.into(), &Counter::default()), &runs);
    let held: Arc<Mutex<Option<Registration>>> = Arc::default();
    *held.lock().unwrap() = Some(registry.register(tool).unwrap());
    let pipeline = Pipeline::builder(registry.clone())
        .pre_decision(move |_: &CallView| {
            drop(held.lock().unwrap().take());
            Err::<Decision, _>(CodedError::new("PolicyError", "POLICY_FAILED", "no policy"))
        })
        .build();
    let result = pipeline.run(request("t", "{}")).await;
    assert!(!registry.contains("t", None));
    assert_eq!(result.text(), "final: no policy");
    assert_eq!(
        (result.message(), result.is_error()),
        (Some("no policy"), true)
    );
    let info = result.info().unwrap();
    assert_eq!((info.name(), info.code()), ("PolicyError", "POLICY_FAILED"));
    assert_eq!(runs.get(), 1);
}

/// conformance: FINAL-14, FINAL-09, OUT-31, CTX-06
#[tokio::test]
async fn a_finalizer_that_fails_is_not_asked_again() {
    for panics in [false, true] {
        let runs = Counter::default();
        let count = runs.clone();
        let message = "finalizer violated its total contract";
        let body = |_: Arguments, ctx: ToolContext| async move {
            ctx.defer_context(support::context("lost"));
            ctx.conclude_turn();
            Ok::<Value, BoxError>("hi".into())
        };
        let tool = raw_tool("t", "", any_object(), body).finalizer(move |_, _| {
            count.add();
            assert!(!panics, "{message}");
            Err(message.into())
        });
        let pipeline = Pipeline::builder(registry([tool])).build();
        let result = pipeline.run(request("t", "{}")).await;
        assert_eq!(result.text(), format!("Error: {message}"));
        assert_eq!((result.value(), result.info()), (None, None));
        assert!(result.contexts().is_empty() && !result.concludes_turn());
        assert_eq!(runs.get(), 1);
    }
}

/// conformance: FINAL-16, OUT-30
#[tokio::test]
async fn a_finalizer_bounds_a_failure_found_on_the_way() {
    let runs = Counter::default();
    let count = runs.clone();
    let tool = returns("throwing-meta", "hi".into(), &Counter::default())
        .presentation_meta(|_| Err("huge ".repeat(10_000).into()))
        .finalizer(move |_, outcome| {
            count.add();
            let text = outcome.content()[0].as_text().unwrap();
            assert!(text.len() > 50_000);
            Ok(Some(vec![ContentBlock::text(
                text.chars().take(32).collect::<String>(),
            )]))
        });
    let pipeline = Pipeline::builder(registry([tool])).build();
    let result = pipeline.run(request("throwing-meta", "{}")).await;
    assert_eq!(result.text().chars().count(), 32);
    assert!(result.text().starts_with("Error: tool \"throwing-meta\""));
    assert_eq!(
        (runs.get(), result.code()),
        (1, Some("INVALID_TOOL_OUTPUT"))
    );
}

/// conformance: FINAL-17, FINAL-19, FINAL-23, CANCEL-05, POST-18
#[tokio::test]
async fn every_ending_is_finalized_and_told_once() {
    let runs = Counter::default();
    let told = Log::<String>::default();
    let notified = told.clone();
    let posted = Counter::default();
    let judged = posted.clone();
    let tool = finalized(returns("t", 1.into(), &Counter::default()), &runs);
    let pipeline = Pipeline::builder(registry([tool]))
        .pre_decision(|call: &CallView| match call.id().as_str() {
            "denied" => Ok(Decision::deny("denied")),
            "pre" => Err("pre broke"),
            _ => Ok(Decision::Allow),
        })
        .guard(|call: &CallView| match call.id().as_str() {
            "guarded" => Ok(Some(Denial::new("guarded"))),
            "guard" => Err("guard broke"),
            _ => Ok(None),
        })
        .around(wrapper(|call, inner| async move {
            match call.id().as_str() {
                "wrapper" => Err("wrapper broke".into()),
                _ => delegate(inner, call).await,
            }
        }))
        .post_execute(move |post: &PostRequest| {
            judged.add();
            match post.call().id().as_str() {
                "post" => Err("post broke"),
                "blocked" => Ok(PostDecision::block_with("blocked")),
                _ => Ok(PostDecision::accept()),
            }
        })
        .observer(move |_: &CallView, result: &ToolResult| notified.push(result.text()))
        .build();
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let lossy = r#"{"a":1,"a":2}"#;
    for (id, name, arguments, saw, posts) in [
        ("plain", "t", "{}", "final: a success", 1),
        ("denied", "t", "{}", "final: denied", 1),
        ("pre", "t", "{}", "final: pre broke", 0),
        ("guarded", "t", "{}", "final: guarded", 1),
        ("guard", "t", "{}", "final: guard broke", 0),
        ("wrapper", "t", "{}", "final: wrapper broke", 0),
        ("post", "t", "{}", "final: post broke", 1),
        ("blocked", "t", "{}", "final: blocked", 1),
        (
            "args",
            "t",
            "[]",
            "final: invalid arguments: \"arguments\" must be an object",
            1,
        ),
        (
            "cancelled",
            "t",
            "{}",
            "final: tool call aborted before dispatch",
            0,
        ),
        ("unknown", "u", "{}", "Error: unknown tool \"u\"", 1),
        (
            "lossy",
            "t",
            lossy,
            "final: tool execution arguments must be",
            0,
        ),
    ] {
        let token = if id == "cancelled" {
            cancelled.clone()
        } else {
            CancellationToken::new()
        };
        let (before, posts_before) = (runs.get(), posted.get());
        let result = pipeline
            .run(CallRequest::new(id, name, arguments, token))
            .await;
        assert!(result.text().starts_with(saw), "{id}: {}", result.text());
        assert_eq!(runs.get() - before, usize::from(id != "unknown"), "{id}");
        assert_eq!(posted.get() - posts_before, posts, "{id}");
        assert_eq!(told.take(), [result.text()], "{id}");
    }
}

/// conformance: FINAL-24, FINAL-31, FINAL-32
#[tokio::test]
async fn observers_fail_alone_and_may_call_back() {
    let told = Log::<String>::default();
    let [first, last] = std::array::from_fn(|_| told.clone());
    let registry = registry([returns("t", "hi".into(), &Counter::default())]);
    let known = registry.clone();
    let pipeline = Pipeline::builder(registry)
        .observer(
            move |call: &CallView, _: &ToolResult| -> Result<(), BoxError> {
                first.push(format!("first {}", known.contains(call.name(), None)));
                let late = known.register(returns("late", 1.into(), &Counter::default()))?;
                drop(late);
                Err("first broke".into())
            },
        )
        .observer(|_: &CallView, result: &ToolResult| {
            assert!(result.is_error(), "second broke");
        })
        .observer(move |_: &CallView, result: &ToolResult| last.push(result.text()))
        .build();
    let result = pipeline.run(request("t", "{}")).await;
    assert_eq!(result.text(), "hi");
    assert_eq!(told.take(), ["first true", "hi"]);
}

/// conformance: FINAL-33, FINAL-22
#[tokio::test]
async fn a_kept_view_keeps_no_tool_alive() {
    let kept = Log::<(CallView, ToolResult)>::default();
    let keep = kept.clone();
    let alive = Arc::new(());
    let held = alive.clone();
    let registry = Registry::new();
    let registration = registry
        .register(raw_tool(
            "t",
            "",
            any_object(),
            move |_: Arguments, _: ToolContext| {
                let _held = held.clone();
                async { Ok::<Value, BoxError>(json!(1)) }
            },
        ))
        .unwrap();
    let pipeline = Pipeline::builder(registry)
        .observer(move |call: &CallView, result: &ToolResult| {
            keep.push((call.clone(), result.clone()));
        })
        .build();
    let result = pipeline.run(request("t", "{}")).await;
    drop(registration);
    assert_eq!(Arc::strong_count(&alive), 1);
    let (view, seen) = kept.take().pop().unwrap();
    assert!(seen.ptr_eq(&result));
    assert_eq!((view.name(), view.definition().is_none()), ("t", true));
}
