//! Tools that call tools.

#[path = "support/facade.rs"]
mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use support::{Counter, Log, any_object, context, echo, registry, request, returns, texts};
use tokio_util::sync::CancellationToken;
use toolfall::{
    Arguments, BoxError, CallRequest, CallToolError, CallView, Decision, Denial, ExecutionToken,
    Extensions, Pipeline, PostDecision, PostRequest, Progress, ProgressSink, Scope, ToolContext,
    ToolDef, ToolResult, ToolService, codes, raw_tool,
};
use tower::ServiceExt as _;

fn composite<F, Fut>(name: &'static str, body: F) -> ToolDef
where
    F: Fn(Value, ToolContext) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<Value, BoxError>> + Send + 'static,
{
    raw_tool(name, "", any_object(), move |arguments: Arguments, ctx| {
        body(arguments.value().clone(), ctx)
    })
}

type Seen = (
    String,
    ExecutionToken,
    Option<ExecutionToken>,
    String,
    Option<Scope>,
);

fn seen(stage: &str, call: &CallView) -> Seen {
    let what = format!("{stage} {}", call.id());
    (
        what,
        call.token(),
        call.parent(),
        call.root_id().to_string(),
        call.scope().cloned(),
    )
}

/// conformance: EXEC-05, EXEC-33, GUARD-19
#[tokio::test]
async fn every_stage_of_a_nested_call_sees_its_parent_and_its_root() {
    let log = Log::<Seen>::default();
    let [pre, guard, post, observer, body] = std::array::from_fn(|_| log.clone());
    let outer = composite("outer", |_, ctx| async move {
        ctx.call_tool("middle", "{}").await?;
        Ok(ctx.call_tool("middle", "{}").await?.text().into())
    });
    let middle = composite("middle", |_, ctx| async move {
        Ok(ctx
            .call_tool("inner", r#"{"deep":true}"#)
            .await?
            .value()
            .cloned()
            .into())
    });
    let inner = raw_tool(
        "inner",
        "",
        any_object(),
        move |arguments: Arguments, ctx: ToolContext| {
            body.push(seen("body", ctx.call()));
            async move { Ok::<Value, BoxError>(arguments.value().clone()) }
        },
    );
    let pipeline = Pipeline::builder(registry([outer, middle, inner]))
        .pre_decision(move |call: &CallView| {
            pre.push(seen("pre", call));
            Decision::Allow
        })
        .guard(move |call: &CallView| {
            guard.push(seen("guard", call));
            None::<Denial>
        })
        .post_execute(move |request: &PostRequest| {
            post.push(seen("post", request.call()));
            PostDecision::accept()
        })
        .observer(move |call: &CallView, _: &ToolResult| observer.push(seen("observer", call)))
        .build();
    let scope = Scope::new("agent");
    let call =
        CallRequest::new("root", "outer", "{}", CancellationToken::new()).with_scope(scope.clone());
    let result = pipeline.run(call).await;
    assert_eq!(result.text(), r#"{"deep":true}"#);

    let log = log.take();
    let token = |id: &str| {
        log.iter()
            .find(|entry| entry.0 == format!("pre {id}"))
            .unwrap()
            .1
    };
    let parents = [
        ("root", None),
        ("root:call:1", Some(token("root"))),
        ("root:call:1:call:1", Some(token("root:call:1"))),
        ("root:call:2", Some(token("root"))),
        ("root:call:2:call:1", Some(token("root:call:2"))),
    ];
    for (id, parent) in parents {
        let stages: Vec<_> = log
            .iter()
            .filter(|entry| entry.0.ends_with(&format!(" {id}")))
            .collect();
        assert_eq!(
            stages.len(),
            if id.matches("call").count() == 2 {
                5
            } else {
                4
            },
            "{id}"
        );
        for (what, own, seen_parent, root, in_scope) in stages {
            assert!(*seen_parent == parent && *own == token(id), "{what}");
            assert_eq!(
                (root.as_str(), in_scope),
                ("root", &Some(scope.clone())),
                "{what}"
            );
        }
    }
    assert_eq!(log.len(), 3 * 4 + 2 * 5);
}

/// conformance: CTX-10, CTX-18, CTX-19, CTX-23, POST-23, FINAL-11, OUT-38
#[tokio::test]
async fn a_composite_forwards_contexts_and_decides_on_the_conclusion() {
    let leaf = raw_tool(
        "leaf",
        "",
        any_object(),
        |arguments: Arguments, ctx: ToolContext| async move {
            let name = arguments.value()["name"]
                .as_str()
                .unwrap_or("leaf")
                .to_owned();
            ctx.defer_context(context(&name));
            ctx.conclude_turn();
            Ok::<Value, BoxError>(name.into())
        },
    )
    .presentation_meta(|_| Ok(json!(1)));
    let outer = composite("outer", |arguments, ctx| async move {
        ctx.defer_context(context("before"));
        let first = ctx.call_tool("leaf", r#"{"name":"a"}"#).await?;
        let second = ctx.call_tool("leaf", r#"{"name":"b"}"#).await?;
        assert_eq!((first.meta(), second.meta()), (None, None));
        ctx.defer_context(context("after"));
        if arguments["forwards"] == true && (first.concludes_turn() || second.concludes_turn()) {
            ctx.conclude_turn();
        }
        if arguments["fails"] == true {
            return Err("the composite broke".into());
        }
        Ok(json!(first.is_error()))
    });
    let pipeline = Pipeline::builder(registry([leaf, outer]))
        .post_execute(|post: &PostRequest| {
            let vetoed = post.call().parent().is_some() && post.call().root_id().as_str() == "veto";
            if vetoed {
                PostDecision::block_with("vetoed")
            } else {
                PostDecision::accept()
            }
        })
        .build();
    let all = ["before", "a", "b", "after"].as_slice();
    for (id, arguments, text, concludes, contexts) in [
        ("plain", "{}", "false", false, all),
        ("forwards", r#"{"forwards":true}"#, "false", true, all),
        (
            "veto",
            r#"{"forwards":true}"#,
            "true",
            false,
            &["before", "after"],
        ),
        (
            "fails",
            r#"{"forwards":true,"fails":true}"#,
            "Error: the composite broke",
            false,
            all,
        ),
    ] {
        let result = pipeline
            .call(id, "outer", arguments, CancellationToken::new())
            .await;
        assert_eq!(
            (result.text().as_str(), result.concludes_turn()),
            (text, concludes),
            "{id}"
        );
        assert_eq!(texts(result.contexts()), contexts, "{id}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_reaches_every_level_and_every_level_is_answered() {
    let told = Log::<String>::default();
    let notified = told.clone();
    let waiting = raw_tool(
        "wait",
        "",
        any_object(),
        |_: Arguments, ctx: ToolContext| async move {
            ctx.cancellation().cancelled().await;
            tokio::time::sleep(Duration::from_millis(10)).await;
            Ok::<Value, BoxError>(1.into())
        },
    );
    let outer = composite("outer", |_, ctx| async move {
        Ok(ctx.call_tool("wait", "{}").await?.text().into())
    });
    let pipeline = Pipeline::builder(registry([waiting, outer]))
        .observer(move |call: &CallView, result: &ToolResult| {
            notified.push(format!("{} {}", call.id(), result.code().unwrap_or("none")));
        })
        .build();
    let cancel = CancellationToken::new();
    let mut call = tokio_test::task::spawn(pipeline.call("1", "outer", "{}", cancel.clone()));
    assert!(call.poll().is_pending());
    cancel.cancel();
    call.await;
    assert_eq!(told.take(), ["1:call:1 ABORTED", "1 ABORTED"]);

    // Dropped: the nested call is driven to its end before the outer one is
    // told, and the caller's token is left alone.
    let caller = CancellationToken::new();
    let mut call = tokio_test::task::spawn(pipeline.call("2", "outer", "{}", caller.clone()));
    assert!(call.poll().is_pending());
    drop(call);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(told.take(), ["2:call:1 ABORTED", "2 ABORTED"]);
    assert!(!caller.is_cancelled());
}

#[tokio::test]
async fn a_tool_that_calls_itself_ends() {
    let depth = Counter::default();
    let count = depth.clone();
    let again = composite("again", move |_, ctx| {
        count.add();
        async move {
            match ctx.call_tool("again", "{}").await {
                Ok(result) => Ok(result.text().into()),
                Err(error) => Ok(error.to_string().into()),
            }
        }
    });
    let pipeline = Pipeline::builder(registry([again])).build();
    let result = pipeline.run(request("again", "{}")).await;
    assert_eq!(
        result.text(),
        "expected calls nested at most 16 deep, found more"
    );
    assert_eq!(depth.get(), 17);
}

#[tokio::test]
async fn a_nested_failure_is_a_result_and_a_missing_pipeline_an_error() {
    let outer = composite("outer", |_, ctx| async move {
        let unknown = ctx.call_tool("nobody", "{}").await?;
        let lossy = ctx.call_tool("echo", r#"{"a":1,"a":2}"#).await?;
        Ok(json!([unknown.code(), lossy.code()]))
    });
    let kept: Arc<Mutex<Option<ToolContext>>> = Arc::default();
    let keep = kept.clone();
    let keeps = composite("keeps", move |_, ctx| {
        *keep.lock().unwrap() = Some(ctx);
        async { Ok(Value::Null) }
    });
    let known = registry([outer, echo("echo"), keeps]);
    let pipeline = Pipeline::builder(known.clone()).build();
    let result = pipeline.run(request("outer", "{}")).await;
    assert_eq!(
        result.value(),
        Some(&json!([codes::UNKNOWN_TOOL, codes::INVALID_ARGS]))
    );

    // A context that outlives the pipeline has no way back.
    pipeline.run(request("keeps", "{}")).await;
    drop(pipeline);
    let old = kept.lock().unwrap().take().unwrap();
    assert_eq!(
        old.call_tool("echo", "{}").await.unwrap_err(),
        CallToolError::PipelineGone
    );

    // A leaf that was put together by hand has none either.
    let stack = tower::ServiceBuilder::new()
        .layer(toolfall::ResultNotifyLayer::new().catalog(known.catalog()))
        .layer(toolfall::ApprovalLayer::unavailable())
        .layer(toolfall::GuardLayer::new(|_: &CallView| None::<Denial>))
        .service(ToolService::new(known));
    let result = stack.oneshot(request("outer", "{}")).await.unwrap();
    assert_eq!(
        result.text(),
        "Error: expected a pipeline to call through, found none"
    );
}

#[tokio::test]
async fn progress_of_every_level_reaches_the_callers_sink() {
    let steps = Log::<String>::default();
    let told = steps.clone();
    let leaf = composite("leaf", |_, ctx| async move {
        ctx.progress(Progress {
            done: 1.0,
            total: Some(2.0),
            message: None,
        });
        Ok(Value::Null)
    });
    let outer = composite("outer", |_, ctx| async move {
        ctx.progress(Progress {
            done: 0.5,
            ..Progress::default()
        });
        ctx.call_tool("leaf", "{}").await?;
        Ok(Value::Null)
    });
    let pipeline = Pipeline::builder(registry([leaf, outer])).build();
    let sink = ProgressSink::new(move |call: &CallView, step: Progress| {
        told.push(format!("{} {} {:?}", call.id(), step.done, step.total));
    });
    pipeline
        .run(request("outer", "{}").with_extension(sink))
        .await;
    assert_eq!(
        steps.take(),
        ["call_1 0.5 None", "call_1:call:1 1 Some(2.0)"]
    );
    // Without one, progress goes nowhere.
    assert!(!pipeline.run(request("outer", "{}")).await.is_error());
    assert!(Extensions::new().get::<ProgressSink>().is_none());
}

#[tokio::test]
async fn nested_calls_need_no_slot_of_the_scheduler() {
    let runs = Counter::default();
    let outer = composite("outer", |_, ctx| async move {
        Ok(ctx.call_tool("leaf", "{}").await?.text().into())
    });
    let pipeline = Pipeline::builder(registry([outer, returns("leaf", 1.into(), &runs)])).build();
    let cancel = CancellationToken::new();
    let calls = (0..3).map(|_| CallRequest::new("same", "outer", "{}", cancel.clone()));
    let one = std::num::NonZeroUsize::MIN;
    let report = pipeline
        .scheduler()
        .limit(one)
        .batch(calls, cancel.clone())
        .run()
        .await;
    let texts: Vec<String> = report
        .committed
        .iter()
        .map(|call| call.result.text())
        .collect();
    assert_eq!((texts, runs.get()), (vec!["1".to_owned(); 3], 3));
}
