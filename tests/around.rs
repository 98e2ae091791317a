//! Layers of a user's own around the dispatch.

#[path = "support/facade.rs"]
mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use support::{
    Counter, Log, any_object, context, delegate, registry, request, returns, texts, wrapper,
};
use tokio_util::sync::CancellationToken;
use toolfall::{
    Arguments, BoxError, Call as _, CodedError, ContentBlock, Effect, ErrorInfo, Pipeline,
    PostDecision, PostRequest, Registration, Registry, RetryLayer, ToolContext, ToolDef,
    ToolOutcome, codes, raw_tool,
};

fn text(name: &'static str, runs: &Counter) -> ToolDef {
    returns(name, "body".into(), runs)
        .output_schema(json!({"type": "string"}))
        .render(|value| {
            Ok(vec![ContentBlock::text(format!(
                "<{}>",
                value.as_str().unwrap()
            ))])
        })
        .presentation_meta(|value| Ok(json!({ "of": value })))
}

/// conformance: DISP-01, PRE-07
#[tokio::test]
async fn a_call_falls_through_the_stages_in_their_order() {
    let log = Log::<String>::default();
    let [pre, outer, inner, body, post] = std::array::from_fn(|_| log.clone());
    let tool = raw_tool(
        "t",
        "",
        any_object(),
        move |_: Arguments, _: ToolContext| {
            body.push("body");
            async { Ok::<Value, BoxError>(1.into()) }
        },
    );
    let onion = move |log: Log, name: &'static str| {
        wrapper(move |call, inside| {
            let log = log.clone();
            async move {
                log.push(format!("{name} before"));
                let outcome = delegate(inside, call).await;
                log.push(format!("{name} after"));
                outcome
            }
        })
    };
    let pipeline = Pipeline::builder(registry([tool]))
        .pre_decision(move |_: &toolfall::CallView| {
            pre.push("pre");
            toolfall::Decision::Allow
        })
        .around(tower::util::MapRequestLayer::new(
            move |call: toolfall::ClearedCall| {
                outer.push("outer");
                call
            },
        ))
        .around(onion(inner, "inner"))
        .post_execute(move |_: &PostRequest| {
            post.push("post");
            PostDecision::accept()
        })
        .build();
    pipeline.run(request("t", "{}")).await;
    assert_eq!(
        log.take(),
        [
            "pre",
            "outer",
            "inner before",
            "body",
            "inner after",
            "post"
        ]
    );
}

/// conformance: DISP-02, DISP-03, DISP-33, OUT-20
#[tokio::test]
async fn a_wrapper_and_the_post_stage_see_a_failure_and_no_raw_error() {
    for panics in [false, true] {
        let seen = Log::<String>::default();
        let [around, posted] = std::array::from_fn(|_| seen.clone());
        let tool = raw_tool(
            "t",
            "",
            any_object(),
            move |_: Arguments, _: ToolContext| async move {
                assert!(!panics, "it fell");
                Err::<Value, _>(CodedError::new("DiskError", "DISK", "it broke"))
            },
        );
        let told = |outcome: &ToolOutcome| format!("{:?} {:?}", outcome.message(), outcome.code());
        let pipeline = Pipeline::builder(registry([tool]))
            .around(wrapper(move |call, inner| {
                let around = around.clone();
                async move {
                    let outcome = delegate(inner, call).await?;
                    around.push(told(&outcome));
                    Ok(outcome)
                }
            }))
            .post_execute(move |post: &PostRequest| {
                posted.push(told(post.outcome()));
                PostDecision::accept()
            })
            .build();
        let result = pipeline.run(request("t", "{}")).await;
        let expected = if panics {
            "Some(\"it fell\") None"
        } else {
            "Some(\"it broke\") Some(\"DISK\")"
        };
        assert_eq!(seen.take(), [expected, expected]);
        assert_eq!(
            result.message(),
            Some(if panics { "it fell" } else { "it broke" })
        );
    }
}

/// conformance: DISP-04, DISP-05, DISP-06, DISP-07, DISP-08, DISP-09, DISP-12, DISP-13, DISP-34,
/// DISP-37, POST-19, OUT-16, OUT-17, OUT-21, CTX-06
#[allow(clippy::too_many_lines, reason = "one table")]
#[tokio::test]
async fn what_a_wrapper_makes_is_judged_and_what_it_passes_on_is_trusted() {
    let (runs, renders, posts) = (Counter::default(), Counter::default(), Counter::default());
    let [count_runs, count_renders, count_posts] = [runs.clone(), renders.clone(), posts.clone()];
    let tool = raw_tool(
        "t",
        "",
        any_object(),
        move |_: Arguments, ctx: ToolContext| {
            count_runs.add();
            ctx.defer_context(context("body's"));
            async { Ok::<Value, BoxError>("body".into()) }
        },
    )
    .output_schema(json!({"type": "string"}))
    .render(move |value| {
        count_renders.add();
        Ok(vec![ContentBlock::text(format!(
            "<{}>",
            value.as_str().unwrap()
        ))])
    });
    let pipeline = Pipeline::builder(registry([tool]))
        .around(wrapper(|call, inner| async move {
            let id = call.id().as_str().to_owned();
            let shown = vec![ContentBlock::text("as I say")];
            Ok(match &*id {
                "success" => ToolOutcome::success("mine").with_content(shown),
                "context" => ToolOutcome::success("mine").with_context(context("mine")),
                "failure" => ToolOutcome::failure("not today")
                    .with_info(ErrorInfo::new("Mine", "MINE"))
                    .with_content(shown)
                    .with_meta(json!({"m": 1}))
                    .with_context(context("mine")),
                "invalid" => ToolOutcome::success(7),
                "error" => {
                    delegate(inner, call).await?;
                    return Err("wrapper broke".into());
                }
                "panic" => {
                    delegate(inner, call).await?;
                    panic!("wrapper fell")
                }
                "copy" => delegate(inner, call)
                    .await?
                    .with_context(context("wrapper's")),
                "drawn" => delegate(inner, call).await?.with_content(shown),
                "ignored" => {
                    let outcome = delegate(inner, call).await?;
                    let _thrown_away = outcome.clone().with_content(shown).concluding_turn();
                    outcome
                }
                _ => delegate(inner, call).await?,
            })
        }))
        .post_execute(move |post: &PostRequest| {
            count_posts.add();
            let _thrown_away = post.outcome().clone().with_content(Vec::new());
            PostDecision::accept()
        })
        .build();
    let none: [&str; 0] = [];
    let invalid = "Error: tool \"t\" returned invalid output: \"value\" must be a string";
    for (id, text, contexts, ran, rendered, posted) in [
        ("plain", "<body>", &["body's"][..], 1, 1, 1),
        ("ignored", "<body>", &["body's"], 1, 1, 1),
        ("success", "<mine>", &none, 0, 1, 1),
        ("context", "<mine>", &["mine"], 0, 1, 1),
        ("failure", "as I say", &["mine"], 0, 0, 1),
        ("copy", "<body>", &["body's", "wrapper's"], 1, 2, 1),
        ("drawn", "<body>", &["body's"], 1, 2, 1),
        ("invalid", invalid, &none, 0, 0, 0),
        ("error", "Error: wrapper broke", &none, 1, 1, 0),
        ("panic", "Error: wrapper fell", &none, 1, 1, 0),
    ] {
        let before = (runs.get(), renders.get(), posts.get());
        let result = pipeline.call(id, "t", "{}", CancellationToken::new()).await;
        assert_eq!(result.text(), text, "{id}");
        assert_eq!(texts(result.contexts()), contexts, "{id}");
        let after = (
            runs.get() - before.0,
            renders.get() - before.1,
            posts.get() - before.2,
        );
        assert_eq!(
            after,
            (ran, rendered, posted),
            "{id}: ran, rendered, posted"
        );
        assert_eq!(result.value().is_some(), !result.is_error());
        if id == "failure" {
            assert_eq!(
                (result.code(), result.message()),
                (Some("MINE"), Some("not today"))
            );
            assert_eq!(result.meta(), Some(&json!({"m": 1})));
        }
        let expected = if ran == 1 {
            Effect::Stopped
        } else {
            Effect::NotStarted
        };
        assert_eq!(result.effect(), expected, "{id}");
    }
}

/// conformance: DISP-11, OUT-18
#[tokio::test]
async fn a_result_is_trusted_only_for_the_call_that_made_it() {
    let runs = Counter::default();
    let number = returns("number", 42.into(), &Counter::default());
    let cached: Arc<Mutex<Option<ToolOutcome>>> = Arc::default();
    let pipeline = Pipeline::builder(registry([number, text("text", &runs)]))
        .around(wrapper(move |call, inner| {
            let cached = cached.clone();
            async move {
                let known = cached.lock().unwrap().clone();
                if let Some(outcome) = known {
                    return Ok(outcome);
                }
                let outcome = delegate(inner, call).await?;
                *cached.lock().unwrap() = Some(outcome.clone());
                Ok(outcome)
            }
        }))
        .build();
    assert_eq!(pipeline.run(request("number", "{}")).await.text(), "42");
    let result = pipeline.run(request("text", "{}")).await;
    assert_eq!(result.code(), Some(codes::INVALID_TOOL_OUTPUT));
    assert_eq!(runs.get(), 0);
}

type Held = Arc<Mutex<Option<Registration>>>;

fn held(registry: &Registry, tool: ToolDef) -> Held {
    Arc::new(Mutex::new(Some(registry.register(tool).unwrap())))
}

/// conformance: DISP-10, DISP-24, POST-14, OUT-13
#[tokio::test]
async fn a_tool_that_left_is_unknown_from_then_on() {
    for stage in ["pre", "around", "post"] {
        let registry = Registry::new();
        let runs = Counter::default();
        let held = held(&registry, text("echo", &runs));
        let leave = move |at: &str| {
            if at == stage {
                drop(held.lock().unwrap().take());
            }
        };
        let [in_pre, in_around, in_post] = [leave.clone(), leave.clone(), leave];
        let pipeline = Pipeline::builder(registry)
            .pre_decision(move |_: &toolfall::CallView| {
                in_pre("pre");
                toolfall::Decision::Allow
            })
            .around(wrapper(move |call, inner| {
                in_around("around");
                async move {
                    match stage {
                        "around" => Ok(ToolOutcome::success("mine")),
                        _ => delegate(inner, call).await,
                    }
                }
            }))
            .post_execute(move |_: &PostRequest| {
                in_post("post");
                match stage {
                    "post" => PostDecision::replace_value("other".into()),
                    _ => PostDecision::accept(),
                }
            })
            .build();
        let result = pipeline.run(request("echo", "{}")).await;
        assert_eq!(result.message(), Some("unknown tool \"echo\""), "{stage}");
        let info = result.info().unwrap();
        assert_eq!(
            (info.name(), info.code()),
            ("ToolNotFoundError", codes::UNKNOWN_TOOL)
        );
        assert_eq!(runs.get(), usize::from(stage == "post"));
    }
}

/// conformance: DISP-15, DISP-16, DISP-19, DISP-29, TIME-03, TIME-04
#[tokio::test]
async fn a_replaced_token_is_seen_inside_only() {
    let tokens = Log::<(CancellationToken, CancellationToken)>::default();
    let mine = CancellationToken::new();
    let replacement = mine.clone();
    let seen = tokens.clone();
    let tool = raw_tool(
        "t",
        "",
        any_object(),
        |_: Arguments, ctx: ToolContext| async move {
            assert!(!ctx.cancellation().is_cancelled());
            Ok::<Value, BoxError>(1.into())
        },
    );
    let pipeline = Pipeline::builder(registry([tool]))
        .around(wrapper(move |call, inner| {
            seen.push((
                call.cancellation().clone(),
                call.view().cancellation().clone(),
            ));
            let replaced = call.with_cancellation(replacement.clone());
            seen.push((
                replaced.cancellation().clone(),
                replaced.view().cancellation().clone(),
            ));
            delegate(inner, replaced)
        }))
        .post_execute(|post: &PostRequest| {
            // Whatever a wrapper put in its place, here is the caller's own.
            post.call().cancellation().cancel();
            PostDecision::accept()
        })
        .build();
    let caller = CancellationToken::new();
    let result = pipeline.call("c", "t", "{}", caller.clone()).await;
    assert!(caller.is_cancelled() && !mine.is_cancelled());
    assert_eq!(result.code(), Some(codes::ABORTED));
    let tokens = tokens.take();
    // On entry both are the caller's; after the replacement only one is.
    assert!(tokens[0].0.is_cancelled() && tokens[0].1.is_cancelled());
    assert!(!tokens[1].0.is_cancelled() && tokens[1].1.is_cancelled());
}

/// Waits for its token and then returns normally.
fn obedient(entered: &Counter) -> ToolDef {
    let entered = entered.clone();
    raw_tool(
        "wait",
        "",
        any_object(),
        move |_: Arguments, ctx: ToolContext| {
            let entered = entered.clone();
            async move {
                entered.add();
                ctx.cancellation().cancelled().await;
                Ok::<Value, BoxError>("stopped".into())
            }
        },
    )
}

/// conformance: DISP-17, DISP-18, DISP-21, DISP-22, DISP-23, DISP-39
#[tokio::test(start_paused = true)]
async fn a_wrapper_can_never_detach_the_caller() {
    let entered = Counter::default();
    let mine = CancellationToken::new();
    let inside = Log::<String>::default();
    let (replacement, seen) = (mine.clone(), inside.clone());
    let pipeline = Pipeline::builder(registry([obedient(&entered)]))
        .around(wrapper(move |call, inner| {
            let (replacement, seen) = (replacement.clone(), seen.clone());
            async move {
                if call.id().as_str() == "late" {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                let call = call.with_cancellation(replacement);
                let outcome = delegate(inner, call).await?;
                seen.push(outcome.code().unwrap_or("none"));
                Ok(outcome)
            }
        }))
        .build();
    // The caller cancels a running body through the replacement.
    let caller = CancellationToken::new();
    let mut call = tokio_test::task::spawn(pipeline.call("c", "wait", "{}", caller.clone()));
    assert!(call.poll().is_pending());
    caller.cancel();
    assert!(call.is_woken());
    let result = call.await;
    assert_eq!(
        (result.text().as_str(), mine.is_cancelled()),
        ("Error: tool call aborted", false)
    );
    assert_eq!((inside.take().len(), entered.get()), (1, 1));

    // The caller cancels while the wrapper still waits.
    let caller = CancellationToken::new();
    let mut call = tokio_test::task::spawn(pipeline.call("late", "wait", "{}", caller.clone()));
    assert!(call.poll().is_pending());
    caller.cancel();
    assert_eq!(call.await.code(), Some(codes::ABORTED_BEFORE_DISPATCH));
    assert_eq!(
        (inside.take(), entered.get()),
        (vec!["ABORTED_BEFORE_DISPATCH".to_owned()], 1)
    );

    // The wrapper's own token: the running body stops as well.
    let mut call =
        tokio_test::task::spawn(pipeline.call("c", "wait", "{}", CancellationToken::new()));
    assert!(call.poll().is_pending());
    mine.cancel();
    assert_eq!(call.await.text(), "Error: tool call aborted");
    assert_eq!(
        (inside.take(), entered.get()),
        (vec!["ABORTED".to_owned()], 2)
    );

    // And is asked before the tool is looked for.
    for name in ["wait", "nobody"] {
        let result = pipeline.run(request(name, "{}")).await;
        assert_eq!(result.text(), "Error: tool call aborted before dispatch");
        assert_eq!(result.code(), Some(codes::ABORTED_BEFORE_DISPATCH));
    }
    assert_eq!(entered.get(), 2);
}

/// conformance: DISP-14
#[tokio::test]
async fn a_wrapper_that_fails_after_a_cancellation_keeps_its_failure() {
    let pipeline = Pipeline::builder(registry([text("t", &Counter::default())]))
        .around(wrapper(|call, _| async move {
            call.cancellation().cancel();
            Err(CodedError::new("WrapError", "WRAP", "wrapper broke").into())
        }))
        .build();
    let result = pipeline.run(request("t", "{}")).await;
    assert_eq!(
        (result.text().as_str(), result.code()),
        ("Error: wrapper broke", Some("WRAP"))
    );
}

/// conformance: DISP-27, DISP-30, DISP-31
#[tokio::test(start_paused = true)]
async fn a_retry_runs_everything_inside_it_again() {
    let (runs, wraps) = (Counter::default(), Counter::default());
    let [count_runs, count_wraps] = [runs.clone(), wraps.clone()];
    let tool = raw_tool(
        "t",
        "",
        any_object(),
        move |_: Arguments, _: ToolContext| {
            count_runs.add();
            let attempt = count_runs.get();
            async move {
                match attempt {
                    1 | 2 => Err("not yet"),
                    _ => Ok(Value::from(attempt)),
                }
            }
        },
    )
    .repeatable();
    let pipeline = Pipeline::builder(registry([tool]))
        .retry(RetryLayer::new(std::num::NonZeroU32::new(3).unwrap()))
        .around(tower::util::MapRequestLayer::new(
            move |call: toolfall::ClearedCall| {
                count_wraps.add();
                call
            },
        ))
        .build();
    assert_eq!(pipeline.run(request("t", "{}")).await.text(), "3");
    assert_eq!((runs.get(), wraps.get()), (3, 3));
}

/// conformance: DISP-35
#[tokio::test(start_paused = true)]
async fn bodies_that_a_wrapper_leaves_are_seen_to_their_end() {
    let (entered, ended) = (Counter::default(), Counter::default());
    let [count_entered, count_ended] = [entered.clone(), ended.clone()];
    let tool = raw_tool(
        "slow",
        "",
        any_object(),
        move |_: Arguments, ctx: ToolContext| {
            let (entered, ended) = (count_entered.clone(), count_ended.clone());
            async move {
                entered.add();
                ctx.defer_context(context(&format!("body {}", entered.get())));
                ctx.cancellation().cancelled().await;
                tokio::time::sleep(Duration::from_millis(50)).await;
                ended.add();
                Ok::<Value, BoxError>("stopped".into())
            }
        },
    );
    let pipeline = Pipeline::builder(registry([tool]))
        .around(wrapper(|call, inner| async move {
            let dropped = tokio::time::timeout(Duration::from_millis(10), delegate(inner, call));
            match dropped.await {
                Ok(outcome) => outcome,
                Err(_) => Ok(ToolOutcome::failure("no patience")),
            }
        }))
        .build();
    let started = tokio::time::Instant::now();
    let result = pipeline.run(request("slow", "{}")).await;
    assert_eq!(result.text(), "Error: no patience");
    assert_eq!(
        (entered.get(), ended.get(), result.effect()),
        (1, 1, Effect::Stopped)
    );
    assert!(
        started.elapsed() >= Duration::from_millis(60),
        "the body was waited for"
    );
    assert_eq!(texts(result.contexts()), ["body 1"]);
}
