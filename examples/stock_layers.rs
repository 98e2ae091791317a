//! tower's own layers at their places in the stack, and what the model reads
//! when one of them refuses a call.
//!
//! `cargo run --example stock_layers`
//!
//! There are two places. **Around the dispatch**
//! ([`around`](toolfall::PipelineBuilder::around), or below the guard of a
//! hand-written stack) a layer sees every call of every tool, after approval
//! and guards; its error skips post-execute and becomes a failure with a code.
//! **Around one tool's service** ([`service_tool`]) it sees that tool's
//! arguments alone; its error is the tool's own failure, which policies after
//! the tool see and [`RetryLayer`] tries again.
//!
//! What to know of these layers here:
//!
//! - `LoadShed` refuses what the layer *inside* it is not ready for. Outside
//!   the result stage, which is always ready, it never sheds.
//! - `RateLimit` is not `Clone`, and every stage that waits clones what is
//!   inside it: put a `Buffer` outside it.
//! - `Buffer` spawns its worker when the stack is built: outside a runtime
//!   that panics.
//! - A limit without `LoadShed` or `Buffer` outside it is waited for before
//!   the guard lets the call in. Until then the scheduler does not ask the
//!   policies about the next call of the batch.
//! - A limit below the scheduler's own (10 unless set) lets a call that waits
//!   for its place keep a slot from its siblings.
//! - A limit around the dispatch is shared with the calls that tools make
//!   themselves. A parent that waits for its child while it holds the last
//!   permit waits for ever: limit single tools instead, or shed.
//! - A limit among the decision layers is held while a person is asked.
//! - There is no stock circuit breaker or cache. The first is `filter` and
//!   `map_result` around one service, below; the second a small layer of one's
//!   own, in `cache_layer.rs`.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use toolfall::pipeline::BoxPipeline;
use toolfall::{
    BoxError, ClearedCall, CodedError, Pipeline, Registry, RetryLayer, ToolDef, ToolResult,
    service_tool,
};
use tower::ServiceBuilder;
use tower::buffer::BufferLayer;
use tower::limit::{ConcurrencyLimitLayer, RateLimitLayer};
use tower::load_shed::LoadShedLayer;
use tower::load_shed::error::Overloaded;

const SECOND: Duration = Duration::from_secs(1);

/// What every refusal for want of room reads like.
const FULL: &str = "Error: the tool is overloaded; try again later";

/// A body that takes a second and counts its runs.
async fn work(runs: Arc<AtomicU32>) -> Result<Value, BoxError> {
    sleep(SECOND).await;
    Ok(json!(runs.fetch_add(1, Ordering::SeqCst) + 1))
}

fn any_object() -> Value {
    json!({"type": "object"})
}

fn worker() -> ToolDef {
    let runs = Arc::new(AtomicU32::new(0));
    let body = tower::service_fn(move |_: Value| work(runs.clone()));
    service_tool("work", "Takes a second", any_object(), body)
}

fn registry(tool: ToolDef) -> Result<Registry, BoxError> {
    let registry = Registry::new();
    registry.register(tool)?.keep();
    Ok(registry)
}

async fn call(pipeline: &BoxPipeline) -> ToolResult {
    let call = pipeline.call("1", "work", "{}", CancellationToken::new());
    call.await
}

/// Texts and codes of `count` calls made at once.
async fn at_once(pipeline: &BoxPipeline, count: usize) -> Vec<(String, Option<String>)> {
    let results = join_all((0..count).map(|_| call(pipeline))).await;
    let told = |result: ToolResult| (result.text(), result.code().map(str::to_owned));
    results.into_iter().map(told).collect()
}

fn ran(text: &str) -> (String, Option<String>) {
    (text.to_owned(), None)
}

fn full() -> (String, Option<String>) {
    (FULL.to_owned(), Some("OVERLOADED".to_owned()))
}

/// Around the dispatch: at most one call at a time, and nobody waits.
async fn concurrency_limit_with_load_shed() -> Result<(), BoxError> {
    let pipeline = Pipeline::builder(registry(worker())?)
        // Outside the limit, whose readiness it asks.
        .around(LoadShedLayer::new())
        .around(ConcurrencyLimitLayer::new(1))
        .build()
        .boxed();
    assert_eq!(at_once(&pipeline, 2).await, [ran("1"), full()]);
    assert_eq!(
        at_once(&pipeline, 1).await,
        [ran("2")],
        "the permit is back"
    );
    Ok(())
}

/// Around the dispatch: a few calls wait in a queue, the others are refused.
async fn bounded_queue() -> Result<(), BoxError> {
    let pipeline = Pipeline::builder(registry(worker())?)
        .around(LoadShedLayer::new())
        // One in the queue, and one in the hands of the buffer's worker.
        .around(BufferLayer::<ClearedCall>::new(1))
        .around(ConcurrencyLimitLayer::new(1))
        .build()
        .boxed();
    let first = tokio::spawn({
        let pipeline = pipeline.clone();
        async move { call(&pipeline).await }
    });
    sleep(SECOND / 4).await;
    let second = tokio::spawn({
        let pipeline = pipeline.clone();
        async move { call(&pipeline).await }
    });
    sleep(SECOND / 4).await;
    let (third, fourth) = join(call(&pipeline), call(&pipeline)).await;
    assert_eq!(fourth.text(), FULL);
    assert_eq!(fourth.code(), Some("OVERLOADED"));
    assert_eq!(
        (first.await?.text(), second.await?.text()),
        ("1".into(), "2".into())
    );
    assert_eq!(third.text(), "3");
    Ok(())
}

/// Around the dispatch: two calls a second. Without `LoadShed` further ones
/// wait, with it they are refused.
async fn rate_limit() -> Result<(), BoxError> {
    let patient = Pipeline::builder(registry(worker())?)
        .around(BufferLayer::<ClearedCall>::new(8))
        .around(RateLimitLayer::new(2, 10 * SECOND))
        .build()
        .boxed();
    let began = Instant::now();
    assert_eq!(at_once(&patient, 3).await, [ran("1"), ran("2"), ran("3")]);
    assert!(
        began.elapsed() >= 10 * SECOND,
        "the third waited for its turn"
    );

    let strict = Pipeline::builder(registry(worker())?)
        .around(BufferLayer::<ClearedCall>::new(8))
        // Inside the buffer, beside the limit that it asks.
        .around(LoadShedLayer::new())
        .around(RateLimitLayer::new(2, 10 * SECOND))
        .build()
        .boxed();
    assert_eq!(at_once(&strict, 3).await, [ran("1"), ran("2"), full()]);
    sleep(10 * SECOND).await;
    assert_eq!(at_once(&strict, 1).await, [ran("3")]);
    Ok(())
}

/// Around one tool: the same limit for this tool alone. The error is the
/// tool's own, and has the code that the tool gives it.
async fn one_tools_limit() -> Result<(), BoxError> {
    let limited = |name_it: bool| {
        let runs = Arc::new(AtomicU32::new(0));
        let service = ServiceBuilder::new()
            .map_err(move |error: BoxError| {
                if error.is::<Overloaded>() && name_it {
                    CodedError::new("OverloadedError", "OVERLOADED", "one at a time").into()
                } else {
                    error
                }
            })
            .load_shed()
            .concurrency_limit(1)
            .service_fn(move |_: Value| work(runs.clone()));
        service_tool("work", "Takes a second", any_object(), service)
    };
    let pipeline = Pipeline::builder(registry(limited(false))?).build().boxed();
    let told = at_once(&pipeline, 2).await;
    assert_eq!(
        told,
        [ran("1"), ran("Error: service overloaded")],
        "no code"
    );

    let pipeline = Pipeline::builder(registry(limited(true))?).build().boxed();
    let named = (
        "Error: one at a time".to_owned(),
        Some("OVERLOADED".to_owned()),
    );
    assert_eq!(at_once(&pipeline, 2).await, [ran("1"), named]);

    // Our own RetryLayer, because tower's cannot: a clearance is no Clone. It
    // tries failures of repeatable tools again, and no errors from around.
    let pipeline = Pipeline::builder(registry(limited(true).repeatable())?)
        .retry(RetryLayer::new(NonZeroU32::MIN.saturating_add(2)).with_backoff(|_| SECOND))
        .build()
        .boxed();
    assert_eq!(at_once(&pipeline, 2).await, [ran("1"), ran("2")]);
    Ok(())
}

/// Around one tool: after two failures in a row nobody calls it for a minute.
async fn circuit_breaker() -> Result<(), BoxError> {
    #[derive(Default)]
    struct Circuit {
        failures: u32,
        opened: Option<Instant>,
    }
    let circuit = Arc::new(Mutex::new(Circuit::default()));
    let (asked, noted) = (circuit.clone(), circuit);
    let runs = Arc::new(AtomicU32::new(0));
    let counted = runs.clone();
    let service = ServiceBuilder::new()
        .filter(move |arguments: Value| {
            let circuit = asked.lock().unwrap_or_else(PoisonError::into_inner);
            match circuit.opened {
                Some(opened) if opened.elapsed() < 60 * SECOND => Err(BoxError::from(
                    CodedError::new("CircuitError", "CIRCUIT_OPEN", "it failed too often; wait"),
                )),
                _ => Ok(arguments),
            }
        })
        .map_result(move |answer: Result<Value, BoxError>| {
            let mut circuit = noted.lock().unwrap_or_else(PoisonError::into_inner);
            circuit.failures = if answer.is_ok() {
                0
            } else {
                circuit.failures + 1
            };
            circuit.opened = (circuit.failures >= 2).then(Instant::now);
            answer
        })
        .service_fn(move |_: Value| {
            let run = counted.fetch_add(1, Ordering::SeqCst) + 1;
            async move {
                if run > 2 {
                    Ok(json!(run))
                } else {
                    Err("no connection".into())
                }
            }
        });
    let tool = service_tool("work", "Fails twice", any_object(), service);
    let pipeline = Pipeline::builder(registry(tool)?).build().boxed();
    let mut texts = Vec::new();
    for _ in 0..3 {
        texts.push(call(&pipeline).await.text());
    }
    assert_eq!(texts[..2], ["Error: no connection", "Error: no connection"]);
    assert_eq!(texts[2], "Error: it failed too often; wait");
    assert_eq!(call(&pipeline).await.code(), Some("CIRCUIT_OPEN"));
    assert_eq!(
        runs.load(Ordering::SeqCst),
        2,
        "an open circuit starts nothing"
    );
    sleep(60 * SECOND).await;
    assert_eq!(call(&pipeline).await.text(), "3");
    Ok(())
}

// Time is paused: tokio moves on to the next timer when nothing else can run.
#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), BoxError> {
    concurrency_limit_with_load_shed().await?;
    bounded_queue().await?;
    rate_limit().await?;
    one_tools_limit().await?;
    circuit_breaker().await?;
    println!("every refusal reads as it should");
    Ok(())
}
