//! What a call adds to the conversation beside its result.

#[path = "support/facade.rs"]
mod support;

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use support::{Log, any_object, context, delegate, registry, request, texts, wrapper};
use tokio_util::sync::CancellationToken;
use toolfall::{
    Arguments, BoxError, CallRequest, ContentBlock, ContextMessage, ContextSource, Pipeline,
    PostDecision, PostRequest, ToolContext, ToolDef, codes, raw_tool,
};

/// Defers `first` and `second`, marks the turn concluded if its arguments
/// say so, and ends as they say.
fn tool(name: &'static str) -> ToolDef {
    raw_tool(
        name,
        "",
        any_object(),
        |arguments: Arguments, ctx: ToolContext| async move {
            assert!(ctx.defer_context(context("first")) && ctx.defer_context(context("second")));
            if arguments.value()["concludes"] == true {
                ctx.conclude_turn();
            }
            if arguments.value()["cancels"] == true {
                ctx.call().cancellation().cancel();
            }
            match arguments.value()["fails"].as_str() {
                Some(message) => Err(message.to_owned()),
                None => Ok(Value::from("done")),
            }
        },
    )
}

/// conformance: CTX-01, CTX-02, CTX-03, CTX-04, CTX-05, CTX-06, CTX-07, POST-15, POST-20, POST-21,
/// POST-22, OUT-22, OUT-23, OUT-24, OUT-25, CANCEL-11
#[tokio::test]
async fn contexts_come_in_the_order_in_which_they_were_added() {
    let pipeline = Pipeline::builder(registry([tool("t"), support::echo("plain")]))
        .around(wrapper(|call, inner| async move {
            use toolfall::Call as _;
            let id = call.id().as_str().to_owned();
            let outcome = delegate(inner, call).await?;
            Ok(if matches!(&*id, "all" | "cancelled") {
                outcome.with_context(context("wrapper"))
            } else {
                outcome
            })
        }))
        .post_execute(|post: &PostRequest| match post.call().id().as_str() {
            "all" => Ok(PostDecision::accept()
                .with_context(context("inner"))
                .with_context_first(context("outer"))),
            "blocks" => Ok(PostDecision::block_with("no").with_context(context("block"))),
            "breaks" => Err("post hook broke"),
            "cancelled" => {
                post.call().cancellation().cancel();
                Ok(PostDecision::accept().with_context(context("post")))
            }
            _ => Ok(PostDecision::accept()),
        })
        .build();
    let fails = r#"{"fails":"it broke"}"#;
    let none: &[&str] = &[];
    for (id, arguments, text, contexts) in [
        (
            "all",
            "{}",
            "done",
            &["first", "second", "wrapper", "outer", "inner"][..],
        ),
        ("fails", fails, "Error: it broke", &["first", "second"]),
        ("blocks", fails, "no", &["block"]),
        ("blocks", "{}", "no", &["block"]),
        ("breaks", "{}", "Error: post hook broke", none),
        (
            "cancels",
            r#"{"cancels":true}"#,
            "Error: tool call aborted",
            &["first", "second"],
        ),
        (
            "cancelled",
            "{}",
            "Error: tool call aborted",
            &["first", "second", "wrapper", "post"],
        ),
    ] {
        let result = pipeline
            .call(id, "t", arguments, CancellationToken::new())
            .await;
        assert_eq!(result.text(), text, "{id}");
        assert_eq!(texts(result.contexts()), contexts, "{id}");
    }
    assert!(
        pipeline
            .run(request("plain", "{}"))
            .await
            .contexts()
            .is_empty()
    );
}

/// conformance: CTX-08
#[tokio::test]
async fn a_context_keeps_all_that_it_is() {
    let message = ContextMessage {
        id: Some("m-1".to_owned()),
        source: ContextSource {
            kind: "plugin".into(),
            name: "reminder".into(),
            summary: Some("one line".to_owned()),
        },
        content: vec![ContentBlock::text("a"), ContentBlock::text("b")],
        meta: Some(json!({"n": 1})),
    };
    let sent = message.clone();
    let tool = raw_tool(
        "t",
        "",
        any_object(),
        move |_: Arguments, ctx: ToolContext| {
            ctx.defer_context(sent.clone());
            ctx.defer_context(sent.clone());
            async { Ok::<Value, BoxError>(1.into()) }
        },
    );
    let pipeline = Pipeline::builder(registry([tool])).build();
    let result = pipeline.run(request("t", "{}")).await;
    assert_eq!(result.contexts(), [message.clone(), message]);
}

/// conformance: CTX-15, CTX-20, CTX-21, CANCEL-14, OUT-38
#[tokio::test]
async fn only_a_success_concludes_the_turn() {
    let pipeline = Pipeline::builder(registry([tool("t")]))
        .post_execute(|post: &PostRequest| match post.call().id().as_str() {
            "content" => PostDecision::replace_content(vec![ContentBlock::text("shown")]),
            "value" => PostDecision::replace_value("other".into()),
            "block" => PostDecision::block_with("no"),
            _ => PostDecision::accept(),
        })
        .build();
    for (id, arguments, concludes) in [
        ("plain", r#"{"concludes":true}"#, true),
        ("silent", "{}", false),
        ("content", r#"{"concludes":true}"#, true),
        ("value", r#"{"concludes":true}"#, true),
        ("block", r#"{"concludes":true}"#, false),
        ("fails", r#"{"concludes":true,"fails":"x"}"#, false),
        ("cancels", r#"{"concludes":true,"cancels":true}"#, false),
    ] {
        let result = pipeline
            .call(id, "t", arguments, CancellationToken::new())
            .await;
        assert_eq!(result.concludes_turn(), concludes, "{id}");
    }
    let failure = toolfall::ToolOutcome::failure("x").concluding_turn();
    assert!(!failure.concludes_turn());
}

/// conformance: CTX-24
#[tokio::test]
async fn a_handle_that_is_kept_adds_nothing_later() {
    let kept: Arc<Mutex<Option<ToolContext>>> = Arc::default();
    let keep = kept.clone();
    let tool = raw_tool(
        "t",
        "",
        any_object(),
        move |_: Arguments, ctx: ToolContext| {
            *keep.lock().unwrap() = Some(ctx);
            async { Ok::<Value, BoxError>(1.into()) }
        },
    );
    let pipeline = Pipeline::builder(registry([tool])).build();
    let first = pipeline.run(request("t", "{}")).await;
    let old = kept.lock().unwrap().take().unwrap();
    assert!(!old.defer_context(context("late")));
    old.conclude_turn();
    assert!(first.contexts().is_empty() && !first.concludes_turn());
    let second = pipeline.run(request("t", "{}")).await;
    assert!(second.contexts().is_empty() && !second.concludes_turn());
}

/// conformance: CTX-25
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_of_a_body_may_defer() {
    let order = Log::<String>::default();
    let noted = order.clone();
    let tool = raw_tool(
        "t",
        "",
        any_object(),
        move |_: Arguments, ctx: ToolContext| {
            let noted = noted.clone();
            async move {
                let lock = Arc::new(tokio::sync::Mutex::new(()));
                let tasks: Vec<_> = (0..20)
                    .map(|number| {
                        let (ctx, lock, noted) = (ctx.clone(), lock.clone(), noted.clone());
                        tokio::spawn(async move {
                            let _one_at_a_time = lock.lock().await;
                            ctx.defer_context(context(&number.to_string()));
                            noted.push(number.to_string());
                        })
                    })
                    .collect();
                for task in tasks {
                    task.await?;
                }
                Ok::<Value, BoxError>(1.into())
            }
        },
    );
    let pipeline = Pipeline::builder(registry([tool])).build();
    let result = pipeline.run(request("t", "{}")).await;
    let expected = order.take();
    assert_eq!(expected.len(), 20);
    assert_eq!(texts(result.contexts()), expected);
}

/// conformance: CTX-09, CTX-10, CTX-22
#[tokio::test]
async fn a_batch_delivers_contexts_after_its_last_result_in_model_order() {
    let pipeline =
        Pipeline::builder(registry([tool("t").parallel(), support::echo("plain")])).build();
    let cancel = CancellationToken::new();
    let calls = [
        ("1", "t", r#"{"concludes":true}"#),
        ("2", "plain", "{}"),
        ("3", "t", "{}"),
    ]
    .map(|(id, name, arguments)| CallRequest::new(id, name, arguments, cancel.clone()));
    let report = pipeline.scheduler().batch(calls, cancel).run().await;
    let ids: Vec<&str> = report
        .committed
        .iter()
        .map(|call| call.id.as_str())
        .collect();
    assert_eq!(ids, ["1", "2", "3"]);
    assert!(report.committed.iter().all(|call| !call.result.is_error()));
    assert_eq!(
        texts(&report.end.contexts),
        ["first", "second", "first", "second"]
    );
    assert!(report.end.concludes && !report.end.aborted);
}

/// The part of CTX that a batch decides: a cancelled turn gets no messages.
#[tokio::test]
async fn contexts_of_a_cancelled_batch_belong_to_the_next_turn() {
    let pipeline = Pipeline::builder(registry([tool("t")])).build();
    let cancel = CancellationToken::new();
    let call = CallRequest::new("1", "t", r#"{"cancels":true}"#, cancel.clone());
    let report = pipeline.scheduler().batch([call], cancel).run().await;
    assert_eq!(report.committed[0].result.code(), Some(codes::ABORTED));
    assert!(report.end.aborted && report.end.contexts.is_empty());
    assert_eq!(texts(&report.end.parked), ["first", "second"]);
}
