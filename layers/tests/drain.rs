//! Calls that are dropped while a body runs, and runtimes that end under one.

mod support;

use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;

use serde_json::json;
use support::{CallService as _, Leaf, Log, Shelf, Tool, context, request, settle};
use tokio::runtime::{Builder, Runtime};
use tokio::time::sleep;
use toolfall_layers::*;
use tower::ServiceBuilder;
use tower_service::Service as _;

type Results = Arc<Mutex<Vec<ToolResult>>>;

/// A stack over `$leaf`, with its results.
macro_rules! watched {
    ($leaf:expr) => {{
        let results = Results::default();
        let seen = results.clone();
        let stage = Shelf::of(Tool::default()).stage().observer(
            move |_: &CallView, result: &ToolResult| seen.lock().unwrap().push(result.clone()),
        );
        let stack = ServiceBuilder::new()
            .layer(stage)
            .layer(ApprovalLayer::unavailable())
            .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
            .service($leaf);
        (stack, results)
    }};
}

fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap()
}

fn the_one(results: &Results) -> ToolResult {
    let results = results.lock().unwrap();
    assert_eq!(results.len(), 1, "notifications");
    results[0].clone()
}

/// A body that cleans up for a second after its token was cancelled.
fn careful(log: &Log) -> Leaf {
    let log = log.clone();
    Leaf::new(move |body: BodyContext| {
        let log = log.clone();
        async move {
            body.cancellation().cancelled().await;
            sleep(Duration::from_secs(1)).await;
            log.add("cleaned up");
            Ok(json!(1))
        }
    })
}

/// A body that hears nothing and takes an hour.
fn deaf() -> Leaf {
    Leaf::new(|body: BodyContext| async move {
        body.defer_context(context("deferred"));
        sleep(Duration::from_secs(3_600)).await;
        Ok(json!(1))
    })
}

macro_rules! poll_once {
    ($call:expr) => {
        assert!(
            $call
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()))
                .is_pending()
        )
    };
}

/// conformance: CANCEL-21
#[tokio::test(start_paused = true)]
async fn a_dropped_calls_body_is_cancelled_and_driven_to_its_end_before_anybody_is_told() {
    let log = Log::default();
    let (mut stack, results) = watched!(careful(&log));
    let caller = tokio_util::sync::CancellationToken::new();
    let mut call = Box::pin(stack.call(support::request_with("echo", &caller)));
    poll_once!(call);
    drop(call);
    sleep(Duration::from_millis(500)).await;
    assert!(
        results.lock().unwrap().is_empty(),
        "the body is still cleaning up"
    );
    settle().await;
    assert_eq!(log.entries(), ["cleaned up"]);
    let result = the_one(&results);
    assert_eq!(result.code(), Some(codes::ABORTED));
    assert_eq!(result.effect(), Effect::Stopped);
    assert!(!caller.is_cancelled(), "the body's own token was");
}

#[tokio::test(start_paused = true)]
async fn a_deaf_body_is_driven_on_and_told_as_stopped_once_it_has() {
    let (mut stack, results) = watched!(deaf());
    let mut call = Box::pin(stack.call(request("echo")));
    poll_once!(call);
    drop(call);
    sleep(Duration::from_secs(3_000)).await;
    assert!(results.lock().unwrap().is_empty());
    settle().await;
    let result = the_one(&results);
    assert_eq!(result.effect(), Effect::Stopped);
    assert_eq!(support::texts(result.contexts()), ["deferred"]);
}

/// conformance: CANCEL-21
#[tokio::test(start_paused = true)]
async fn a_drained_bodys_own_failure_says_more_than_a_cancellation() {
    for panics in [false, true] {
        let leaf = Leaf::new(move |body: BodyContext| async move {
            body.cancellation().cancelled().await;
            assert!(!panics, "body bug");
            Err(CodedError::new("OwnError", "OWN", "stopped halfway").into())
        });
        let (mut stack, results) = watched!(leaf);
        let mut call = Box::pin(stack.call(request("echo")));
        poll_once!(call);
        drop(call);
        settle().await;
        let result = the_one(&results);
        assert_eq!(
            result.message(),
            Some(if panics {
                "body bug"
            } else {
                "stopped halfway"
            })
        );
        assert_eq!(result.code(), (!panics).then_some("OWN"));
        assert_eq!(result.effect(), Effect::Stopped);
    }
}

/// conformance: CANCEL-23
#[test]
fn a_runtime_that_ends_while_a_body_drains_leaves_its_effect_unknown() {
    let (mut stack, results) = watched!(deaf());
    let runtime = runtime();
    runtime.block_on(async {
        let mut call = Box::pin(stack.call(request("echo")));
        poll_once!(call);
        drop(call);
        tokio::task::yield_now().await;
    });
    assert!(results.lock().unwrap().is_empty());
    drop(runtime);
    let result = the_one(&results);
    assert_eq!(result.code(), Some(codes::ABORTED));
    assert_eq!(result.effect(), Effect::Unknown);
}

/// conformance: CANCEL-23
#[test]
fn a_runtime_that_ends_under_a_whole_call_still_records_it() {
    for flavor in ["current thread", "multi thread"] {
        let (stack, results) = watched!(deaf());
        let runtime = if flavor == "current thread" {
            runtime()
        } else {
            Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap()
        };
        runtime.block_on(async {
            tokio::spawn(async move { stack.run(request("echo")).await });
            sleep(Duration::from_millis(20)).await;
        });
        runtime.shutdown_background();
        for _ in 0..200 {
            if !results.lock().unwrap().is_empty() {
                break;
            }
            #[expect(
                clippy::disallowed_methods,
                reason = "outside the runtime, on a real thread"
            )]
            std::thread::sleep(Duration::from_millis(10));
        }
        let result = the_one(&results);
        assert_eq!(result.code(), Some(codes::ABORTED), "{flavor}");
        assert_eq!(result.effect(), Effect::Unknown, "{flavor}");
    }
}

#[test]
fn a_call_dropped_on_a_plain_thread_is_drained_where_its_body_waited() {
    let log = Log::default();
    let (mut stack, results) = watched!(careful(&log));
    let runtime = runtime();
    let mut call = Box::pin(stack.call(request("echo")));
    runtime.block_on(async { poll_once!(call) });
    std::thread::spawn(move || drop(call)).join().unwrap();
    assert!(results.lock().unwrap().is_empty());
    runtime.block_on(settle());
    assert_eq!(log.entries(), ["cleaned up"]);
    assert_eq!(the_one(&results).effect(), Effect::Stopped);
}

#[test]
fn a_call_dropped_inside_another_runtime_is_drained_where_its_body_waited() {
    let log = Log::default();
    let (mut stack, results) = watched!(careful(&log));
    let home = runtime();
    let mut call = Box::pin(stack.call(request("echo")));
    home.block_on(async { poll_once!(call) });
    let other = runtime();
    other.block_on(async move { drop(call) });
    drop(other);
    assert!(
        results.lock().unwrap().is_empty(),
        "the other runtime's end is not the body's"
    );
    home.block_on(settle());
    assert_eq!(log.entries(), ["cleaned up"]);
    assert_eq!(the_one(&results).effect(), Effect::Stopped);
}

#[test]
fn without_any_runtime_a_dropped_body_is_dropped_and_its_effect_unknown() {
    struct Loud;
    impl Drop for Loud {
        fn drop(&mut self) {
            panic!("destructor bug");
        }
    }
    let leaf = Leaf::new(|_| {
        let loud = Loud;
        async move {
            std::future::pending::<()>().await;
            std::mem::forget(loud);
            Ok(json!(1))
        }
    });
    let (mut stack, results) = watched!(leaf);
    let mut call = Box::pin(stack.call(request("echo")));
    poll_once!(call);
    drop(call);
    let result = the_one(&results);
    assert_eq!(result.code(), Some(codes::ABORTED));
    assert_eq!(result.effect(), Effect::Unknown);
}

/// conformance: CANCEL-20
#[test]
fn a_call_that_was_never_polled_is_told_without_a_runtime() {
    let log = Log::default();
    let (mut stack, results) = watched!(careful(&log));
    drop(stack.call(request("echo")));
    let result = the_one(&results);
    assert_eq!(result.code(), Some(codes::ABORTED_BEFORE_DISPATCH));
    assert_eq!(result.effect(), Effect::NotStarted);
    assert!(log.entries().is_empty());
}

/// A destructor inside the stack that panics reaches nobody, also while the
/// thread is unwinding already.
#[tokio::test(start_paused = true)]
async fn a_panicking_destructor_in_the_stack_never_reaches_whoever_drops_the_call() {
    struct Loud(Log);
    impl Drop for Loud {
        fn drop(&mut self) {
            self.0.add("dropped");
            panic!("destructor bug");
        }
    }
    for unwinding in [false, true] {
        let log = Log::default();
        let seen = log.clone();
        let results = Results::default();
        let told = results.clone();
        let stage = Shelf::of(Tool::default()).stage().observer(
            move |_: &CallView, result: &ToolResult| told.lock().unwrap().push(result.clone()),
        );
        let mut stack = ServiceBuilder::new()
            .layer(stage)
            .layer(PreDecisionLayer::new(move |_: CallView| {
                let loud = Loud(seen.clone());
                async move {
                    std::future::pending::<()>().await;
                    drop(loud);
                    Decision::Allow
                }
            }))
            .layer(ApprovalLayer::unavailable())
            .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
            .service(Leaf::returning(1));
        let mut call = Box::pin(stack.call(request("echo")));
        poll_once!(call);
        let dropping = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _call = call;
            assert!(!unwinding, "already unwinding");
        }));
        assert_eq!(dropping.is_err(), unwinding);
        assert_eq!(log.entries(), ["dropped"]);
        assert_eq!(
            the_one(&results).code(),
            Some(codes::ABORTED_BEFORE_DISPATCH)
        );
    }
}

/// A wrapper that spawns the dispatch lets the call end only with its body.
#[tokio::test(start_paused = true)]
async fn a_body_on_a_task_of_its_own_is_waited_for_and_published_by_it() {
    let leaf = Leaf::new(|_| async {
        sleep(Duration::from_secs(5)).await;
        Ok(json!(1))
    });
    let spawning = support::Around(|mut inner: Leaf, call| {
        let dispatch = tokio::spawn(inner.call(call));
        async move { dispatch.await? }
    });
    let (mut stack, results) = watched!(tower_layer::Layer::layer(&spawning, leaf));
    let mut call = Box::pin(stack.call(request("echo")));
    poll_once!(call);
    drop(call);
    sleep(Duration::from_secs(4)).await;
    assert!(results.lock().unwrap().is_empty());
    settle().await;
    let result = the_one(&results);
    assert_eq!(result.code(), Some(codes::ABORTED));
    assert_eq!(result.effect(), Effect::Stopped);
}

/// The same, with the last body leaving on another thread at the very time at
/// which the call is dropped.
#[test]
fn the_drop_of_a_call_and_the_end_of_its_body_may_race() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    for round in 0..300_u32 {
        let (release, released) = tokio::sync::oneshot::channel::<()>();
        let released = Arc::new(Mutex::new(Some(released)));
        let leaf = Leaf::new(move |_| {
            let released = released.lock().unwrap().take().unwrap();
            async move {
                released.await.ok();
                Ok(json!(1))
            }
        });
        let spawning = support::Around(|mut inner: Leaf, call| {
            let dispatch = tokio::spawn(inner.call(call));
            async move { dispatch.await? }
        });
        let (mut stack, results) = watched!(tower_layer::Layer::layer(&spawning, leaf));
        runtime.block_on(async {
            let mut call = Box::pin(stack.call(request("echo")));
            poll_once!(call);
            release.send(()).unwrap();
            for _ in 0..(round % 7) * 50 {
                std::hint::spin_loop();
            }
            drop(call);
            for _ in 0..1_000 {
                if !results.lock().unwrap().is_empty() {
                    break;
                }
                sleep(Duration::from_millis(1)).await;
            }
        });
        let result = the_one(&results);
        assert_eq!(result.code(), Some(codes::ABORTED));
        assert_eq!(result.effect(), Effect::Stopped);
    }
}

/// A body begins before the result is published, and then the result waits
/// for it; or it does not begin at all.
#[test]
fn a_clearance_used_on_another_thread_as_the_call_ends_runs_before_it_or_never() {
    let (mut ran, mut refused) = (0, 0);
    for round in 0..400_u32 {
        let log = Log::default();
        let body_log = log.clone();
        let leaf = Leaf::new(move |_| {
            let log = body_log.clone();
            async move {
                log.add("body");
                Ok(json!(1))
            }
        });
        let thread = Arc::new(Mutex::new(None));
        let handle = thread.clone();
        let thief = support::Around(move |inner: Leaf, call| {
            let spawned = std::thread::spawn(move || {
                let mut body = Box::pin(inner.enter(call));
                let mut cx = Context::from_waker(Waker::noop());
                while body.as_mut().poll(&mut cx).is_pending() {}
            });
            *handle.lock().unwrap() = Some(spawned);
            for _ in 0..(round % 40) * 200 {
                std::hint::spin_loop();
            }
            async { Ok(ToolOutcome::failure("not waiting")) }
        });
        let told = log.clone();
        let stage = Shelf::of(Tool::default())
            .stage()
            .observer(move |_: &CallView, result: &ToolResult| told.add(result.effect().as_str()));
        let mut stack = ServiceBuilder::new()
            .layer(stage)
            .layer(ApprovalLayer::unavailable())
            .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
            .service(tower_layer::Layer::layer(&thief, leaf));
        runtime().block_on(stack.call(request("echo"))).unwrap();
        thread.lock().unwrap().take().unwrap().join().unwrap();
        match log.entries().as_slice() {
            [body, effect] if body == "body" && effect == "stopped" => ran += 1,
            [effect] if effect == "not_started" => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(ran + refused, 400);
}

/// The last handle on a definition goes with the call that it ends.
#[tokio::test]
async fn a_definition_whose_destructor_panics_takes_no_result_away() {
    struct Loud;
    impl Definition for Loud {
        fn render(&self, _: &CallView, value: serde_json::Value) -> Result<Rendered, ToolOutcome> {
            Ok(Rendered {
                value,
                content: Vec::new(),
                meta: None,
            })
        }

        fn has_finalizer(&self) -> bool {
            true
        }
    }
    impl Drop for Loud {
        fn drop(&mut self) {
            panic!("destructor bug");
        }
    }
    let shelf = Shelf::default();
    shelf.put(Some(Arc::new(Loud)));
    let registry = shelf.clone();
    let stack = ServiceBuilder::new()
        .layer(shelf.stage())
        .layer(PostExecuteLayer::new(move |_: &PostRequest| {
            registry.put(None);
            PostDecision::accept()
        }))
        .layer(ApprovalLayer::unavailable())
        .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
        .service(Leaf::returning(1));
    assert_eq!(stack.run(request("echo")).await.value(), Some(&json!(1)));
}
