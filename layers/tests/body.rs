//! The body boundary: entering, tokens, contexts, panics, what is kept alive.

mod support;

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use serde_json::json;
use support::{
    Around, CallService, Leaf, Log, Shelf, Tool, around, bare, context, polls, request,
    request_with, settle, texts,
};
use tokio::time::sleep;
use tokio_test::{assert_pending, assert_ready, task};
use tokio_util::sync::CancellationToken;
use toolfall_layers::*;
use tower_service::Service as _;

fn plain() -> Shelf {
    Shelf::of(Tool::default())
}

/// conformance: EXEC-01, CTX-07
#[tokio::test]
async fn a_success_is_the_bodys_value_as_the_tool_renders_it() {
    let seen = Arc::new(Mutex::new(None));
    let slot = seen.clone();
    let stage = plain()
        .stage()
        .observer(move |_: &CallView, result: &ToolResult| {
            *slot.lock().unwrap() = Some(result.clone());
        });
    let stack = tower::ServiceBuilder::new()
        .layer(stage)
        .layer(ApprovalLayer::unavailable())
        .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
        .service(Leaf::returning(json!({"n": 1})));
    let result = stack.run(request("echo")).await;
    assert_eq!(result.value(), Some(&json!({"n": 1})));
    assert_eq!(result.text(), "value: {\"n\":1}");
    assert!(!result.is_error() && result.message().is_none() && result.info().is_none());
    assert!(result.contexts().is_empty() && !result.concludes_turn());
    assert!(seen.lock().unwrap().as_ref().unwrap().ptr_eq(&result));
}

/// conformance: EXEC-38, EXEC-39, EXEC-42
#[tokio::test]
async fn a_failing_body_is_told_with_its_message_and_its_code_if_it_has_one() {
    let uncoded = Leaf::new(|_| async { Err("disk full".into()) });
    let result = bare(&plain(), uncoded).run(request("echo")).await;
    assert_eq!(result.text(), "Error: disk full");
    assert!(result.info().is_none());
    assert_eq!(result.kind(), Some(FailureKind::Body));
    let coded =
        Leaf::new(|_| async { Err(CodedError::new("DiskError", "ENOSPC", "disk full").into()) });
    let result = bare(&plain(), coded).run(request("echo")).await;
    let info = result.info().unwrap();
    assert_eq!((info.name(), info.code()), ("DiskError", "ENOSPC"));
    // A body's own elapsed timer is the body's failure, not the pipeline's.
    let own = Leaf::new(|_| async { Err(tower::timeout::error::Elapsed::new().into()) });
    let result = bare(&plain(), own).run(request("echo")).await;
    assert_eq!(result.code(), None);
    assert_eq!(result.kind(), Some(FailureKind::Body));
}

/// conformance: EXEC-44, DISP-33
#[tokio::test]
async fn a_panicking_body_is_a_failure_that_wrappers_see_as_one() {
    let seen = Log::default();
    let log = seen.clone();
    let wrapper = Around(move |mut inner: Leaf, call| {
        let log = log.clone();
        async move {
            let outcome = inner.call(call).await?;
            log.add(outcome.message().unwrap_or("none").to_owned());
            Ok(outcome)
        }
    });
    let leaf = Leaf::made_by(|body: BodyContext| {
        assert!(body.call().name() != "start", "while starting");
        Box::pin(async move {
            polls(1).await;
            assert!(body.call().name() != "poll", "{} {}", "while", "polling");
            Ok(json!(1))
        })
    });
    let stack = around(&plain(), wrapper, leaf);
    let result = stack.run(request("start")).await;
    assert_eq!(result.text(), "Error: while starting");
    assert_eq!(result.effect(), Effect::Stopped);
    let result = stack.run(request("poll")).await;
    assert_eq!(result.text(), "Error: while polling");
    assert!(result.info().is_none());
    assert!(!stack.run(request("fine")).await.is_error());
    assert_eq!(seen.entries(), ["while starting", "while polling", "none"]);
}

/// conformance: EXEC-43, EXEC-45
#[tokio::test]
async fn what_cannot_be_rendered_is_told_as_unprintable() {
    #[derive(Debug)]
    struct Broken;
    impl std::fmt::Display for Broken {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("display bug")
        }
    }
    impl std::error::Error for Broken {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            panic!("source bug")
        }
    }
    #[derive(Debug)]
    struct Unwilling;
    impl std::fmt::Display for Unwilling {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            Err(std::fmt::Error)
        }
    }
    impl std::error::Error for Unwilling {}
    struct LoudPayload;
    impl Drop for LoudPayload {
        fn drop(&mut self) {
            std::panic::panic_any(LoudPayloadAgain);
        }
    }
    struct LoudPayloadAgain;
    impl Drop for LoudPayloadAgain {
        fn drop(&mut self) {
            panic!("payload of a payload");
        }
    }
    let leaf = Leaf::new(|body: BodyContext| async move {
        match body.call().name() {
            "display" => Err(Broken.into()),
            "error" => Err(Unwilling.into()),
            "payload" => std::panic::panic_any(7_u8),
            _ => std::panic::panic_any(LoudPayload),
        }
    });
    let stack = bare(&plain(), leaf);
    for name in ["display", "error", "payload", "loud"] {
        let result = stack.run(request(name)).await;
        assert_eq!(result.text(), "Error: <unprintable thrown value>", "{name}");
        assert_eq!(result.effect(), Effect::Stopped);
    }
}

#[tokio::test]
async fn an_error_chain_that_loops_is_walked_only_so_far() {
    #[derive(Debug)]
    struct Loop;
    impl std::fmt::Display for Loop {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("loop")
        }
    }
    impl std::error::Error for Loop {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(self)
        }
    }
    let stack = bare(&plain(), Leaf::new(|_| async { Err(Loop.into()) }));
    assert_eq!(stack.run(request("echo")).await.text(), "Error: loop");
}

#[tokio::test]
async fn a_destructor_of_a_body_that_panics_is_the_bodys_failure() {
    struct Loud;
    impl Drop for Loud {
        fn drop(&mut self) {
            panic!("destructor bug");
        }
    }
    /// Ready at once, and loud only when the finished future is dropped.
    struct Ready(#[allow(dead_code, reason = "dropped")] Loud, bool);
    impl Future for Ready {
        type Output = Result<serde_json::Value, BoxError>;
        fn poll(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Self::Output> {
            std::task::Poll::Ready(if self.1 {
                Ok(json!(1))
            } else {
                Err("own failure".into())
            })
        }
    }
    for (succeeds, message) in [(true, "destructor bug"), (false, "own failure")] {
        let leaf = Leaf::made_by(move |_| Box::pin(Ready(Loud, succeeds)));
        let result = bare(&plain(), leaf).run(request("echo")).await;
        assert_eq!(result.message(), Some(message));
    }
}

/// conformance: FINAL-03, FINAL-06
#[tokio::test]
async fn a_value_that_the_tool_refuses_is_a_broken_output() {
    let shelf = Shelf::of(Tool {
        render: Some(Box::new(|value| {
            assert!(!value.is_string(), "render bug");
            Err("\"value\" must be a string".into())
        })),
        ..Tool::default()
    });
    let result = bare(&shelf, Leaf::returning(1)).run(request("echo")).await;
    assert_eq!(
        result.message(),
        Some("tool \"echo\" returned invalid output: \"value\" must be a string")
    );
    assert_eq!(result.code(), Some(codes::INVALID_TOOL_OUTPUT));
    assert!(result.value().is_none());
    assert_eq!(result.effect(), Effect::Stopped);
    let result = bare(&shelf, Leaf::returning("x"))
        .run(request("echo"))
        .await;
    assert!(
        result
            .message()
            .unwrap()
            .contains("output.render failed: render bug")
    );
    assert_eq!(result.code(), Some(codes::INVALID_TOOL_OUTPUT));
}

/// conformance: FINAL-10, FINAL-11
#[tokio::test]
async fn metadata_is_for_calls_that_are_shown() {
    let stack = bare(&plain(), Leaf::returning(1));
    let result = stack.run(request("echo")).await;
    assert_eq!(result.meta(), Some(&json!({"shown": true})));
    let (parent, _rest) = testing::cleared_call(request("outer"));
    let nested = request("echo").nested_in(parent.token(), parent.id().clone());
    let result = stack.run(nested).await;
    assert!(result.meta().is_none());
    assert_eq!(result.value(), Some(&json!(1)));
}

/// conformance: EXEC-05
#[tokio::test]
async fn a_nested_call_knows_its_parent_everywhere() {
    let (parent, _rest) = testing::cleared_call(request("outer"));
    let expected = parent.token();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let [pre, post, body, last] = [(); 4].map(|()| seen.clone());
    let stage = plain()
        .stage()
        .observer(move |call: &CallView, _: &ToolResult| {
            last.lock().unwrap().push(call.parent());
        });
    let stack = tower::ServiceBuilder::new()
        .layer(stage)
        .layer(PostExecuteLayer::new(move |request: &PostRequest| {
            post.lock().unwrap().push(request.call().parent());
            PostDecision::accept()
        }))
        .layer(PreDecisionLayer::new(move |call: &CallView| {
            pre.lock().unwrap().push(call.parent());
            Decision::Allow
        }))
        .layer(ApprovalLayer::unavailable())
        .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
        .service(Leaf::new(move |context: BodyContext| {
            body.lock().unwrap().push(context.call().parent());
            async { Ok(json!(1)) }
        }));
    stack
        .run(request("echo").nested_in(expected, parent.id().clone()))
        .await;
    assert_eq!(
        seen.lock().unwrap().drain(..).collect::<Vec<_>>(),
        [Some(expected); 4]
    );
    stack.run(request("echo")).await;
    assert_eq!(*seen.lock().unwrap(), [None; 4]);
}

/// conformance: CANCEL-07, CANCEL-08, CANCEL-14
#[tokio::test]
async fn a_cancelled_body_that_returns_is_aborted_and_one_that_fails_keeps_its_failure() {
    for fails in [false, true] {
        let token = CancellationToken::new();
        let leaf = Leaf::new(move |body: BodyContext| async move {
            body.conclude_turn();
            body.cancellation().cancelled().await;
            if fails {
                return Err(CodedError::new("OwnError", "OWN", "stopped by request").into());
            }
            Ok(json!(1))
        });
        let stack = bare(&plain(), leaf);
        let mut call = task::spawn(stack.run(request_with("echo", &token)));
        assert_pending!(call.poll());
        token.cancel();
        assert!(call.is_woken());
        let result = assert_ready!(call.poll());
        if fails {
            assert_eq!(result.code(), Some("OWN"));
        } else {
            assert_eq!(result.text(), "Error: tool call aborted");
            let info = result.info().unwrap();
            assert_eq!((info.name(), info.code()), ("AbortError", "ABORTED"));
            assert!(result.value().is_none() && result.meta().is_none());
        }
        assert!(!result.concludes_turn());
    }
}

/// conformance: CANCEL-09
#[tokio::test]
async fn a_body_that_ignores_the_cancellation_is_waited_for() {
    let token = CancellationToken::new();
    let (finish, finished) = tokio::sync::watch::channel(false);
    let leaf = Leaf::new(move |body: BodyContext| {
        let mut finished = finished.clone();
        async move {
            body.defer_context(context("kept"));
            finished.wait_for(|finished| *finished).await.ok();
            Ok(json!(1))
        }
    });
    let stack = bare(&plain(), leaf);
    let mut call = task::spawn(stack.run(request_with("echo", &token)));
    assert_pending!(call.poll());
    token.cancel();
    assert_pending!(call.poll());
    finish.send(true).unwrap();
    let result = assert_ready!(call.poll());
    assert_eq!(result.code(), Some(codes::ABORTED));
    assert_eq!(texts(result.contexts()), ["kept"]);
}

/// conformance: CANCEL-22, DISP-39
#[tokio::test]
async fn a_cancellation_in_the_poll_in_which_the_body_ends_counts() {
    let token = CancellationToken::new();
    let cancel = token.clone();
    let leaf = Leaf::new(move |_| {
        cancel.cancel();
        async { Ok(json!(1)) }
    });
    let result = bare(&plain(), leaf).run(request_with("echo", &token)).await;
    assert_eq!(result.code(), Some(codes::ABORTED));
}

/// conformance: DISP-16, DISP-17, DISP-19
#[tokio::test]
async fn a_wrapper_cannot_detach_the_caller() {
    let token = CancellationToken::new();
    let unrelated = CancellationToken::new();
    let replacement = unrelated.clone();
    let detach = Around(move |mut inner: Leaf, call: ClearedCall| {
        inner.call(call.with_cancellation(replacement.clone()))
    });
    let body_token = Arc::new(Mutex::new(None));
    let slot = body_token.clone();
    let leaf = Leaf::new(move |body: BodyContext| {
        *slot.lock().unwrap() = Some(body.cancellation().clone());
        async move {
            body.cancellation().cancelled().await;
            Ok(json!(1))
        }
    });
    let own = token.clone();
    let stack = tower::ServiceBuilder::new()
        .layer(plain().stage())
        .layer(PostExecuteLayer::new(move |post: &PostRequest| {
            assert!(post.call().cancellation().is_cancelled() && own.is_cancelled());
            PostDecision::accept()
        }))
        .layer(ApprovalLayer::unavailable())
        .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
        .layer(detach)
        .service(leaf);
    let mut call = task::spawn(stack.run(request_with("echo", &token)));
    assert_pending!(call.poll());
    token.cancel();
    assert!(call.is_woken());
    let result = assert_ready!(call.poll());
    assert_eq!(result.code(), Some(codes::ABORTED));
    assert!(body_token.lock().unwrap().as_ref().unwrap().is_cancelled());
    assert!(!unrelated.is_cancelled());
}

/// conformance: DISP-18, DISP-21, DISP-22
#[tokio::test]
async fn a_cancelled_replacement_stops_the_body_or_keeps_it_from_starting() {
    let seen = Log::default();
    let log = seen.clone();
    let wrapper = Around(move |mut inner: Leaf, call: ClearedCall| {
        let (own, log) = (CancellationToken::new(), log.clone());
        let name = call.name().to_owned();
        if name == "before" {
            own.cancel();
        }
        let call = call.with_cancellation(own.clone());
        async move {
            if name == "caller" {
                call.view().cancellation().cancel();
            }
            let dispatch = inner.call(call);
            if name == "during" {
                own.cancel();
            }
            let outcome = dispatch.await?;
            log.add(outcome.code().unwrap_or("none").to_owned());
            Ok(outcome)
        }
    });
    let ran = Log::default();
    let body_log = ran.clone();
    let leaf = Leaf::new(move |body: BodyContext| {
        body_log.add(body.call().name().to_owned());
        async { Ok(json!(1)) }
    });
    let stack = around(&plain(), wrapper, leaf);
    let before = stack.run(request("before")).await;
    assert_eq!(before.text(), "Error: tool call aborted before dispatch");
    assert_eq!(before.effect(), Effect::NotStarted);
    let caller = stack.run(request("caller")).await;
    assert_eq!(caller.code(), Some(codes::ABORTED_BEFORE_DISPATCH));
    let during = stack.run(request("during")).await;
    assert_eq!(during.code(), Some(codes::ABORTED));
    assert_eq!(ran.entries(), ["during"]);
    assert_eq!(
        seen.entries(),
        [
            codes::ABORTED_BEFORE_DISPATCH,
            codes::ABORTED_BEFORE_DISPATCH,
            codes::ABORTED
        ]
    );
}

/// conformance: DISP-23, CANCEL-03
#[tokio::test]
async fn a_cancellation_is_looked_at_before_the_tool() {
    let token = CancellationToken::new();
    let own = token.clone();
    let late = Around(move |mut inner: Leaf, call| {
        own.cancel();
        inner.call(call)
    });
    let result = around(&Shelf::default(), late, Leaf::returning(1));
    let result = result.run(request_with("ghost", &token)).await;
    assert_eq!(result.code(), Some(codes::ABORTED_BEFORE_DISPATCH));
    let result = bare(&Shelf::default(), Leaf::returning(1));
    let result = result.run(request_with("ghost", &token)).await;
    assert_eq!(result.code(), Some(codes::ABORTED_BEFORE_DISPATCH));
}

/// conformance: CTX-01, CTX-08
#[tokio::test]
async fn contexts_come_in_the_order_body_wrapper_post() {
    let wrapper = Around(|mut inner: Leaf, call| async move {
        Ok(inner.call(call).await?.with_context(context("wrapper")))
    });
    let stack = tower::ServiceBuilder::new()
        .layer(plain().stage())
        .layer(PostExecuteLayer::new(|_: &PostRequest| {
            PostDecision::accept().with_context(context("post"))
        }))
        .layer(ApprovalLayer::unavailable())
        .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
        .layer(wrapper)
        .service(Leaf::new(|body: BodyContext| async move {
            let mut first = ContextMessage::text("tool", "echo", "one");
            first.id = Some("ctx_1".into());
            first.meta = Some(json!({"k": 1}));
            assert!(body.defer_context(first));
            assert!(body.defer_context(context("two")));
            Ok(json!(1))
        }));
    let result = stack.run(request("echo")).await;
    assert_eq!(texts(result.contexts()), ["one", "two", "wrapper", "post"]);
    let first = &result.contexts()[0];
    assert_eq!(first.id.as_deref(), Some("ctx_1"));
    assert_eq!(first.source.kind, "tool");
    assert_eq!(first.meta, Some(json!({"k": 1})));
}

/// conformance: CTX-03, CTX-15, CTX-20
#[tokio::test]
async fn a_failing_body_keeps_its_contexts_and_loses_its_mark() {
    let leaf = Leaf::new(|body: BodyContext| async move {
        body.defer_context(context("kept"));
        body.conclude_turn();
        if body.call().name() == "bad" {
            Err("failed".into())
        } else {
            Ok(json!(1))
        }
    });
    let stack = bare(&plain(), leaf);
    let good = stack.run(request("good")).await;
    assert!(good.concludes_turn());
    let bad = stack.run(request("bad")).await;
    assert!(!bad.concludes_turn());
    assert_eq!(texts(bad.contexts()), ["kept"]);
}

/// conformance: CTX-24
#[tokio::test]
async fn a_context_deferred_too_late_is_ignored() {
    let kept = Arc::new(Mutex::new(None::<BodyContext>));
    let slot = kept.clone();
    let leaf = Leaf::new(move |body: BodyContext| {
        *slot.lock().unwrap() = Some(body);
        async { Ok(json!(1)) }
    });
    let stack = bare(&plain(), leaf);
    let first = stack.run(request("one")).await;
    let late = kept.lock().unwrap().take().unwrap();
    assert!(!late.defer_context(context("late")));
    late.conclude_turn();
    let second = stack.run(request("two")).await;
    for result in [first, second] {
        assert!(result.contexts().is_empty() && !result.concludes_turn());
    }
}

/// conformance: CTX-25
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contexts_may_come_from_tasks_and_none_is_lost_or_doubled() {
    let leaf = Leaf::new(|body: BodyContext| async move {
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let body = body.clone();
                tokio::spawn(async move { (0..50).all(|_| body.defer_context(context("x"))) })
            })
            .collect();
        for task in tasks {
            assert!(task.await.unwrap());
        }
        body.defer_context(context("last"));
        Ok(json!(1))
    });
    let result = bare(&plain(), leaf).run(request("echo")).await;
    assert_eq!(result.contexts().len(), 401);
    assert_eq!(texts(result.contexts()).last().unwrap(), "last");
}

/// What `defer_context` says of a context is what becomes of it, also when it
/// races the end of the dispatch.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_context_that_races_the_end_is_kept_or_refused() {
    for _ in 0..200 {
        let (tell, told) = std::sync::mpsc::channel();
        let leaf = Leaf::new(move |body: BodyContext| {
            let tell = tell.clone();
            std::thread::spawn(move || {
                tell.send(body.defer_context(context("raced"))).unwrap();
            });
            async { Ok(json!(1)) }
        });
        let result = bare(&plain(), leaf).run(request("echo")).await;
        let kept = told.recv().unwrap();
        assert_eq!(result.contexts().len(), usize::from(kept));
    }
}

/// A clearance that outlives its call's result is refused.
#[tokio::test]
async fn a_clearance_kept_past_its_result_runs_nothing() {
    let kept = Arc::new(Mutex::new(None::<ClearedCall>));
    let slot = kept.clone();
    let thief = Around(move |_: Leaf, call| {
        *slot.lock().unwrap() = Some(call);
        async { Ok(ToolOutcome::failure("later")) }
    });
    let ran = Log::default();
    let log = ran.clone();
    let leaf = Leaf::new(move |_| {
        log.add("body");
        async { Ok(json!(1)) }
    });
    let result = around(&plain(), thief, leaf.clone())
        .run(request("echo"))
        .await;
    assert_eq!(result.effect(), Effect::NotStarted);
    let stolen = kept.lock().unwrap().take().unwrap();
    let outcome = leaf.enter(stolen).await;
    assert_eq!(outcome.code(), Some(codes::ABORTED_BEFORE_DISPATCH));
    assert!(ran.entries().is_empty());
}

/// A clearance used inside another call's dispatch runs for its own call: its
/// outcome is not trusted by the other one, and both results are truthful.
#[tokio::test]
async fn a_clearance_used_inside_another_call_belongs_to_its_own() {
    let kept = Arc::new(Mutex::new(None::<ClearedCall>));
    let waiting = Arc::new(tokio::sync::Notify::new());
    let (slot, gate) = (kept.clone(), waiting.clone());
    let lender = Around(move |_: Leaf, call| {
        *slot.lock().unwrap() = Some(call);
        let gate = gate.clone();
        async move {
            gate.notified().await;
            Ok(ToolOutcome::failure("lent"))
        }
    });
    let first = around(&plain(), lender, Leaf::returning(1));
    let mut lending = task::spawn(first.run(request("first")));
    assert_pending!(lending.poll());

    let strict = Shelf::of(Tool {
        render: Some(Box::new(|_| Err("not mine".into()))),
        ..Tool::default()
    });
    let borrower = Around(move |mut inner: Leaf, own: ClearedCall| {
        let borrowed = kept.lock().unwrap().take().unwrap();
        let dispatch = inner.call(borrowed);
        async move {
            let outcome = dispatch.await;
            drop(own);
            outcome
        }
    });
    let second = around(&strict, borrower, Leaf::returning("a"));
    let result = second.run(request("second")).await;
    assert_eq!(
        result.code(),
        Some(codes::INVALID_TOOL_OUTPUT),
        "{}",
        result.text()
    );
    assert_eq!(result.effect(), Effect::NotStarted, "no body of its own");
    waiting.notify_one();
    let lent = assert_ready!(lending.poll());
    assert_eq!(lent.message(), Some("lent"));
    assert_eq!(lent.effect(), Effect::Stopped, "its body ran");
}

/// conformance: FINAL-33
#[tokio::test(start_paused = true)]
async fn keeping_view_and_result_keeps_neither_body_nor_definition() {
    let tool: Arc<dyn Definition> = Arc::new(Tool {
        finalize: Some(Box::new(|_| Ok(None))),
        budget: Some(Duration::from_secs(60)),
        ..Tool::default()
    });
    let definition: Weak<dyn Definition> = Arc::downgrade(&tool);
    let held = Arc::new(());
    let body_alive = Arc::downgrade(&held);
    let shelf = Shelf::default();
    shelf.put(Some(tool));
    let kept: Arc<Mutex<Vec<(CallView, ToolResult)>>> = Arc::default();
    let slot = kept.clone();
    let stage = shelf
        .stage()
        .observer(move |call: &CallView, result: &ToolResult| {
            slot.lock().unwrap().push((call.clone(), result.clone()));
        });
    let leaf = Leaf::new(move |body: BodyContext| {
        let held = held.clone();
        async move {
            let _ = body.cancellation();
            sleep(Duration::from_secs(1)).await;
            drop(held);
            Ok(json!(1))
        }
    });
    let stack = tower::ServiceBuilder::new()
        .layer(stage)
        .layer(ApprovalLayer::unavailable())
        .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
        .layer(TimeoutLayer::declared())
        .service(leaf);
    assert!(!stack.run(request("echo")).await.is_error());
    // A second call is dropped while its body runs.
    let mut dropped = task::spawn(stack.run(request("echo")));
    assert_pending!(dropped.poll());
    drop(dropped);
    settle().await;
    shelf.put(None);
    drop(stack);
    assert!(body_alive.upgrade().is_none());
    assert!(definition.upgrade().is_none());
    let kept = std::mem::take(&mut *kept.lock().unwrap());
    assert_eq!(kept.len(), 2);
    assert_eq!(kept[1].1.code(), Some(codes::ABORTED));
    assert!(kept[0].0.definition().is_none());
}

#[tokio::test]
async fn a_body_future_is_send_and_refuses_without_running() {
    let refused = BodyFuture::refused(ToolOutcome::failure("no"));
    support::assert_send(&refused);
    assert_eq!(refused.await.message(), Some("no"));
}
