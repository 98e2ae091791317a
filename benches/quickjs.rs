//! What a program in JavaScript costs, in a thread and in a process.
//!
//! `cargo bench --features code-ts --bench quickjs` prints medians beside
//! what they are to stay below. The processes are this bench's own executable.

#![allow(clippy::disallowed_methods, reason = "a bench measures real time")]

#[cfg(target_os = "linux")]
mod linux {
    use std::hint::black_box;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use serde_json::json;
    use toolfall::code::quickjs::{QuickJsRuntime, worker};
    use toolfall::code::{BindingArguments, BindingFuture, CodeRuntime, Namespace, RunRequest};

    const CALLS: u32 = 500;

    fn tools() -> Namespace {
        Namespace {
            global: "tools".to_owned(),
            members: vec!["echo".to_owned(), "slow".to_owned()],
            error_class: None,
            binding: Arc::new(|member: &str, _: BindingArguments| -> BindingFuture {
                let slow = member == "slow";
                Box::pin(async move {
                    if slow {
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                    Ok(json!(1))
                })
            }),
        }
    }

    /// The median of so many runs.
    async fn median(runtime: &QuickJsRuntime, program: &str, rounds: usize) -> Duration {
        let mut took = Vec::new();
        let pause = Duration::from_millis(if runtime.waiting() > 0 { 25 } else { 1 });
        for _ in 0..rounds {
            let request = RunRequest::new(program).namespace(tools());
            let begun = Instant::now();
            let outcome = runtime.run(request).await.expect("it is started");
            took.push(begun.elapsed());
            assert_eq!(outcome.error, None);
            // A process that is started behind the run is ready for the next.
            tokio::time::sleep(pause).await;
        }
        took.sort();
        took[took.len() / 2]
    }

    fn row(what: &str, took: Duration, bound: &str) {
        println!("| {what} | {:.3} | {bound} |", took.as_secs_f64() * 1e3);
    }

    pub(super) fn main() {
        worker();
        let quick = std::env::args().any(|option| option == "--test");
        let rounds = if quick { 3 } else { 101 };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        println!("| | ms | at most |");
        println!("|---|---:|---:|");
        let job = async move {
            let thread = QuickJsRuntime::in_process().build().expect("a runtime");
            let fresh = QuickJsRuntime::builder().build().expect("a runtime");
            let ahead = QuickJsRuntime::builder()
                .prestart(1)
                .build()
                .expect("a runtime");
            let constant = "return 1";
            row(
                "a constant, in process",
                median(&thread, constant, rounds).await,
                "1",
            );
            row(
                "a constant, fresh process",
                median(&fresh, constant, rounds).await,
                "8",
            );
            row(
                "a constant, process started ahead",
                median(&ahead, constant, rounds).await,
                "2",
            );
            let calls = format!("for (let i = 0; i < {CALLS}; i++) await tools.echo({{}})");
            let few = rounds.min(21);
            let begun = Instant::now();
            for _ in 0..CALLS {
                let called = tools().binding.call("echo", BindingArguments::Missing);
                black_box(called.await).expect("a value");
            }
            let direct = begun.elapsed() / CALLS;
            for (place, runtime, bound) in [
                ("in process", &thread, "0.015"),
                ("process", &fresh, "0.060"),
            ] {
                let bare = median(runtime, constant, few).await;
                let with = median(runtime, &calls, few).await;
                let each = with.saturating_sub(bare) / CALLS;
                row(
                    &format!("a call more than a direct one, {place}"),
                    each.saturating_sub(direct),
                    bound,
                );
            }
            let both = "await Promise.all([tools.slow(), tools.slow()])";
            row(
                "two calls of 50 ms, in process",
                median(&thread, both, few).await,
                "60",
            );
            row(
                "two calls of 50 ms, process started ahead",
                median(&ahead, both, few).await,
                "60",
            );
            for runtime in [thread, fresh, ahead] {
                runtime.dispose().await;
            }
        };
        let job = runtime.spawn(job);
        runtime.block_on(job).expect("no panic");
    }
}

fn main() {
    #[cfg(target_os = "linux")]
    linux::main();
}
