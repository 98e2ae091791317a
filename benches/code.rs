//! What a program costs, and a call that it makes.
//!
//! `cargo bench --bench code --features code-python` prints medians.

#![allow(clippy::disallowed_methods, reason = "a bench measures real time")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use toolfall::code::python::PythonRuntime;
use toolfall::code::{BindingArguments, BindingFuture, CodeRuntime, Namespace, RunRequest};

/// One language: its runtime with so many processes started ahead, and how
/// many of them wait now.
struct Language {
    name: &'static str,
    runtime: Arc<dyn CodeRuntime>,
    waiting: Box<dyn Fn() -> usize>,
    constant: &'static str,
    /// Calls `tools.echo` as often as `N` says, one after the other.
    calls: &'static str,
    /// Two calls of 50 ms at once.
    overlap: &'static str,
}

fn python(prestart: usize) -> Option<Language> {
    let runtime = PythonRuntime::builder().prestart(prestart).build();
    let Ok(runtime) = runtime else {
        println!("no Python here");
        return None;
    };
    let waits = runtime.clone();
    Some(Language {
        name: "python",
        runtime: Arc::new(runtime),
        waiting: Box::new(move || waits.waiting()),
        constant: "return 1",
        calls: "for i in range(N): await tools.echo({'i': i})",
        overlap: "import asyncio\nawait asyncio.gather(tools.wait({}), tools.wait({}))",
    })
}

fn tools() -> Namespace {
    Namespace {
        global: "tools".to_owned(),
        members: vec!["echo".to_owned(), "wait".to_owned()],
        error_class: None,
        binding: Arc::new(|member: &str, _: BindingArguments| -> BindingFuture {
            let waits = member == "wait";
            Box::pin(async move {
                if waits {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                Ok(json!(1))
            })
        }),
    }
}

impl Language {
    async fn run(&self, program: &str) -> Duration {
        let request = RunRequest::new(program).namespace(tools());
        let start = Instant::now();
        let outcome = self.runtime.run(request).await.expect("it can be run");
        let took = start.elapsed();
        assert_eq!(outcome.error, None);
        took
    }

    /// The median of `tries` runs, each begun once `prestart` processes wait
    /// and have had the time to get ready.
    async fn median(&self, program: &str, tries: usize, prestart: usize) -> Duration {
        let mut took = Vec::new();
        for _ in 0..tries {
            while (self.waiting)() < prestart {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            if prestart > 0 {
                tokio::time::sleep(Duration::from_millis(150)).await;
            }
            took.push(self.run(program).await);
        }
        took.sort();
        took[took.len() / 2]
    }
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let quick = std::env::args().any(|option| option == "--test");
    let tries = if quick { 1 } else { 31 };
    let calls = if quick { 10_u32 } else { 2_000 };
    println!(
        "| language | constant, fresh, ms | constant, started ahead, ms | a call, µs | two calls of 50 ms, ms |"
    );
    println!("|---|---:|---:|---:|---:|");
    let (Some(fresh), Some(ahead)) = (python(0), python(1)) else {
        return;
    };
    let constant = fresh.median(fresh.constant, tries, 0).await;
    let waiting = ahead.median(ahead.constant, tries, 1).await;
    let many = fresh.calls.replace('N', &calls.to_string());
    let few = fresh.calls.replace('N', "0");
    let with = ahead.median(&many, tries.min(7), 1).await;
    let without = ahead.median(&few, tries.min(7), 1).await;
    let call = with.saturating_sub(without) / calls;
    let overlap = ahead.median(ahead.overlap, tries.min(7), 1).await;
    println!(
        "| {} | {:.1} | {:.1} | {:.0} | {:.1} |",
        fresh.name,
        millis(constant),
        millis(waiting),
        millis(call) * 1e3,
        millis(overlap),
    );
    fresh.runtime.dispose().await;
    ahead.runtime.dispose().await;
}
