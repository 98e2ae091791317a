//! Post-execute decisions through the assembled pipeline.

#[path = "support/facade.rs"]
mod support;

use serde_json::{Value, json};
use support::{Counter, any_object, context, registry, returns, texts};
use tokio_util::sync::CancellationToken;
use toolfall::{
    Arguments, CallView, CodedError, ContentBlock, Decision, FailureKind, Pipeline, PostDecision,
    PostRequest, ToolContext, raw_tool,
};

fn reasoning() -> ContentBlock {
    ContentBlock::Reasoning {
        text: "private".to_owned(),
    }
}

/// conformance: POST-01, POST-07, POST-08, POST-09, POST-10, POST-12, POST-13, POST-15, POST-16,
/// POST-17, POST-21, POST-24, POST-25, OUT-12, OUT-14, OUT-15, OUT-19
#[allow(clippy::too_many_lines, reason = "one table")]
#[tokio::test]
async fn what_a_post_policy_decides_is_what_comes_out() {
    let failing = raw_tool(
        "fails",
        "",
        any_object(),
        |_: Arguments, _: ToolContext| async {
            Err::<Value, _>(CodedError::new("DiskError", "DISK", "it broke"))
        },
    );
    let judged = Counter::default();
    let count = judged.clone();
    let tools = registry([returns("t", "value".into(), &Counter::default()), failing]);
    let pipeline = Pipeline::builder(tools)
        .pre_decision(|call: &CallView| match call.id().as_str() {
            "denied" => Decision::deny("denied"),
            _ => Decision::Allow,
        })
        .post_execute(move |post: &PostRequest| {
            count.add();
            let text = |text: &str| ContentBlock::text(text);
            Ok(match post.call().id().as_str() {
                "text" => PostDecision::block_with("withheld").with_context(context("why")),
                "empty" => PostDecision::block(Vec::new()),
                "blank" => PostDecision::block_with(""),
                "private" => PostDecision::block(vec![reasoning()]),
                "several" => PostDecision::block(vec![text("a"), reasoning(), text("b")]),
                "content" => PostDecision::replace_content(vec![text("shown")]),
                "value" => PostDecision::replace_value("other".into()),
                "breaks" => return Err(CodedError::new("HookError", "HOOK", "post hook broke")),
                "falls" => panic!("post hook fell"),
                _ => PostDecision::accept(),
            })
        })
        .build();
    let blocked = Some(FailureKind::Blocked);
    let failed = "tools/post-execute cannot replace the value of a failed result";
    let plain = "tool result blocked by post-execute policy";
    for (id, tool, text, message, code, kind) in [
        ("plain", "t", "value", None, None, None),
        ("text", "t", "withheld", Some("withheld"), None, blocked),
        ("text", "fails", "withheld", Some("withheld"), None, blocked),
        ("empty", "t", "", Some(plain), None, blocked),
        ("blank", "t", "", Some(plain), None, blocked),
        (
            "private",
            "t",
            "",
            Some("[reasoning content]"),
            None,
            blocked,
        ),
        (
            "several",
            "t",
            "a\nb",
            Some("a\n[reasoning content]\nb"),
            None,
            blocked,
        ),
        (
            "content",
            "fails",
            "shown",
            Some("it broke"),
            Some("DISK"),
            Some(FailureKind::Body),
        ),
        (
            "value",
            "fails",
            "Error: ",
            Some(failed),
            None,
            Some(FailureKind::Policy),
        ),
        (
            "breaks",
            "t",
            "Error: ",
            Some("post hook broke"),
            Some("HOOK"),
            Some(FailureKind::Policy),
        ),
        (
            "falls",
            "t",
            "Error: ",
            Some("post hook fell"),
            None,
            Some(FailureKind::Policy),
        ),
        (
            "plain",
            "fails",
            "Error: ",
            Some("it broke"),
            Some("DISK"),
            Some(FailureKind::Body),
        ),
        (
            "denied",
            "t",
            "Error: ",
            Some("denied"),
            None,
            Some(FailureKind::Denied),
        ),
        (
            "plain",
            "nobody",
            "Error: ",
            Some("unknown tool \"nobody\""),
            Some("UNKNOWN_TOOL"),
            Some(FailureKind::UnknownTool),
        ),
    ] {
        let before = judged.get();
        let result = pipeline
            .call(id, tool, "{}", CancellationToken::new())
            .await;
        let what = format!("{id} {tool}");
        let text = match message {
            Some(message) if text == "Error: " => format!("Error: {message}"),
            _ => text.to_owned(),
        };
        assert_eq!((result.text(), result.message()), (text, message), "{what}");
        assert_eq!((result.code(), result.kind()), (code, kind), "{what}");
        assert_eq!(
            result.value(),
            (!result.is_error()).then(|| json!("value")).as_ref()
        );
        let contexts: &[&str] = if id == "text" { &["why"] } else { &[] };
        assert_eq!(texts(result.contexts()), contexts, "{what}");
        assert_eq!(judged.get() - before, 1, "{what}");
    }
    // Content is presentation: a program still sees the value.
    let result = pipeline
        .call("content", "t", "{}", CancellationToken::new())
        .await;
    assert_eq!(
        (result.text().as_str(), result.value()),
        ("shown", Some(&json!("value")))
    );
}

/// conformance: POST-19
#[tokio::test]
async fn an_outer_policy_speaks_after_an_inner_one() {
    let tool = returns("t", "value".into(), &Counter::default());
    let pipeline = Pipeline::builder(registry([tool]))
        .post_execute(|post: &PostRequest| {
            assert_eq!(post.outcome().value(), Some(&json!("inner")));
            PostDecision::accept().with_context(context("outer"))
        })
        .post_execute(|post: &PostRequest| {
            assert_eq!(post.outcome().value(), Some(&json!("value")));
            let mine = post.outcome().clone().with_content(Vec::new());
            assert!(mine.content().is_empty() && !post.outcome().content().is_empty());
            PostDecision::replace_value("inner".into()).with_context(context("inner"))
        })
        .build();
    let result = pipeline
        .call("c", "t", "{}", CancellationToken::new())
        .await;
    assert_eq!(result.text(), "inner");
    assert_eq!(texts(result.contexts()), ["inner", "outer"]);
}
