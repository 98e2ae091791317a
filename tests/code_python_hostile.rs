//! Programs in Python that mean harm: each ends in time, in an outcome, and
//! leaves nothing behind.

#![cfg(all(feature = "code-python", target_os = "linux"))]

#[path = "support/hostile_python.rs"]
mod programs;

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::pending;
use futures_util::stream::{self, StreamExt as _};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};
use toolfall::code::python::PythonRuntime;
use toolfall::code::{
    BindingArguments, BindingFuture, Budgets, CodeRuntime, Namespace, RunFailureKind, RunOutcome,
    RunRequest,
};

use self::programs::{FORGE, PROGRAMS};

/// Processes and descriptors are counted: one test at a time.
static ALONE: Mutex<()> = Mutex::const_new(());

fn tools() -> Namespace {
    Namespace {
        global: "tools".to_owned(),
        members: vec!["echo".to_owned(), "never".to_owned()],
        error_class: None,
        binding: Arc::new(
            |member: &str, arguments: BindingArguments| -> BindingFuture {
                let never = member == "never";
                Box::pin(async move {
                    let BindingArguments::Kept(arguments) = arguments else {
                        return Err("nothing".to_owned());
                    };
                    if never {
                        return pending().await;
                    }
                    Ok(arguments.value().clone())
                })
            },
        ),
    }
}

/// So long a program is waited for that is to use up its time.
const SHORT: Duration = Duration::from_millis(3_500);
/// No other needs so long, whatever else the machine does.
const LONG: Duration = Duration::from_secs(20);

fn runtime(wall: Duration) -> PythonRuntime {
    let budgets = Budgets::default()
        .compute(Duration::from_millis(500))
        .wall(wall)
        .heap(64 << 20)
        .output(1 << 20);
    let builder = PythonRuntime::builder().budgets(budgets);
    builder.build().expect("there is a Python")
}

fn end(outcome: &RunOutcome) -> &'static str {
    match &outcome.error {
        None => "-",
        Some(error) => error.kind.as_str(),
    }
}

async fn run(runtime: &PythonRuntime, program: &str) -> RunOutcome {
    let request = RunRequest::new(program).namespace(tools());
    timeout(Duration::from_secs(25), runtime.run(request))
        .await
        .expect("a run ends in time")
        .unwrap()
}

async fn honest(runtime: &PythonRuntime) {
    let outcome = run(runtime, "print('hi')\nreturn (await tools.echo(n=1))['n']").await;
    assert_eq!(outcome.value, Some(json!(1)), "{outcome:?}");
    assert_eq!(outcome.logs, ["hi"]);
}

/// How many processes have this one as their parent.
fn children() -> usize {
    let own = std::process::id().to_string();
    let parent = |entry: fs::DirEntry| {
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let (_, rest) = stat.rsplit_once(')')?;
        rest.split_ascii_whitespace().nth(1).map(str::to_owned)
    };
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    entries
        .filter_map(parent)
        .filter(|parent| *parent == own)
        .count()
}

/// Processes, threads and descriptors.
fn left() -> [usize; 3] {
    let count = |path: &str| fs::read_dir(path).unwrap().count();
    [children(), count("/proc/self/task"), count("/proc/self/fd")]
}

async fn nothing_left(before: [usize; 3]) {
    // The tests of this file that wait for their turn are threads, too.
    let settled = async {
        while left()[0] > before[0] || left()[2] > before[2] {
            sleep(Duration::from_millis(10)).await;
        }
    };
    let settled = timeout(Duration::from_secs(5), settled).await;
    assert!(settled.is_ok(), "before: {before:?}, now: {:?}", left());
    assert!(left()[1] <= before[1], "{before:?}, {:?}", left());
}

#[tokio::test]
async fn hostile_programs_end_and_leave_nothing() {
    let _alone = ALONE.lock().await;
    let (runtime, short) = (runtime(LONG), runtime(SHORT));
    honest(&runtime).await;
    let before = left();
    let wrong: Vec<String> = stream::iter(PROGRAMS)
        .map(|(name, program, expected)| {
            let waits = expected.contains("timeout");
            let runtime = if waits { &short } else { &runtime };
            async move {
                let program = if program.contains("forge") {
                    format!("{FORGE}{program}")
                } else {
                    (*program).to_owned()
                };
                let outcome = run(runtime, &program).await;
                if !expected.split(' ').any(|kind| kind == end(&outcome)) {
                    let shown: String = format!("{outcome:?}").chars().take(300).collect();
                    return Some(format!("{name}: expected {expected}, found {shown}"));
                }
                None
            }
        })
        .buffer_unordered(4)
        .filter_map(std::future::ready)
        .collect()
        .await;
    assert!(wrong.is_empty(), "{wrong:#?}");
    honest(&runtime).await;
    nothing_left(before).await;
    runtime.dispose().await;
    assert!(PROGRAMS.len() >= 40);
    assert!(!fs::exists("/tmp/toolfall-hostile").unwrap());
}

/// A program may only say that it threw, returned nonsense or said too much.
#[tokio::test]
async fn every_end_has_a_kind_and_no_value_beside_it() {
    let _alone = ALONE.lock().await;
    let runtime = runtime(LONG);
    let program = format!(
        "{FORGE}for kind in ['abort', 'worker-exit', 'timeout']: \
         forge({{'type': 'done', 'error': {{'kind': kind, 'message': ''}}}})\nreturn 'mine'"
    );
    let outcome = run(&runtime, &program).await;
    assert_eq!(
        outcome,
        RunOutcome::completed(vec![], Some(Value::from("mine")))
    );
    for odd in ["(", "[", "-", "not "] {
        let program = format!("return {}1", odd.repeat(50_000));
        let outcome = run(&runtime, &program).await;
        assert!(
            ["exception", "worker-exit"].contains(&end(&outcome)),
            "{odd} {outcome:?}"
        );
    }
    let outcome = run(&runtime, "return 1\0").await;
    assert_eq!(end(&outcome), "exception");
    let outcome = run(&runtime, "while True: pass").await;
    assert_eq!(outcome.value, None);
    assert_eq!(
        outcome.error.map(|error| (error.kind, error.message)),
        Some((
            RunFailureKind::Timeout,
            "compute budget exhausted (500ms busy)".to_owned()
        ))
    );
}

/// The bytes of memory that this process has.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    let kib = line.and_then(|line| line.split_ascii_whitespace().nth(1));
    kib.unwrap().parse::<u64>().unwrap() * 1024
}

async fn memory_comes_back(runs: usize) {
    let _alone = ALONE.lock().await;
    let runtime = runtime(LONG);
    let programs = [
        "return [1] * 20_000",
        "for i in range(2_000): print('line', i)",
        "import asyncio\nreturn len(await asyncio.gather(*[tools.echo(i=i) for i in range(100)]))",
        "raise ValueError('x' * 100_000)",
        "import os\nos._exit(3)",
        "return '\\u00e9' * 100_000",
    ];
    for program in programs.iter().cycle().take(12) {
        run(&runtime, program).await;
    }
    let before = (left(), resident());
    for program in programs.iter().cycle().take(runs) {
        run(&runtime, program).await;
    }
    nothing_left(before.0).await;
    let after = resident();
    println!("{runs} runs: {} bytes, then {after}", before.1);
    assert!(
        after <= before.1 + before.1 / 10,
        "{} grew to {after}",
        before.1
    );
}

#[tokio::test]
async fn memory_comes_back_after_30_runs() {
    memory_comes_back(30).await;
}

/// `cargo test --release --features code-python --test code_python_hostile --
/// --ignored --nocapture`
#[tokio::test]
#[ignore = "takes a minute"]
async fn memory_comes_back_after_500_runs() {
    memory_comes_back(500).await;
}
