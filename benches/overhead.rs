//! What the pipeline costs over a boxed tool with nothing around it.
//!
//! `cargo bench --bench overhead` prints one table: time, ratio and
//! difference to the boxed tool, and allocations. All contenders run
//! interleaved in one process, and the best of many rounds counts.
//!
//! `cargo bench --bench overhead -- --only NAME --calls N` runs one contender
//! and nothing else, for counting instructions:
//! `valgrind --tool=callgrind` with two different N; the difference divided
//! by the difference in N is one call.

#![allow(clippy::disallowed_methods, reason = "a bench measures real time")]

use std::alloc::System;
use std::fmt::Write as _;
use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tokio_util::sync::CancellationToken;
use toolfall::host::Host;
use toolfall::session::{SessionLog, SessionRecorder};
use toolfall::{
    Arguments, BoxError, CallRequest, CallView, ContentBlock, Decision, Denial, Pipeline,
    PostDecision, PostRequest, Registry, TimeoutLayer, ToolContext, ToolDef, ToolResult,
    Validation, raw_tool, tool_fn,
};
use tower::{Service, ServiceExt as _};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const ARGUMENTS: &str = r#"{"path":"a.txt","limit":10}"#;

/// The boxed tool: what a host has without a pipeline.
type Shown = (Value, Vec<ContentBlock>);
type BoxedFuture = Pin<Box<dyn Future<Output = Result<Shown, BoxError>> + Send>>;

trait BoxedTool: Send + Sync {
    fn call(&self, arguments: String) -> BoxedFuture;
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Read {
    path: String,
    limit: u32,
}

struct ParsesValue;

impl BoxedTool for ParsesValue {
    fn call(&self, arguments: String) -> BoxedFuture {
        Box::pin(async move {
            let arguments: Value = serde_json::from_str(&arguments)?;
            Ok(shown(of_value(&arguments)))
        })
    }
}

struct ParsesType;

impl BoxedTool for ParsesType {
    fn call(&self, arguments: String) -> BoxedFuture {
        Box::pin(async move {
            let arguments: Read = serde_json::from_str(&arguments)?;
            Ok(shown(of_type(&arguments)))
        })
    }
}

fn shown(text: String) -> Shown {
    let content = vec![ContentBlock::text(text.clone())];
    (Value::String(text), content)
}

fn of_value(arguments: &Value) -> String {
    let path = arguments["path"].as_str().unwrap_or_default();
    black_box(arguments["limit"].as_u64());
    path.to_owned()
}

fn of_type(arguments: &Read) -> String {
    black_box(arguments.limit);
    arguments.path.clone()
}

fn reads_value(name: String) -> ToolDef {
    raw_tool(
        name,
        "Reads a file",
        json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
            "required": ["path"],
        }),
        |arguments: Arguments, _: ToolContext| async move {
            Ok::<Value, BoxError>(Value::String(of_value(arguments.value())))
        },
    )
}

fn reads_type(name: String) -> ToolDef {
    tool_fn(name, "Reads a file", |arguments: Read, _: ToolContext| async move {
        Ok::<String, BoxError>(of_type(&arguments))
    })
    .validation(Validation::Decoding)
}

fn registry(tool: fn(String) -> ToolDef, change: impl Fn(ToolDef) -> ToolDef) -> Registry {
    let registry = Registry::new();
    for number in 0..32 {
        let registration = registry.register(change(tool(format!("tool_{number}"))));
        registration.expect("the names differ").keep();
    }
    registry
}

fn request(cancel: &CancellationToken) -> CallRequest {
    CallRequest::new("call_1", "tool_7", ARGUMENTS.to_owned(), cancel.clone())
}

/// Drives a future that must not wait for anything.
fn now<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return output;
        }
    }
}

fn drive<S>(mut service: S) -> Box<dyn FnMut()>
where
    S: Service<CallRequest, Response = ToolResult, Error = std::convert::Infallible> + 'static,
{
    let cancel = CancellationToken::new();
    Box::new(move || {
        let Ok(result) = now(service.call(request(&cancel)));
        assert!(!black_box(result).is_error());
    })
}

/// A policy that waits once for real.
async fn waits<T>(answer: T) -> T {
    let mut waited = false;
    std::future::poll_fn(move |cx| {
        if std::mem::replace(&mut waited, true) {
            Poll::Ready(())
        } else {
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
    answer
}

macro_rules! stack {
    ($registry:expr) => {
        Pipeline::builder($registry)
            .pre_decision(|call: &CallView| {
                if call.name() == "denied" {
                    Decision::deny("no")
                } else {
                    Decision::Allow
                }
            })
            .guard(|call: &CallView| (call.name() == "guarded").then(|| Denial::new("no")))
            .post_execute(|post: &PostRequest| {
                black_box(post.outcome().is_success());
                PostDecision::accept()
            })
            .observer(|_: &CallView, result: &ToolResult| {
                black_box(result.is_error());
            })
    };
}

struct Contender {
    name: &'static str,
    base: &'static str,
    call: Box<dyn FnMut()>,
}

fn contenders() -> Vec<Contender> {
    let mut all = Vec::new();
    let mut add = |name, base, call| all.push(Contender { name, base, call });
    for (name, tool) in [
        (
            "boxed tool, value",
            Arc::new(ParsesValue) as Arc<dyn BoxedTool>,
        ),
        ("boxed tool, type", Arc::new(ParsesType)),
    ] {
        add(
            name,
            name,
            Box::new(move || {
                let shown = now(black_box(&tool).call(ARGUMENTS.to_owned()));
                assert!(black_box(shown).is_ok());
            }),
        );
    }
    let unchecked = |tool: ToolDef| tool.validation(Validation::Decoding);
    let (value, typed) = ("boxed tool, value", "boxed tool, type");
    let plain = || registry(reads_value, unchecked);
    add(
        "pipeline, no policy",
        value,
        drive(Pipeline::builder(plain()).build()),
    );
    add(
        "pipeline, unused host",
        value,
        drive(Host::over(plain()).pipeline().build()),
    );
    add(
        "pipeline, policies at once",
        value,
        drive(stack!(plain()).build()),
    );
    add(
        "pipeline, schema validated",
        value,
        drive(stack!(registry(reads_value, |tool| tool)).build()),
    );
    add(
        "pipeline, policies that wait",
        value,
        drive(
            Pipeline::builder(plain())
                .pre_decision(|_: CallView| waits(Decision::Allow))
                .guard(|_: &CallView| None::<Denial>)
                .post_execute(|_: PostRequest| waits(PostDecision::accept()))
                .observer(|_: &CallView, result: &ToolResult| {
                    black_box(result.is_error());
                })
                .build(),
        ),
    );
    add(
        "pipeline, text kept as text",
        typed,
        drive(stack!(registry(reads_type, |tool| tool)).build()),
    );
    add(
        "pipeline, unused timeout layer",
        value,
        drive(stack!(plain()).timeout(TimeoutLayer::declared()).build()),
    );
    add(
        "pipeline, a deadline",
        value,
        drive(
            stack!(plain())
                .timeout(TimeoutLayer::new(Duration::from_secs(60)))
                .build(),
        ),
    );
    add(
        "pipeline, log in memory",
        value,
        drive({
            let recorder = Arc::new(SessionRecorder::new(SessionLog::in_memory()));
            stack!(plain()).recorder(recorder).build()
        }),
    );
    add(
        "pipeline, boxed",
        value,
        drive(stack!(plain()).build().boxed()),
    );
    add("tower, five boxed layers", value, five_boxed());
    all
}

/// Five stock layers, each behind a box, around the same boxed tool.
fn five_boxed() -> Box<dyn FnMut()> {
    type Boxed = tower::util::BoxCloneService<String, Shown, BoxError>;
    let tool: Arc<dyn BoxedTool> = Arc::new(ParsesValue);
    let leaf = tower::service_fn(move |arguments: String| tool.call(arguments));
    let one: Boxed = tower::util::BoxCloneService::new(leaf);
    let two: Boxed = tower::util::BoxCloneService::new(one.map_result(|result| result));
    let three: Boxed = tower::util::BoxCloneService::new(two.filter(|arguments: String| {
        if arguments.is_empty() {
            Err(BoxError::from("no"))
        } else {
            Ok(arguments)
        }
    }));
    let four: Boxed = tower::util::BoxCloneService::new(three.map_request(|arguments| arguments));
    let mut five: Boxed = tower::util::BoxCloneService::new(
        tower::ServiceBuilder::new()
            .concurrency_limit(64)
            .service(four),
    );
    Box::new(move || {
        let mut cx = Context::from_waker(Waker::noop());
        assert!(five.poll_ready(&mut cx).is_ready());
        let shown = now(five.call(ARGUMENTS.to_owned()));
        assert!(black_box(shown).is_ok());
    })
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let _inside = runtime.enter();
    let options: Vec<String> = std::env::args().collect();
    let option = |name: &str| {
        let place = options.iter().position(|option| option == name)?;
        options.get(place + 1).cloned()
    };
    let mut contenders = contenders();
    if let Some(only) = option("--only") {
        let calls: u64 = option("--calls")
            .and_then(|n| n.parse().ok())
            .unwrap_or(1_000);
        let found = contenders.iter_mut().find(|it| it.name == only);
        let contender = found.expect("expected the name of a contender");
        (0..calls).for_each(|_| (contender.call)());
        return;
    }
    let quick = options.iter().any(|option| option == "--test");
    let (rounds, calls) = if quick { (1, 10) } else { (60, 2_000) };
    let mut best = vec![f64::MAX; contenders.len()];
    for _ in 0..rounds {
        for (contender, best) in contenders.iter_mut().zip(&mut best) {
            let began = Instant::now();
            (0..calls).for_each(|_| (contender.call)());
            let each = began.elapsed().as_secs_f64() * 1e9 / f64::from(calls);
            *best = best.min(each);
        }
    }
    let mut table = String::from(
        "| | ns | x | ns over | allocations | over |\n|---|---:|---:|---:|---:|---:|\n",
    );
    let mut counts = Vec::new();
    for contender in &mut contenders {
        let region = Region::new(ALLOCATOR);
        (0..100).for_each(|_| (contender.call)());
        counts.push(region.change().allocations / 100);
    }
    for (place, contender) in contenders.iter().enumerate() {
        let base = contenders
            .iter()
            .position(|it| it.name == contender.base)
            .expect("a base is a contender");
        let _ = writeln!(
            table,
            "| {} | {:.0} | {:.2} | {:+.0} | {} | {:+} |",
            contender.name,
            best[place],
            best[place] / best[base],
            best[place] - best[base],
            counts[place],
            counts[place].cast_signed() - counts[base].cast_signed(),
        );
    }
    print!("{table}");
}
