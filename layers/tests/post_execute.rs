//! The post-execute stage: accept, replace, block.

mod support;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use support::{
    CallService, Leaf, Log, Shelf, Tool, assert_shareable, context, polls, request, request_with,
    texts,
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

fn judged<P>(shelf: &Shelf, layer: PostExecuteLayer<P>, leaf: Leaf) -> impl CallService
where
    P: Policy<PostRequest, PostDecision, Future: Send + 'static> + Clone + Send + Sync + 'static,
{
    ServiceBuilder::new()
        .layer(shelf.stage())
        .layer(layer)
        .layer(ApprovalLayer::unavailable())
        .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
        .service(leaf)
}

fn plain() -> Shelf {
    Shelf::of(Tool::default())
}

/// Runs a call whose body returns 1 and defers a context.
async fn decided(decision: PostDecision) -> ToolResult {
    let layer = PostExecuteLayer::new(move |_: &PostRequest| decision.clone());
    judged(&plain(), layer, succeeding())
        .run(request("echo"))
        .await
}

fn succeeding() -> Leaf {
    Leaf::new(|body: BodyContext| async move {
        body.defer_context(context("deferred"));
        body.conclude_turn();
        Ok(json!(1))
    })
}

fn text(text: &str) -> Vec<ContentBlock> {
    vec![ContentBlock::text(text)]
}

/// conformance: POST-02, POST-24, CTX-21
#[tokio::test]
async fn replaced_content_is_presentation_only() {
    let result = decided(PostDecision::replace_content(text("shown instead"))).await;
    assert_eq!(result.text(), "shown instead");
    assert_eq!(result.value(), Some(&json!(1)));
    assert_eq!(result.meta(), Some(&json!({"shown": true})));
    assert!(result.concludes_turn());
    assert_eq!(texts(result.contexts()), ["deferred"]);
}

/// conformance: POST-03, POST-20, CTX-21
#[tokio::test]
async fn a_replaced_value_is_judged_and_rendered_by_the_tool() {
    let decision = PostDecision::replace_value(json!(2)).with_context(context("post"));
    let result = decided(decision).await;
    assert_eq!(result.value(), Some(&json!(2)));
    assert_eq!(result.text(), "value: 2");
    assert_eq!(texts(result.contexts()), ["deferred", "post"]);
    assert!(result.concludes_turn());
}

/// conformance: POST-04
#[tokio::test]
async fn no_context_appears_that_nobody_attached() {
    let layer = PostExecuteLayer::new(|_: &PostRequest| PostDecision::replace_value(json!(2)));
    let result = judged(&plain(), layer, Leaf::returning(1))
        .run(request("echo"))
        .await;
    assert!(result.contexts().is_empty());
}

/// conformance: POST-06, FINAL-09
#[tokio::test]
async fn a_replaced_value_that_the_tool_refuses_is_a_broken_output() {
    let shelf = Shelf::of(Tool {
        render: Some(Box::new(|value| match value.as_i64() {
            Some(1) => Ok("one".into()),
            Some(_) => Err("only 1".into()),
            None => panic!("render bug"),
        })),
        ..Tool::default()
    });
    for (value, violation) in [
        (json!(2), "only 1"),
        (json!("x"), "output.render failed: render bug"),
    ] {
        let layer = PostExecuteLayer::new(move |_: &PostRequest| {
            PostDecision::replace_value(value.clone())
        });
        let result = judged(&shelf, layer, Leaf::returning(1))
            .run(request("echo"))
            .await;
        assert_eq!(
            result.code(),
            Some(codes::INVALID_TOOL_OUTPUT),
            "{result:?}"
        );
        assert!(
            result.message().unwrap().ends_with(violation),
            "{:?}",
            result.message()
        );
        assert!(result.value().is_none());
    }
}

/// conformance: POST-07, POST-21, CTX-04
#[tokio::test]
async fn a_block_withholds_the_outcome_and_shows_the_feedback_as_it_is() {
    let decision = PostDecision::block_with("not for you")
        .with_context(context("block"))
        .by_rule("secrets");
    let result = decided(decision).await;
    assert_eq!(result.text(), "not for you");
    assert_eq!(result.message(), Some("not for you"));
    assert!(result.is_error() && result.info().is_none() && result.value().is_none());
    assert_eq!(result.kind(), Some(FailureKind::Blocked));
    assert_eq!(
        result.decided_by(),
        Some(&DecidedBy::PostPolicy(Some("secrets".into())))
    );
    assert!(!result.concludes_turn());
    assert_eq!(texts(result.contexts()), ["block"]);
    assert_eq!(result.effect(), Effect::Stopped, "the body did run");
}

/// conformance: POST-08, POST-09, POST-10
#[tokio::test]
async fn the_message_of_a_block_tells_texts_and_only_the_kinds_of_the_rest() {
    let private = ContentBlock::Reasoning {
        text: "private".into(),
    };
    let picture = ContentBlock::Image {
        data: "AA==".into(),
        mime_type: "image/png".into(),
    };
    for (feedback, message) in [
        (vec![], "tool result blocked by post-execute policy"),
        (text(""), "tool result blocked by post-execute policy"),
        (vec![private.clone()], "[reasoning content]"),
        (
            vec![
                ContentBlock::text("a"),
                picture,
                private,
                ContentBlock::text("b"),
            ],
            "a\n[image content]\n[reasoning content]\nb",
        ),
    ] {
        let result = decided(PostDecision::block(feedback.clone())).await;
        assert_eq!(result.message(), Some(message));
        assert_eq!(result.content(), feedback);
    }
}

/// conformance: POST-12, POST-13
#[tokio::test]
async fn of_a_failure_only_the_content_can_be_replaced() {
    let failing = || Leaf::new(|_| async { Err("broken".into()) });
    let value = PostExecuteLayer::new(|_: &PostRequest| PostDecision::replace_value(json!(1)));
    let result = judged(&plain(), value, failing())
        .run(request("echo"))
        .await;
    assert_eq!(
        result.message(),
        Some("tools/post-execute cannot replace the value of a failed result")
    );
    assert!(result.info().is_none());
    let content =
        PostExecuteLayer::new(|_: &PostRequest| PostDecision::replace_content(text("softer")));
    let result = judged(&plain(), content, failing())
        .run(request("echo"))
        .await;
    assert_eq!(result.text(), "softer");
    assert_eq!(result.message(), Some("broken"));
    assert_eq!(result.kind(), Some(FailureKind::Body));
}

/// conformance: POST-14
#[tokio::test]
async fn a_value_for_a_tool_that_is_gone_is_an_unknown_tool() {
    let shelf = plain();
    let registry = shelf.clone();
    let layer = PostExecuteLayer::new(move |_: &PostRequest| {
        registry.put(None);
        PostDecision::replace_value(json!(2))
    });
    let result = judged(&shelf, layer, Leaf::returning(1))
        .run(request("echo"))
        .await;
    assert_eq!(result.code(), Some(codes::UNKNOWN_TOOL));
    assert_eq!(result.message(), Some("unknown tool \"echo\""));
}

/// conformance: POST-15, POST-16, CTX-06
#[tokio::test]
async fn a_failing_policy_replaces_the_outcome_by_its_failure() {
    let layer = PostExecuteLayer::new(|_: &PostRequest| Err::<PostDecision, _>("post hook broke"));
    let result = judged(&plain(), layer, succeeding())
        .run(request("echo"))
        .await;
    assert_eq!(result.text(), "Error: post hook broke");
    assert!(result.info().is_none() && result.value().is_none());
    assert!(result.contexts().is_empty());
    assert_eq!(result.decided_by(), Some(&DecidedBy::PostPolicy(None)));
    let layer = PostExecuteLayer::new(|_: PostRequest| async {
        polls(1).await;
        Err::<PostDecision, _>(CodedError::new("AuditError", "AUDIT", "no audit"))
    });
    let result = judged(&plain(), layer, succeeding())
        .run(request("echo"))
        .await;
    assert_eq!(result.code(), Some("AUDIT"));
    assert_eq!(result.effect(), Effect::Stopped);
}

/// conformance: POST-25
#[tokio::test]
async fn a_panicking_policy_is_a_failing_one() {
    let at_once = PostExecuteLayer::new(|post: &PostRequest| {
        assert!(post.call().name() != "echo", "sync bug");
        PostDecision::accept()
    });
    let stack = judged(&plain(), at_once, succeeding());
    let result = stack.run(request("echo")).await;
    assert_eq!(result.text(), "Error: sync bug");
    assert_eq!(result.kind(), Some(FailureKind::Policy));
    assert!(!stack.run(request("other")).await.is_error());
    let later = PostExecuteLayer::new(|_: PostRequest| async {
        polls(1).await;
        support::bug("async bug");
        PostDecision::accept()
    });
    let result = judged(&plain(), later, succeeding())
        .run(request("echo"))
        .await;
    assert_eq!(result.text(), "Error: async bug");
}

#[tokio::test(start_paused = true)]
async fn a_policys_own_timeout_is_not_the_tools() {
    let slow = service_fn(|_: PostRequest| async {
        tokio::time::sleep(Duration::from_secs(60)).await;
        Ok::<_, BoxError>(PostDecision::accept())
    });
    let policy = tower::timeout::TimeoutLayer::new(Duration::from_secs(1)).layer(slow);
    let layer = PostExecuteLayer::new(policy);
    let result = judged(&plain(), layer, succeeding())
        .run(request("echo"))
        .await;
    assert_eq!(result.code(), None);
    assert_eq!(result.kind(), Some(FailureKind::Policy));
}

/// conformance: POST-17, EXEC-34, EXEC-36, DISP-28
#[tokio::test]
async fn unknown_tools_pass_every_stage_and_come_here() {
    let log = Log::default();
    let [pre, around, post] = [(); 3].map(|()| log.clone());
    let stack = ServiceBuilder::new()
        .layer(Shelf::default().stage())
        .layer(PostExecuteLayer::new(move |request: &PostRequest| {
            post.add(format!(
                "post {}",
                request.outcome().code().unwrap_or("none")
            ));
            PostDecision::accept()
        }))
        .layer(PreDecisionLayer::new(move |_: &CallView| {
            pre.add("pre");
            Decision::Allow
        }))
        .layer(ApprovalLayer::unavailable())
        .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
        .layer(support::Around(
            move |mut inner: Leaf, call: ClearedCall| {
                let around = around.clone();
                async move {
                    let outcome = tower_service::Service::call(&mut inner, call).await?;
                    around.add(format!("around {}", outcome.code().unwrap_or("none")));
                    Ok(outcome)
                }
            },
        ))
        .service(Leaf::returning(1));
    let result = stack.run(request("nope")).await;
    assert_eq!(result.text(), "Error: unknown tool \"nope\"");
    assert_eq!(result.code(), Some(codes::UNKNOWN_TOOL));
    assert_eq!(
        log.entries(),
        ["pre", "around UNKNOWN_TOOL", "post UNKNOWN_TOOL"]
    );
}

/// conformance: POST-19, DISP-03, DISP-04
#[tokio::test]
async fn what_a_policy_makes_of_its_copy_changes_nothing() {
    let layer = PostExecuteLayer::new(|post: &PostRequest| {
        assert_eq!(post.outcome().code(), Some("OWN"));
        let _mine = post
            .outcome()
            .clone()
            .with_content(text("mine"))
            .with_context(context("mine"))
            .with_info(ErrorInfo::new("Mine", "MINE"));
        PostDecision::accept()
    });
    let leaf = Leaf::new(|_| async { Err(CodedError::new("OwnError", "OWN", "own").into()) });
    let result = judged(&plain(), layer, leaf).run(request("echo")).await;
    assert_eq!(
        (result.text().as_str(), result.code()),
        ("Error: own", Some("OWN"))
    );
    assert!(result.contexts().is_empty());
}

/// conformance: POST-22, CTX-02
#[tokio::test]
async fn an_outer_listener_may_put_its_context_first() {
    let inner = |_: &PostRequest| PostDecision::accept().with_context(context("inner"));
    let layer = PostExecuteLayer::new(move |post: &PostRequest| {
        inner(post)
            .with_context_first(context("outer"))
            .with_context(context("last"))
    });
    let result = judged(&plain(), layer, succeeding())
        .run(request("echo"))
        .await;
    assert_eq!(
        texts(result.contexts()),
        ["deferred", "outer", "inner", "last"]
    );
}

/// conformance: CANCEL-11, CANCEL-12, CANCEL-13
#[tokio::test]
async fn a_cancellation_while_the_policy_waits_replaces_a_success_only() {
    #[derive(Clone, Copy)]
    enum Then {
        Accept,
        Fail,
        Block,
    }
    for then in [Then::Accept, Then::Fail, Then::Block] {
        let token = CancellationToken::new();
        let cancel = token.clone();
        let layer = PostExecuteLayer::new(move |_: PostRequest| {
            let cancel = cancel.clone();
            async move {
                polls(1).await;
                cancel.cancel();
                match then {
                    Then::Accept => Ok(PostDecision::accept().with_context(context("post"))),
                    Then::Fail => Err(CodedError::new("AuditError", "AUDIT", "no audit")),
                    Then::Block => Ok(PostDecision::block_with("blocked")),
                }
            }
        });
        let stack = judged(&plain(), layer, succeeding());
        let result = stack.run(request_with("echo", &token)).await;
        match then {
            Then::Accept => {
                assert_eq!(result.code(), Some(codes::ABORTED));
                assert_eq!(texts(result.contexts()), ["deferred", "post"]);
            }
            Then::Fail => assert_eq!(result.code(), Some("AUDIT")),
            Then::Block => assert_eq!(result.text(), "blocked"),
        }
    }
}

#[tokio::test]
async fn the_inner_future_is_gone_while_the_policy_waits() {
    let (service, mut handle) = mock::pair::<ToolCall, ToolOutcome>();
    let limited = ConcurrencyLimitLayer::new(1).layer(service);
    let mut other = mock::Spawn::new(limited.clone());
    let (answer, answered) = tokio::sync::watch::channel(false);
    let layer = PostExecuteLayer::new(move |_: PostRequest| {
        let mut answered = answered.clone();
        async move {
            answered.wait_for(|answered| *answered).await.ok();
            PostDecision::accept()
        }
    });
    let stage = layer.layer(limited);
    assert_shareable(&stage);
    let mut stage = mock::Spawn::new(stage);
    handle.allow(0);
    assert_pending!(stage.poll_ready(), "readiness is the inner service's");
    handle.allow(1);
    assert_ready_ok!(stage.poll_ready());
    let (call, _rest) = testing::tool_call(request("echo"));
    let mut outcome = task::spawn(stage.call(call));
    assert_pending!(outcome.poll());
    assert_pending!(other.poll_ready::<ToolCall>(), "the permit is in use");
    let (_, respond) = assert_ready!(task::spawn(handle.next_request()).poll()).unwrap();
    respond.send_response(ToolOutcome::failure("answer"));
    assert_pending!(outcome.poll());
    handle.allow(1);
    assert_ready_ok!(other.poll_ready::<ToolCall>(), "the permit is free again");
    answer.send(true).unwrap();
    assert_eq!(assert_ready_ok!(outcome.poll()).message(), Some("answer"));
}

#[tokio::test]
async fn an_inner_error_is_passed_on_and_the_policy_is_not_asked() {
    let log = Log::default();
    let seen = log.clone();
    let (service, mut handle) = mock::pair::<ToolCall, ToolOutcome>();
    let layer = PostExecuteLayer::new(move |_: &PostRequest| {
        seen.add("asked");
        PostDecision::accept()
    });
    let mut stage = mock::Spawn::new(layer.layer(service));
    assert_ready_ok!(stage.poll_ready());
    let (call, _rest) = testing::tool_call(request("echo"));
    let outcome = stage.call(call);
    let (_, respond) = handle.next_request().await.unwrap();
    respond.send_error("inner broke");
    assert_eq!(outcome.await.unwrap_err().to_string(), "inner broke");
    assert!(log.entries().is_empty());
}

#[tokio::test]
async fn in_a_batch_the_policy_waits_for_its_turn_to_commit() {
    let log = Log::default();
    let seen = log.clone();
    let layer = PostExecuteLayer::new(move |_: &PostRequest| {
        seen.add("asked");
        PostDecision::accept()
    });
    let stack = judged(&plain(), layer, Leaf::returning(1));
    let woken = Arc::new(futures_util::task::AtomicWaker::new());
    let (place, control) = turn(std::task::Waker::noop().clone());
    let mut call = task::spawn(stack.run(request("echo").with_turn(place)));
    assert_pending!(call.poll());
    assert!(control.has(Mark::Settled) && !control.has(Mark::Done));
    assert!(log.entries().is_empty());
    drop(woken);
    // A lost scheduler releases the wait.
    drop(control);
    assert!(call.is_woken());
    assert!(!assert_ready!(call.poll()).is_error());
    assert_eq!(log.entries(), ["asked"]);
}
