//! Bodies and layers that misbehave.

#[path = "support/sched.rs"]
mod support;

use std::convert::Infallible;
use std::future::Future;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use support::{World, codes, idle, texts};
use tokio::task::AbortHandle;
use toolfall::pipeline::BoxPipeline;
use toolfall::{
    Arguments, BatchEvent, BoxError, CallRequest, Effect, FailureKind, Pipeline, Registry,
    Scheduler, ToolContext, ToolResult, raw_tool,
};
use tower::{Service, ServiceBuilder, ServiceExt as _};

/// conformance: SCHED-48
#[tokio::test(start_paused = true)]
async fn a_panicking_body_is_a_failure_in_its_place() {
    let world = World::new();
    let calls = vec![
        world.call("safe", "a", Value::Null),
        world.call("safe", "b", json!({"panic": true})),
        world.call("safe", "c", Value::Null),
    ];
    let report = world.run(10, calls).await.await.unwrap();
    assert_eq!(texts(&report), ["a", "Error: b panicked", "c"]);
    let failed = &report.committed[1].result;
    assert_eq!(
        (failed.kind(), failed.effect()),
        (Some(FailureKind::Body), Effect::Stopped)
    );
    assert!(!report.end.aborted);
}

/// The bodies are polled in place: one that blocks the thread stalls its
/// siblings until it lets go.
///
/// conformance: SCHED-50
#[test]
fn a_body_that_blocks_its_thread_stalls_its_siblings() {
    let world = World::new();
    let (release, released) = mpsc::channel::<()>();
    let released = Arc::new(Mutex::new(released));
    let inner = world.clone();
    let blocking = raw_tool(
        "block",
        "",
        json!({"type": "object"}),
        move |_: Arguments, _: ToolContext| {
            inner.say("blocking");
            let released = released.clone();
            async move {
                released.lock().unwrap().recv()?;
                Ok::<Value, BoxError>("blocked".into())
            }
        },
    );
    world.registry.register(blocking.parallel()).unwrap().keep();
    // The second worker keeps the clock going.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    let calls = vec![
        world.call("block", "a", Value::Null),
        world.call("safe", "b", Value::Null),
    ];
    let run = runtime.spawn(world.scheduler(10).batch(calls, world.cancel.clone()).run());
    runtime.block_on(async {
        while !world.has("blocking") {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_millis(30)).await;
    });
    assert!(!world.has("body:b"));
    release.send(()).unwrap();
    let report = runtime.block_on(run).unwrap();
    assert_eq!(texts(&report), ["blocked", "b"]);
}

/// conformance: SCHED-51
#[tokio::test(start_paused = true)]
async fn a_body_whose_task_was_aborted_gives_its_slot_back() {
    let world = World::new();
    let tasks: Arc<Mutex<Vec<AbortHandle>>> = Arc::default();
    let handles = tasks.clone();
    let spawning = raw_tool(
        "spawn",
        "",
        json!({"type": "object"}),
        move |_: Arguments, _: ToolContext| {
            let task = tokio::spawn(std::future::pending::<()>());
            handles.lock().unwrap().push(task.abort_handle());
            async move {
                task.await?;
                Ok::<Value, BoxError>(Value::Null)
            }
        },
    );
    world.registry.register(spawning.parallel()).unwrap().keep();
    let calls = vec![
        world.call("spawn", "a", Value::Null),
        world.call("safe", "b", Value::Null),
        world.call("safe", "c", Value::Null),
    ];
    let run = world.run(1, calls).await;
    assert_eq!(world.bodies(), "");
    tasks.lock().unwrap()[0].abort();
    let report = run.await.unwrap();
    assert!(report.committed[0].result.is_error());
    assert_eq!(texts(&report)[1..], ["b", "c"]);
}

/// A future that is never satisfied until somebody else says so, and asks to
/// be polled again all the time.
struct Impatient(Arc<Mutex<bool>>);

impl Future for Impatient {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if *self.0.lock().unwrap() {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// On one thread, with a task beside the batch that ends the wait.
#[test]
fn a_body_that_always_wakes_itself_leaves_room_for_others() {
    let world = World::new();
    let done: Arc<Mutex<bool>> = Arc::default();
    let body_done = done.clone();
    let impatient = raw_tool(
        "spin",
        "",
        json!({"type": "object"}),
        move |_: Arguments, _: ToolContext| {
            let wait = Impatient(body_done.clone());
            async move {
                wait.await;
                Ok::<Value, BoxError>("at last".into())
            }
        },
    );
    world
        .registry
        .register(impatient.parallel())
        .unwrap()
        .keep();
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let report = runtime.block_on(async {
            tokio::spawn(async move {
                tokio::task::yield_now().await;
                *done.lock().unwrap() = true;
            });
            let calls = vec![
                world.call("spin", "a", Value::Null),
                world.call("safe", "b", Value::Null),
            ];
            world
                .scheduler(2)
                .batch(calls, world.cancel.clone())
                .run()
                .await
        });
        sender.send(texts(&report)).unwrap();
    });
    let texts = ended
        .recv_timeout(Duration::from_secs(20))
        .expect("it does not spin forever");
    assert_eq!(texts, ["at last", "b"]);
}

/// A layer around a pipeline: it panics for the calls it was told to, once
/// they have passed a gate.
#[derive(Clone)]
struct Faulty {
    world: World,
    inner: BoxPipeline,
}

impl Service<CallRequest> for Faulty {
    type Response = ToolResult;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<ToolResult, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: CallRequest) -> Self::Future {
        let (world, inner) = (self.world.clone(), self.inner.clone());
        let arguments: Value = serde_json::from_str(request.raw_arguments()).unwrap();
        assert!(arguments["fault"] != "call", "fault in call");
        Box::pin(async move {
            let id = request.id().clone();
            let running = inner.oneshot(request);
            if arguments["fault"] == "during" {
                tokio::select! {
                    biased;
                    _ = running => panic!("expected the gate to open first"),
                    () = world.pass(format!("fault:{id}")) => panic!("fault of {id}"),
                }
            }
            let result = running.await;
            assert!(arguments["fault"] != "after", "fault of {id}");
            result
        })
    }
}

fn faulty(world: &World) -> Scheduler<Faulty> {
    let journal = world.journal();
    let service = Faulty {
        world: world.clone(),
        inner: world.pipeline_with(journal.clone()),
    };
    Scheduler::new(service, world.registry.clone()).journal(journal)
}

/// conformance: SCHED-46, SCHED-47
#[tokio::test(start_paused = true)]
async fn the_first_fault_goes_on_after_everything_has_settled() {
    let world = World::new();
    for place in ["fault:a", "body:a", "body:b", "pre:c"] {
        world.hold(place);
    }
    let calls = vec![
        world.call("safe", "a", json!({"fault": "during", "coop": true})),
        world.call("safe", "b", json!({"fault": "after"})),
        world.call("safe", "c", Value::Null),
        world.call("safe", "d", Value::Null),
    ];
    let mut batch = faulty(&world).batch(calls, world.cancel.clone());
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let results = seen.clone();
    let run = tokio::spawn(async move {
        while let Some(event) = batch.next().await {
            if let BatchEvent::Committed(call) = event {
                let line = format!("{} {} {:?}", call.place, call.id, call.result.code());
                results.lock().unwrap().push(line);
            }
        }
    });
    idle().await;
    assert_eq!(world.bodies(), "body:a body:b");
    assert!(world.has("pre:c"));

    world.release("fault:a");
    idle().await;
    assert!(!run.is_finished(), "b still runs");
    world.release("pre:c");
    idle().await;
    assert!(!run.is_finished(), "b still runs");
    world.release("body:b");
    let panic = run.await.unwrap_err().into_panic();
    assert_eq!(*panic.downcast::<String>().unwrap(), "fault of a");

    assert!(!world.has("body:c"), "c was still being decided");
    assert!(!world.has("pre:d"));
    let before = "Some(\"ABORTED_BEFORE_DISPATCH\")";
    assert_eq!(
        *seen.lock().unwrap(),
        [format!("2 c {before}"), format!("3 d {before}")]
    );
    for k in ["call a", "call b", "call c", "result b", "result c"] {
        assert!(world.has(k), "{k}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_fault_before_anything_is_recorded_invents_nothing() {
    let world = World::new();
    world.hold("body:a");
    let calls = vec![
        world.call("safe", "a", json!({"coop": true})),
        world.call("safe", "b", json!({"fault": "call"})),
        world.call("safe", "c", Value::Null),
    ];
    let batch = faulty(&world).batch(calls, world.cancel.clone());
    let panic = tokio::spawn(batch.run()).await.unwrap_err().into_panic();
    assert_eq!(*panic.downcast::<&str>().unwrap(), "fault in call");
    assert_eq!(
        world.only(&["call", "result"]),
        "call a result a call c result c"
    );
    assert_eq!(world.running(), 0);
}

/// Stock limits around a pipeline must be readied before they are called, and
/// count for the whole call.
#[tokio::test(start_paused = true)]
async fn a_limit_around_the_pipeline_is_readied_first() {
    let world = World::new();
    let calls = (0..6)
        .map(|n| world.call("safe", &n.to_string(), json!({"ms": 10})))
        .collect::<Vec<_>>();
    let journal = world.journal();
    let service = ServiceBuilder::new()
        .concurrency_limit(2)
        .service(world.pipeline_with(journal.clone()));
    let scheduler = Scheduler::new(service, world.registry.clone()).journal(journal);
    let report = scheduler.batch(calls, world.cancel.clone()).run().await;
    assert_eq!(texts(&report), ["0", "1", "2", "3", "4", "5"]);
    assert_eq!(world.most(), 2);
}

/// Tools that vanish, names nobody registered and arguments that cannot be
/// kept get their results in their places.
#[tokio::test(start_paused = true)]
async fn odd_calls_get_results_in_their_places() {
    let world = World::new();
    let calls = vec![
        world.call("safe", "a", Value::Null),
        world.call("nope", "b", Value::Null),
        CallRequest::new("c", "safe", r#"{"k":1,"k":2}"#, world.cancel.clone()),
        CallRequest::new("d", "safe", "not json", world.cancel.clone()),
        world.call("safe", "e", Value::Null),
    ];
    let report = world.run(10, calls).await.await.unwrap();
    let codes = codes(&report);
    assert_eq!(
        codes,
        [
            None,
            Some("UNKNOWN_TOOL"),
            Some("INVALID_ARGS"),
            Some("INVALID_ARGS"),
            None
        ]
    );
    assert_eq!(world.bodies(), "body:a body:a. body:e body:e.");
}

/// A classifier that panics in a batch makes an exclusive call, nothing else.
#[tokio::test(start_paused = true)]
async fn a_panicking_classifier_in_a_batch_is_a_barrier() {
    let world = World::new();
    let odd = world
        .tool("odd")
        .parallel_when(|_| panic!("in a classifier"));
    world.registry.register(odd).unwrap().keep();
    world.hold("body:x");
    let calls = vec![
        world.call("odd", "x", Value::Null),
        world.call("safe", "b", Value::Null),
    ];
    let run = world.run(10, calls).await;
    assert_eq!(world.bodies(), "body:x");
    world.release("body:x");
    assert_eq!(texts(&run.await.unwrap()), ["x", "b"]);
}

/// A big batch of small bodies on real threads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_that_are_woken_from_other_threads_all_end() {
    let registry = Registry::new();
    let hop = raw_tool(
        "hop",
        "",
        json!({"type": "object"}),
        |arguments: Arguments, _: ToolContext| async move {
            for _ in 0..20 {
                tokio::spawn(async { tokio::task::yield_now().await }).await?;
            }
            Ok::<Value, BoxError>(arguments.value()["n"].clone())
        },
    );
    registry.register(hop.parallel()).unwrap().keep();
    let scheduler = Pipeline::builder(registry)
        .build()
        .scheduler()
        .limit(NonZeroUsize::new(7).unwrap());
    let cancel = tokio_util::sync::CancellationToken::new();
    let calls = (0..300)
        .map(|n| CallRequest::new("id", "hop", json!({"n": n}).to_string(), cancel.clone()));
    let calls: Vec<_> = calls.collect();
    let run = tokio::spawn(scheduler.batch(calls, cancel.clone()).run());
    let report = tokio::time::timeout(Duration::from_secs(60), run)
        .await
        .expect("no lost wake-up")
        .unwrap();
    let expected: Vec<String> = (0..300).map(|n| n.to_string()).collect();
    assert_eq!(texts(&report), expected);
}
