//! The result stage: minting, recording, the finalizer, the one notification.

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use serde_json::json;
use support::{
    CallService as _, Leaf, Log, Shelf, Tool, assert_send, assert_shareable, context, polls,
    request, request_with, texts,
};
use tokio_test::{assert_pending, assert_ready, assert_ready_ok, task};
use tokio_util::sync::CancellationToken;
use toolfall_layers::turn::{Mark, turn};
use toolfall_layers::*;
use tower::ServiceBuilder;
use tower_layer::Layer as _;
use tower_service::Service as _;
use tower_test::mock;

/// Calls `$stage` over a body that returns `$leaf`.
macro_rules! stack {
    ($stage:expr, $leaf:expr) => {
        ServiceBuilder::new()
            .layer($stage)
            .layer(ApprovalLayer::unavailable())
            .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
            .service($leaf)
    };
}

fn plain() -> Shelf {
    Shelf::of(Tool::default())
}

/// A stage that writes down each result.
fn watched(shelf: &Shelf) -> (ResultNotifyLayer, Arc<Mutex<Vec<ToolResult>>>) {
    let results = Arc::<Mutex<Vec<ToolResult>>>::default();
    let seen = results.clone();
    let stage = shelf
        .stage()
        .observer(move |_: &CallView, result: &ToolResult| {
            seen.lock().unwrap().push(result.clone());
        });
    (stage, results)
}

/// conformance: CANCEL-01, CANCEL-02
#[tokio::test]
async fn a_call_that_is_cancelled_already_enters_no_stage() {
    let log = Log::default();
    let [post, pre, guard, body] = [(); 4].map(|()| log.clone());
    let (stage, results) = watched(&plain());
    let tokens = Arc::<Mutex<Vec<_>>>::default();
    let seen = tokens.clone();
    let stage = stage.observer(move |call: &CallView, _: &ToolResult| {
        assert_eq!(call.arguments().unwrap().value(), &json!({"a": 1}));
        assert!(call.cancellation().is_cancelled());
        seen.lock().unwrap().push(call.token());
    });
    let stack = ServiceBuilder::new()
        .layer(stage)
        .layer(PostExecuteLayer::new(move |_: &PostRequest| {
            post.add("post");
            PostDecision::accept()
        }))
        .layer(PreDecisionLayer::new(move |_: &CallView| {
            pre.add("pre");
            Decision::Allow
        }))
        .layer(ApprovalLayer::unavailable())
        .layer(GuardLayer::new(move |_: &CallView| {
            guard.add("guard");
            None::<Denial>
        }))
        .service(Leaf::new(move |_| {
            body.add("body");
            async { Ok(json!(1)) }
        }));
    let token = CancellationToken::new();
    token.cancel();
    let result = stack.run(request_with("echo", &token)).await;
    assert_eq!(result.text(), "Error: tool call aborted before dispatch");
    assert_eq!(result.message(), Some("tool call aborted before dispatch"));
    let info = result.info().unwrap();
    assert_eq!(
        (info.name(), info.code()),
        ("AbortError", "ABORTED_BEFORE_DISPATCH")
    );
    assert!(log.entries().is_empty());
    assert_eq!(results.lock().unwrap().len(), 1);
    assert!(results.lock().unwrap()[0].ptr_eq(&result));
    assert_eq!(tokens.lock().unwrap().len(), 1);
}

/// conformance: FINAL-22, FINAL-25
#[tokio::test]
async fn observers_see_the_very_result_that_comes_back() {
    let (stage, results) = watched(&plain());
    let replace = support::Around(|mut inner: Leaf, call| async move {
        inner.call(call).await?;
        Ok(ToolOutcome::failure("replaced"))
    });
    let stack = stack!(stage, replace.layer(Leaf::returning(1)));
    let result = stack.run(request("echo")).await;
    let results = results.lock().unwrap();
    assert!(results[0].ptr_eq(&result));
    assert_eq!(results[0].message(), Some("replaced"));
}

/// conformance: FINAL-31
#[tokio::test]
async fn an_observer_that_fails_or_panics_keeps_nobody_else_from_being_told() {
    let log = Log::default();
    let [first, second, third] = [(); 3].map(|()| log.clone());
    let stage = plain()
        .stage()
        .observer(move |_: &CallView, _: &ToolResult| {
            first.add("fails");
            Err::<(), _>("observer broke")
        })
        .observer(move |_: &CallView, _: &ToolResult| {
            second.add("panics");
            if second.count("panics") > 0 {
                std::panic::panic_any(5_u8);
            }
        })
        .observer(move |_: &CallView, _: &ToolResult| third.add("fine"));
    let result = stack!(stage, Leaf::returning(1)).run(request("echo")).await;
    assert!(!result.is_error());
    assert_eq!(log.entries(), ["fails", "panics", "fine"]);
}

/// conformance: FINAL-32
#[tokio::test]
async fn an_observer_may_start_another_call_of_the_same_stack() {
    type Nested = Arc<dyn Fn(&'static str) -> ToolResult + Send + Sync>;
    let nested: Arc<Mutex<Option<Nested>>> = Arc::default();
    let (slot, log) = (nested.clone(), Log::default());
    let seen = log.clone();
    let stage = plain()
        .stage()
        .observer(move |call: &CallView, _: &ToolResult| {
            seen.add(call.name().to_owned());
            if call.name() == "outer" {
                let run = slot.lock().unwrap().clone().unwrap();
                seen.add(format!("nested: {}", run("inner").text()));
            }
        });
    let stack = stack!(stage, Leaf::returning(1));
    let inner = stack.clone();
    *nested.lock().unwrap() = Some(Arc::new(move |name| {
        let mut call = Box::pin(inner.clone().call(request(name)));
        match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(result)) => result,
            other => panic!("expected a result at once, found {:?}", other.is_pending()),
        }
    }));
    assert!(!stack.run(request("outer")).await.is_error());
    assert_eq!(log.entries(), ["outer", "inner", "nested: value: 1"]);
    nested.lock().unwrap().take();
}

/// conformance: FINAL-12, FINAL-13, CANCEL-05
#[tokio::test]
async fn the_finalizer_has_the_last_word_on_content_only_and_once() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let shelf = Shelf::of(Tool {
        finalize: Some(Box::new(move |outcome| {
            count.fetch_add(1, Ordering::SeqCst);
            Ok(outcome
                .code()
                .map(|code| vec![ContentBlock::text(format!("bounded {code}"))]))
        })),
        ..Tool::default()
    });
    let coded = Leaf::new(|body: BodyContext| async move {
        if body.call().name() == "good" {
            return Ok(json!(1));
        }
        body.defer_context(context("kept"));
        Err(CodedError::new("HookError", "HOOK", "long text").into())
    });
    let stack = stack!(shelf.stage(), coded);
    let good = stack.run(request("good")).await;
    assert_eq!(good.text(), "value: 1");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    let bad = stack.run(request("bad")).await;
    assert_eq!(bad.text(), "bounded HOOK");
    assert_eq!(bad.message(), Some("long text"));
    assert_eq!(bad.info().unwrap().name(), "HookError");
    assert_eq!(texts(bad.contexts()), ["kept"]);
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    let token = CancellationToken::new();
    token.cancel();
    let cancelled = stack.run(request_with("good", &token)).await;
    assert_eq!(cancelled.text(), "bounded ABORTED_BEFORE_DISPATCH");
    assert_eq!(asked.load(Ordering::SeqCst), 3);
}

/// conformance: FINAL-14, CTX-06
#[tokio::test]
async fn a_finalizer_that_fails_or_panics_replaces_the_outcome_and_is_not_asked_again() {
    let asked = Arc::new(AtomicUsize::new(0));
    for panics in [false, true] {
        let count = asked.clone();
        let shelf = Shelf::of(Tool {
            finalize: Some(Box::new(move |_| {
                count.fetch_add(1, Ordering::SeqCst);
                assert!(!panics, "finalizer bug");
                Err("finalizer violated its total contract".into())
            })),
            ..Tool::default()
        });
        let leaf = Leaf::new(|body: BodyContext| async move {
            body.defer_context(context("lost"));
            Ok(json!(1))
        });
        let result = stack!(shelf.stage(), leaf).run(request("echo")).await;
        let message = if panics {
            "finalizer bug"
        } else {
            "finalizer violated its total contract"
        };
        assert_eq!(result.text(), format!("Error: {message}"));
        assert!(result.value().is_none() && result.contexts().is_empty());
        assert_eq!(result.effect(), Effect::Stopped);
    }
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

/// conformance: FINAL-15, FINAL-19
#[tokio::test]
async fn the_finalizer_is_the_one_at_intake_and_runs_on_every_route() {
    let asked = Arc::new(AtomicUsize::new(0));
    let tool = || {
        let count = asked.clone();
        Tool {
            finalize: Some(Box::new(move |_| {
                count.fetch_add(1, Ordering::SeqCst);
                Ok(None)
            })),
            ..Tool::default()
        }
    };
    let shelf = Shelf::default();
    let registry = shelf.clone();
    let stack = ServiceBuilder::new()
        .layer(shelf.stage())
        .layer(PostExecuteLayer::new(|post: &PostRequest| {
            match post.call().name() {
                "post fails" => Err("post broke"),
                _ => Ok(PostDecision::accept()),
            }
        }))
        .layer(PreDecisionLayer::new(move |call: &CallView| {
            match call.name() {
                "pre fails" => {
                    registry.put(None);
                    Err("pre broke")
                }
                "denied" => Ok(Decision::deny("no")),
                _ => Ok(Decision::Allow),
            }
        }))
        .layer(ApprovalLayer::unavailable())
        .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
        .layer(support::Around(
            |mut inner: Leaf, call: ClearedCall| async move {
                if call.name() == "wrapper fails" {
                    return Err("wrapper broke".into());
                }
                inner.call(call).await
            },
        ))
        .service(Leaf::returning(1));
    for name in ["pre fails", "denied", "wrapper fails", "post fails", "fine"] {
        shelf.put(Some(Arc::new(tool())));
        let result = stack.run(request(name)).await;
        assert_eq!(result.is_error(), name != "fine");
        assert_eq!(asked.swap(0, Ordering::SeqCst), 1, "{name}");
    }
    shelf.put(None);
    assert_eq!(
        stack.run(request("ghost")).await.code(),
        Some(codes::UNKNOWN_TOOL)
    );
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

/// What a recorder was told, in order; told to fail, wait or panic.
struct Recording {
    log: Log,
    call: &'static str,
}

impl Recorder for Recording {
    fn call(&self, call: &CallView) -> Recorded {
        self.log.add(format!("call {}", call.name()));
        match self.call {
            "fails" => Recorded::Now(Err("disk full".into())),
            "panics" => panic!("recorder bug"),
            "fails later" => Recorded::Later(Box::pin(async {
                polls(2).await;
                Err("disk full".into())
            })),
            "panics later" => Recorded::Later(Box::pin(async {
                polls(2).await;
                panic!("recorder bug")
            })),
            "waits" => Recorded::Later(Box::pin(async {
                polls(2).await;
                Ok(())
            })),
            _ => Recorded::Now(Ok(())),
        }
    }

    fn started(&self, _: &CallView) -> Recorded {
        self.log.add("started");
        Recorded::Now(match self.call {
            "start fails" => Err("disk full".into()),
            "start panics" => panic!("recorder bug"),
            _ => Ok(()),
        })
    }

    fn result(&self, _: &CallView, result: &ToolResult) -> Result<(), BoxError> {
        self.log.add(format!("result {}", result.effect().as_str()));
        Err("logged only".into())
    }
}

#[tokio::test]
async fn a_call_is_recorded_before_its_policies_and_its_result_after_the_observers() {
    for how in ["at once", "waits"] {
        let log = Log::default();
        let [pre, observer, body] = [(); 3].map(|()| log.clone());
        let stage = plain()
            .stage()
            .recorder(Arc::new(Recording {
                log: log.clone(),
                call: how,
            }))
            .observer(move |_: &CallView, _: &ToolResult| observer.add("observer"));
        let stack = ServiceBuilder::new()
            .layer(stage)
            .layer(PreDecisionLayer::new(move |_: &CallView| {
                pre.add("pre");
                Decision::Allow
            }))
            .layer(ApprovalLayer::unavailable())
            .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
            .service(Leaf::new(move |_| {
                body.add("body");
                async { Ok(json!(1)) }
            }));
        assert!(
            !stack.run(request("echo")).await.is_error(),
            "the result stands"
        );
        assert_eq!(
            log.entries(),
            [
                "call echo",
                "pre",
                "started",
                "body",
                "observer",
                "result stopped"
            ]
        );
    }
}

#[tokio::test]
async fn a_call_that_cannot_be_recorded_does_not_run() {
    for how in [
        "fails",
        "panics",
        "fails later",
        "panics later",
        "start fails",
        "start panics",
    ] {
        let log = Log::default();
        let ran = log.clone();
        let stage = plain().stage().recorder(Arc::new(Recording {
            log: log.clone(),
            call: how,
        }));
        let leaf = Leaf::new(move |_| {
            ran.add("body");
            async { Ok(json!(1)) }
        });
        let result = stack!(stage, leaf).run(request("echo")).await;
        assert_eq!(result.kind(), Some(FailureKind::Unrecorded), "{how}");
        let message = if how.contains("panics") {
            "recorder bug"
        } else {
            "disk full"
        };
        assert_eq!(result.message(), Some(message));
        assert_eq!(result.effect(), Effect::NotStarted);
        assert_eq!(log.count("body"), 0, "{how}");
        assert_eq!(log.count("result not_started"), 1, "{how}");
    }
}

/// conformance: EXEC-54
#[tokio::test]
async fn the_stage_is_always_ready_and_readies_a_clone_of_its_own() {
    let (service, mut handle) = mock::pair::<ToolCall, ToolOutcome>();
    let stage = ResultNotifyLayer::new().layer(service);
    assert_shareable(&stage);
    let mut stage = mock::Spawn::new(stage);
    handle.allow(0);
    assert_ready_ok!(stage.poll_ready());
    let mut call = task::spawn(stage.call(request("echo")));
    assert_send(&call);
    assert_pending!(call.poll());
    handle.allow(1);
    assert!(call.is_woken());
    assert_pending!(call.poll());
    let (_, respond) = assert_ready!(task::spawn(handle.next_request()).poll()).unwrap();
    respond.send_response(ToolOutcome::failure("answer"));
    assert_eq!(assert_ready_ok!(call.poll()).message(), Some("answer"));
    handle.send_error("closed");
    let mut call = task::spawn(stage.call(request("echo")));
    let result = assert_ready_ok!(call.poll());
    assert_eq!(result.text(), "Error: closed");
    assert_eq!(result.kind(), Some(FailureKind::Pipeline));
}

#[tokio::test]
async fn a_success_made_outside_the_guard_stage_is_judged_too() {
    let (stage, _) = watched(&plain());
    let own = tower::service_fn(|_: ToolCall| async {
        Ok::<_, BoxError>(
            ToolOutcome::success(json!(7)).with_content(vec![ContentBlock::text("forged")]),
        )
    });
    let result = stage.layer(own).run(request("echo")).await;
    assert_eq!(result.text(), "value: 7");
    let result = ResultNotifyLayer::new()
        .layer(own)
        .run(request("echo"))
        .await;
    assert_eq!(
        result.code(),
        Some(codes::UNKNOWN_TOOL),
        "nobody can judge it"
    );
}

/// A stack that panics while it is cloned.
struct LoudClone(bool);

impl Clone for LoudClone {
    fn clone(&self) -> Self {
        assert!(!self.0, "clone bug");
        Self(self.0)
    }
}

impl tower_service::Service<ToolCall> for LoudClone {
    type Response = ToolOutcome;
    type Error = BoxError;
    type Future = std::future::Ready<Result<ToolOutcome, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: ToolCall) -> Self::Future {
        std::future::ready(Ok(ToolOutcome::failure("reached")))
    }
}

#[tokio::test]
async fn a_panic_while_the_stack_is_cloned_is_the_calls_failure() {
    let (stage, results) = watched(&plain());
    let mut service = stage.layer(LoudClone(true));
    let result = service.call(request("echo")).await.unwrap();
    assert_eq!(result.text(), "Error: clone bug");
    assert_eq!(results.lock().unwrap().len(), 1);
}

/// conformance: EXEC-53
#[tokio::test]
async fn clones_share_no_state_of_a_call() {
    let leaf = Leaf::new(|body: BodyContext| async move {
        body.defer_context(context(body.call().name()));
        polls(3).await;
        if body.call().name() == "b" {
            body.conclude_turn();
        }
        Ok(json!(body.call().name()))
    });
    let stack = stack!(plain().stage(), leaf);
    let token = CancellationToken::new();
    let (a, b, c) = tokio::join!(stack.run(request("a")), stack.run(request("b")), async {
        let call = stack.run(request_with("c", &token));
        token.cancel();
        call.await
    });
    assert_eq!((a.value(), a.concludes_turn()), (Some(&json!("a")), false));
    assert_eq!((b.value(), b.concludes_turn()), (Some(&json!("b")), true));
    assert_eq!(c.code(), Some(codes::ABORTED_BEFORE_DISPATCH));
    assert_eq!(texts(a.contexts()), ["a"]);
    assert_eq!(texts(b.contexts()), ["b"]);
}

#[tokio::test]
async fn an_outer_layer_under_a_buffer_survives_a_panicking_stack() {
    let stack = stack!(
        plain().stage(),
        Leaf::made_by(|body: BodyContext| {
            assert!(body.call().name() != "bad", "body bug");
            Box::pin(async { Ok(json!(1)) })
        })
    );
    let mut buffered = tower::buffer::Buffer::new(stack, 4);
    for name in ["bad", "good", "bad", "good"] {
        std::future::poll_fn(|cx| buffered.poll_ready(cx))
            .await
            .unwrap();
        let result = buffered.call(request(name)).await.unwrap();
        assert_eq!(result.is_error(), name == "bad");
    }
}

/// On the error route the turn is settled only once the bodies are.
#[tokio::test(start_paused = true)]
async fn a_panicking_wrapper_keeps_its_place_in_the_batch_until_its_body_has_stopped() {
    let leaf = Leaf::new(|_| async {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        Ok(json!(1))
    });
    let wrapper = support::Around(|mut inner: Leaf, call| {
        let dispatch = inner.call(call);
        async move {
            tokio::select! {
                biased;
                _ = dispatch => unreachable!("it takes longer"),
                () = polls(2) => panic!("wrapper bug"),
            }
        }
    });
    let stack = stack!(plain().stage(), wrapper.layer(leaf));
    let (place, control) = turn(Waker::noop().clone());
    let mut call = task::spawn(stack.run(request("echo").with_turn(place)));
    while !call.is_woken() {
        assert_pending!(call.poll());
        if control.has(Mark::Settled) {
            break;
        }
    }
    for _ in 0..5 {
        assert_pending!(call.poll());
    }
    assert!(!control.has(Mark::Settled), "its body is still running");
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    assert_pending!(call.poll());
    assert!(control.has(Mark::Settled) && !control.has(Mark::Done));
    control.grant_commit();
    let result = assert_ready!(call.poll());
    assert_eq!(result.text(), "Error: wrapper bug");
    assert_eq!(result.effect(), Effect::Stopped);
}

/// A catalog that refuses every call that it is asked about.
struct Refusing(Shelf);

impl Catalog for Refusing {
    fn resolve(&self, call: &CallView) -> Option<Arc<dyn Definition>> {
        self.0.resolve(call)
    }

    fn generation(&self) -> u64 {
        self.0.generation()
    }

    fn refuse(&self, call: &CallView) -> Option<ToolOutcome> {
        Some(ToolOutcome::unknown_tool(call.name()))
    }
}

/// conformance: FINAL-18, CANCEL-04
#[tokio::test]
async fn a_call_that_can_never_run_reaches_no_stage_and_no_finalizer() {
    let log = Log::default();
    let [finalizer, post, pre, last] = [(); 4].map(|()| log.clone());
    let shelf = Shelf::of(Tool {
        finalize: Some(Box::new(move |_| {
            finalizer.add("finalizer");
            Ok(None)
        })),
        ..Tool::default()
    });
    let stage = ResultNotifyLayer::new()
        .catalog(Arc::new(Refusing(shelf)))
        .observer(move |_: &CallView, _: &ToolResult| last.add("observer"));
    let stack = ServiceBuilder::new()
        .layer(stage)
        .layer(PostExecuteLayer::new(move |_: &PostRequest| {
            post.add("post");
            PostDecision::accept()
        }))
        .layer(PreDecisionLayer::new(move |_: &CallView| {
            pre.add("pre");
            Decision::Allow
        }))
        .layer(ApprovalLayer::unavailable())
        .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
        .service(Leaf::returning(1));
    let result = stack.run(request("echo")).await;
    assert_eq!(result.code(), Some(codes::UNKNOWN_TOOL));
    assert_eq!(result.effect(), Effect::NotStarted);
    assert_eq!(log.entries(), ["observer"]);
    let token = CancellationToken::new();
    token.cancel();
    let result = stack.run(request_with("echo", &token)).await;
    assert_eq!(result.code(), Some(codes::ABORTED_BEFORE_DISPATCH));
    assert_eq!(log.entries(), ["observer", "finalizer", "observer"]);
}

/// conformance: CANCEL-15, CANCEL-16
#[tokio::test]
async fn a_cancellation_after_the_result_is_frozen_changes_nothing() {
    let token = CancellationToken::new();
    let cancel = token.clone();
    let stage = plain()
        .stage()
        .observer(move |_: &CallView, _: &ToolResult| cancel.cancel());
    let result = stack!(stage, Leaf::returning(1))
        .run(request_with("echo", &token))
        .await;
    assert!(token.is_cancelled());
    assert!(!result.is_error());
    assert_eq!(
        (codes::ABORTED, codes::ABORTED_BEFORE_DISPATCH),
        ("ABORTED", "ABORTED_BEFORE_DISPATCH")
    );
}

/// conformance: EXEC-08, EXEC-09, EXEC-33
#[tokio::test]
async fn everybody_reads_the_one_frozen_value() {
    let places = Arc::<Mutex<Vec<usize>>>::default();
    let note = |places: &Arc<Mutex<Vec<usize>>>, call: &CallView| {
        let value: *const serde_json::Value = call.arguments().unwrap().value();
        assert_eq!(call.arguments().unwrap().text(), r#"{"a":1}"#);
        assert_eq!(call.root_id(), call.id());
        places.lock().unwrap().push(value as usize);
    };
    let [pre, guard, body, post, last] = [(); 5].map(|()| places.clone());
    let stage = plain()
        .stage()
        .observer(move |call: &CallView, _: &ToolResult| note(&last, call));
    let stack = ServiceBuilder::new()
        .layer(stage)
        .layer(PostExecuteLayer::new(move |request: &PostRequest| {
            note(&post, request.call());
            PostDecision::accept()
        }))
        .layer(PreDecisionLayer::new(move |call: CallView| {
            note(&pre, &call);
            async { Decision::Allow }
        }))
        .layer(ApprovalLayer::unavailable())
        .layer(GuardLayer::new(move |call: &CallView| {
            note(&guard, call);
            None::<Denial>
        }))
        .service(Leaf::new(move |context: BodyContext| {
            note(&body, context.call());
            async { Ok(json!(1)) }
        }));
    assert!(!stack.run(request("echo")).await.is_error());
    let places = places.lock().unwrap();
    assert_eq!(places.len(), 5);
    assert!(places.iter().all(|place| *place == places[0]));
}

/// Keeps the text of every event.
struct Events(Log);

impl tracing::Subscriber for Events {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        struct Message<'a>(&'a Log);
        impl tracing::field::Visit for Message<'_> {
            fn record_debug(&mut self, _: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                self.0.add(format!("{value:?}"));
            }
        }
        if event.metadata().target().starts_with("toolfall") {
            event.record(&mut Message(&self.0));
        }
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

/// conformance: FINAL-24
#[tokio::test]
async fn what_observers_and_recorders_fail_with_is_logged_with_tool_and_call() {
    let log = Log::default();
    let told = log.clone();
    let stage = plain()
        .stage()
        .recorder(Arc::new(Recording {
            log: Log::default(),
            call: "at once",
        }))
        .observer(|call: &CallView, _: &ToolResult| {
            if call.name() == "echo" {
                std::panic::panic_any(5_u8);
            }
        })
        .observer(|_: &CallView, _: &ToolResult| Err::<(), _>("the channel is closed"))
        .observer(move |_: &CallView, _: &ToolResult| told.add("the third is told"));
    let stack = stack!(stage, Leaf::returning(1));
    let _logging = tracing::subscriber::set_default(Events(log.clone()));
    assert!(!stack.run(request("echo")).await.is_error());
    assert_eq!(
        log.entries(),
        [
            "tool \"echo\" (call_1): tools/result observer failed: <unprintable thrown value>",
            "tool \"echo\" (call_1): tools/result observer failed: the channel is closed",
            "the third is told",
            "tool \"echo\" (call_1): tools/result recorder failed: logged only",
        ]
    );
}
