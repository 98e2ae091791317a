//! What the scheduler costs over the pipeline, and what a pending call holds.
//!
//! `cargo bench --bench scheduler` prints two tables. The first runs batches
//! of 1,000 calls at limit 10 through the scheduler, through
//! `StreamExt::buffered(10)` and through a hand-written rolling pool of ten
//! fixed slots, all over the same pipeline, interleaved, best of many rounds.
//! The second holds 100,000 calls open.

#![allow(
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a bench measures real time, and its counts are small"
)]

use std::alloc::System;
use std::future::{Future, poll_fn};
use std::hint::black_box;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use serde_json::Value;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tokio_util::sync::CancellationToken;
use toolfall::pipeline::PipelineService;
use toolfall::{
    Arguments, BoxError, CallRequest, CallView, Decision, Denial, Pipeline, PostDecision,
    PostRequest, Registry, Scheduler, ToolContext, ToolResult, Validation, raw_tool,
};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const LIMIT: usize = 10;

#[derive(Clone, Copy)]
enum Body {
    NoOp,
    WaitsOnce,
    Sleeps,
    Skewed,
}

const ARGUMENTS: [&str; 2] = [r#"{"slow":false}"#, r#"{"slow":true}"#];

fn pipeline(body: Body) -> Pipeline<impl PipelineService<Future: Send> + Send + Sync + 'static> {
    let registry = Registry::new();
    let tool = raw_tool(
        "work",
        "Works",
        serde_json::json!({"type": "object"}),
        move |arguments: Arguments, _: ToolContext| async move {
            match body {
                Body::NoOp => {}
                Body::WaitsOnce => tokio::task::yield_now().await,
                Body::Sleeps => tokio::time::sleep(Duration::from_millis(1)).await,
                Body::Skewed if arguments.text() == ARGUMENTS[1] => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Body::Skewed => tokio::time::sleep(Duration::from_millis(2)).await,
            }
            Ok::<Value, BoxError>(Value::Null)
        },
    );
    let tool = tool.validation(Validation::FreeText).parallel();
    registry.register(tool).expect("the only tool").keep();
    Pipeline::builder(registry)
        .pre_decision(|_: &CallView| Decision::Allow)
        .guard(|_: &CallView| None::<Denial>)
        .post_execute(|_: &PostRequest| PostDecision::accept())
        .build()
}

fn requests(count: usize, cancel: &CancellationToken) -> impl Iterator<Item = CallRequest> {
    let arguments = ARGUMENTS.map(|text| Arguments::from_text(text).expect("JSON"));
    let cancel = cancel.clone();
    (0..count).map(move |place| {
        let slow = usize::from(place % 10 == 0);
        CallRequest::new("call", "work", arguments[slow].clone(), cancel.clone())
    })
}

async fn one_by_one<S: PipelineService>(mut service: S, calls: Vec<CallRequest>) {
    for call in calls {
        let Ok(result) = service.call(call).await;
        black_box(result);
    }
}

async fn scheduled<S>(scheduler: Scheduler<S>, calls: Vec<CallRequest>)
where
    S: PipelineService + Send + 'static,
    S::Future: Send,
{
    let report = scheduler.batch(calls, CancellationToken::new()).run().await;
    black_box(report);
}

async fn buffered<S: PipelineService>(service: S, calls: Vec<CallRequest>) {
    let results: Vec<Result<ToolResult, _>> = futures_util::stream::iter(calls)
        .map(|call| service.clone().call(call))
        .buffered(LIMIT)
        .collect()
        .await;
    black_box(results);
}

/// The place of a call, and its future while it runs.
type Slot<F> = (usize, Pin<Box<Option<F>>>);

/// Ten places, each refilled as soon as it is free; every wake polls all.
async fn fixed_slots<S: PipelineService>(mut service: S, calls: Vec<CallRequest>) {
    let count = calls.len();
    let mut calls = calls.into_iter().enumerate();
    let mut slots: Vec<Slot<S::Future>> = (0..LIMIT).map(|_| (0, Box::pin(None))).collect();
    let mut results: Vec<Option<ToolResult>> = vec![None; count];
    let mut left = count;
    poll_fn(|cx| {
        for (place, slot) in &mut slots {
            loop {
                if slot.is_none() {
                    let Some((next, call)) = calls.next() else {
                        break;
                    };
                    *place = next;
                    slot.set(Some(service.call(call)));
                }
                let Some(future) = slot.as_mut().as_pin_mut() else {
                    break;
                };
                let Poll::Ready(Ok(result)) = future.poll(cx) else {
                    break;
                };
                results[*place] = Some(result);
                left -= 1;
                slot.set(None);
            }
        }
        if left == 0 {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    black_box(results);
}

fn main() {
    let quick = std::env::args().any(|arg| arg == "--test");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    println!(
        "| 1,000 calls, limit 10 | pipeline alone, ns a call | scheduler | fixed slots | buffered(10) | scheduler over fixed slots | allocations a call over the pipeline |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for (name, body, rounds) in [
        ("no-op", Body::NoOp, 60),
        ("waits once", Body::WaitsOnce, 60),
        ("sleeps 1 ms", Body::Sleeps, 3),
        ("skewed: each tenth 20 ms, the rest 2 ms", Body::Skewed, 3),
    ] {
        batches(&runtime, name, body, if quick { 1 } else { rounds });
    }
    let counts = [1_000, 4_000].map(|count| per_call_in_batch(&runtime, count, quick));
    println!(
        "\nno-op, by size of the batch: {:.0} ns a call of 1,000, {:.0} of 4,000",
        counts[0], counts[1]
    );
    pending(&runtime, if quick { 100 } else { 100_000 });
}

fn per_call_in_batch(runtime: &tokio::runtime::Runtime, count: usize, quick: bool) -> f64 {
    let pipeline = pipeline(Body::NoOp);
    let cancel = CancellationToken::new();
    let mut best = f64::MAX;
    for _ in 0..if quick { 1 } else { 40 } {
        let calls: Vec<CallRequest> = requests(count, &cancel).collect();
        let began = Instant::now();
        runtime.block_on(scheduled(pipeline.scheduler(), calls));
        best = best.min(began.elapsed().as_secs_f64() * 1e9 / count as f64);
    }
    best
}

fn batches(runtime: &tokio::runtime::Runtime, name: &str, body: Body, rounds: usize) {
    const COUNT: usize = 1_000;
    let pipeline = pipeline(body);
    let limit = NonZeroUsize::new(LIMIT).expect("not zero");
    let cancel = CancellationToken::new();
    let mut best = [f64::MAX; 4];
    let mut allocations = [0; 4];
    for _ in 0..rounds {
        for way in 0..4 {
            // One after the other, sleeping bodies would take seconds.
            if way == 0 && matches!(body, Body::Sleeps | Body::Skewed) {
                continue;
            }
            let calls: Vec<CallRequest> = requests(COUNT, &cancel).collect();
            let region = Region::new(ALLOCATOR);
            let began = Instant::now();
            match way {
                0 => runtime.block_on(one_by_one(pipeline.clone(), calls)),
                1 => runtime.block_on(scheduled(pipeline.scheduler().limit(limit), calls)),
                2 => runtime.block_on(fixed_slots(pipeline.clone(), calls)),
                _ => runtime.block_on(buffered(pipeline.clone(), calls)),
            }
            best[way] = best[way].min(began.elapsed().as_secs_f64() * 1e9 / COUNT as f64);
            allocations[way] = region.change().allocations;
        }
    }
    let alone = if best[0] < f64::MAX {
        format!("{:.0}", best[0])
    } else {
        "–".to_owned()
    };
    let over = if best[0] < f64::MAX {
        format!(
            "{:.2}",
            (allocations[1] as f64 - allocations[0] as f64) / COUNT as f64
        )
    } else {
        "–".to_owned()
    };
    println!(
        "| {name} | {alone} | {:.0} | {:.0} | {:.0} | {:.3} x | {over} |",
        best[1],
        best[2],
        best[3],
        best[1] / best[2],
    );
}

/// What calls hold while their bodies wait.
fn pending(runtime: &tokio::runtime::Runtime, count: usize) {
    println!("\n| {count} pending calls | bytes a call |\n|---|---:|");
    for (name, look) in [("text arguments", false), ("with a value", true)] {
        let registry = Registry::new();
        let tool = raw_tool(
            "hang",
            "Waits",
            serde_json::json!({"type": "object"}),
            move |arguments: Arguments, _: ToolContext| async move {
                if look {
                    black_box(arguments.value());
                }
                std::future::pending::<()>().await;
                Ok::<Value, BoxError>(Value::Null)
            },
        );
        registry
            .register(tool.validation(Validation::FreeText))
            .expect("the only tool")
            .keep();
        let mut service = Pipeline::builder(registry)
            .pre_decision(|_: &CallView| Decision::Allow)
            .guard(|_: &CallView| None::<Denial>)
            .post_execute(|_: &PostRequest| PostDecision::accept())
            .build();
        let cancel = CancellationToken::new();
        let _inside = runtime.enter();
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        let mut open = Vec::with_capacity(count);
        let region = Region::new(ALLOCATOR);
        for _ in 0..count {
            let arguments = r#"{"path":"a.txt","limit":10}"#.to_owned();
            let request = CallRequest::new("call_1", "hang", arguments, cancel.clone());
            let mut call = Box::pin(tower::Service::call(&mut service, request));
            assert!(call.as_mut().poll(&mut cx).is_pending());
            open.push(call);
        }
        let change = region.change();
        let held = change.bytes_allocated - change.bytes_deallocated;
        println!("| {name} | {} |", held / count);
        std::mem::forget(open);
    }
}
