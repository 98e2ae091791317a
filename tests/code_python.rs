//! Programs in Python: the contract, and what is Python's own.

#![cfg(all(feature = "code-python", feature = "testing", target_os = "linux"))]

#[path = "support/python.rs"]
mod python;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use toolfall::code::child::Sandbox;
use toolfall::code::conformance::{Dialect, check};
use toolfall::code::protocol::truncation_marker;
use toolfall::code::python::{PythonError, PythonRuntime};
use toolfall::code::{BudgetError, Budgets, CodeRuntime, RunFailureKind, RunOutcome, RunRequest};

use self::python::{kind, message, python, run, run_with, tools};

/// Whether there is such a process, and it is no zombie.
fn is_there(pid: u64) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// conformance: RT-02, RT-03, RT-12, RT-13, RT-14, RT-15, RT-16, RT-18, RT-19, RT-20, RT-21
/// conformance: RT-22, RT-25, RT-26, RT-27, RT-39, RT-40, RT-42, RT-44
#[tokio::test]
async fn python_keeps_the_contract() {
    let make = |budgets: &Budgets| -> Arc<dyn CodeRuntime> { Arc::new(python(budgets)) };
    let report = check(&make, &Dialect::python()).await;
    assert!(report.failures().is_empty(), "{report}");
    assert!(report.skipped().is_empty(), "{report}");
}

#[tokio::test]
async fn a_runtime_says_what_it_is() {
    let runtime = python(&Budgets::default());
    assert_eq!(runtime.language(), "python");
    assert_eq!(runtime.isolation(), "child process");
    assert!(runtime.version() >= (3, 9));
    assert!(Path::new(runtime.interpreter()).is_absolute());
}

/// conformance: RT-09, RT-10
#[test]
fn budgets_are_judged_when_a_runtime_is_made() {
    let usual = Budgets::default();
    assert_eq!(usual.compute, Duration::from_secs(60));
    assert_eq!(usual.wall, Duration::from_secs(600));
    assert_eq!((usual.output, usual.heap), (67_108_864, 512 << 20));
    let build = |budgets| PythonRuntime::builder().budgets(budgets).build();
    let refused = |budgets| match build(budgets) {
        Err(error @ PythonError::Budget(_)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    for budgets in [
        Budgets::default().compute(Duration::ZERO),
        Budgets::default().wall(Duration::ZERO),
        Budgets::default().heap(0),
        Budgets::default().logs(0),
    ] {
        assert!(refused(budgets).contains("positive number"));
    }
    let wall = |millis| Budgets::default().wall(Duration::from_millis(millis));
    assert_eq!(
        refused(wall(2_147_483_648)),
        "maxWallMs must be at most 2147483647"
    );
    assert!(build(wall(2_147_483_647)).is_ok());
    assert!(refused(Budgets::default().output(3)).contains("safe integer of at least 4"));
    assert_eq!(
        Budgets::default().output(3).check(),
        Err(BudgetError::OutputTooSmall)
    );
}

/// conformance: RT-10
#[tokio::test]
async fn a_huge_ceiling_is_no_instant_timeout() {
    let budgets = Budgets::default()
        .wall(Duration::from_millis(2_147_483_647))
        .compute(Duration::MAX)
        .output(usize::MAX);
    let outcome = run_with(&budgets, "return 1").await;
    assert_eq!(outcome, RunOutcome::completed(vec![], Some(json!(1))));
}

/// conformance: RT-11
#[tokio::test]
async fn everything_that_is_printed_is_a_log() {
    let outcome = run(r#"
import logging, os, sys
print("one", 2, [3], {"four": None})
sys.stdout.write("half ")
sys.stdout.write("and half\n")
sys.stderr.buffer.write(b"bytes \xff\n")
logging.warning("from %s", "logging")
print("two\nlines")
print("no end", end="")
os.write(1, b"raw one\nraw ")
os.write(2, b"two")
return 3
"#)
    .await;
    assert_eq!(outcome.value, Some(json!(3)), "{outcome:?}");
    let said: Vec<&str> = outcome
        .logs
        .iter()
        .map(String::as_str)
        .filter(|log| !log.starts_with("raw"))
        .collect();
    assert_eq!(
        said,
        [
            "one 2 [3] {'four': None}",
            "half and half",
            "bytes \u{fffd}",
            "WARNING:root:from logging",
            "two",
            "lines",
            "no end"
        ]
    );
    let raw = outcome.logs.iter().filter(|log| log.starts_with("raw"));
    assert_eq!(raw.collect::<Vec<_>>(), ["raw one", "raw two"]);
}

/// conformance: RT-17, RT-52
#[tokio::test]
async fn a_program_outlives_the_budget_of_its_logs() {
    let budgets = Budgets::default().logs(64);
    let outcome = run_with(
        &budgets,
        r#"
import sys
for i in range(100):
    print("line", i)
    sys.stdout.flush()
return "done"
"#,
    )
    .await;
    assert_eq!(outcome.value, Some(json!("done")), "{outcome:?}");
    let (mark, kept) = outcome.logs.split_last().unwrap();
    assert_eq!(*mark, truncation_marker(64));
    assert_eq!(kept[0], "line 0");
    assert!(serde_json::to_string(kept).unwrap().len() <= 64);
    let few = run_with(&budgets, "print('few')").await;
    assert_eq!(few.logs, ["few"]);
}

#[tokio::test]
async fn an_exception_names_the_lines_of_the_program() {
    let outcome = run("def half(n):\n    return n / 0\n\nhalf(3)\n").await;
    assert_eq!(kind(&outcome), Some(RunFailureKind::Exception));
    assert_eq!(
        message(&outcome),
        "Traceback (most recent call last):\n  File \"<program>\", line 4, in <program>\n    \
         half(3)\n  File \"<program>\", line 2, in half\n    return n / 0\n\
         ZeroDivisionError: division by zero"
    );
    let outcome = run("x = 1\ny = = 2\n").await;
    assert_eq!(
        message(&outcome),
        "SyntaxError: invalid syntax (line 2)\n    y = = 2"
    );
    let outcome = run("yield 1").await;
    assert_eq!(kind(&outcome), Some(RunFailureKind::Exception));
    assert!(message(&outcome).contains("SyntaxError"), "{outcome:?}");
}

#[tokio::test]
async fn a_bare_return_is_no_value() {
    for program in [
        "return",
        "if True:\n  return\n",
        "try:\n  return\nfinally: pass",
        "",
    ] {
        assert_eq!(run(program).await, RunOutcome::completed(vec![], None));
    }
    let null = run("def f(): return\nreturn f()").await;
    assert_eq!(null.value, Some(Value::Null));
}

/// conformance: RT-22
#[tokio::test]
async fn memory_and_exits_end_the_worker_alone() {
    let budgets = Budgets::default().heap(64 << 20);
    let outcome = run_with(
        &budgets,
        "all = []\nwhile True: all.append(bytearray(1 << 20))",
    )
    .await;
    assert_eq!(
        kind(&outcome),
        Some(RunFailureKind::WorkerExit),
        "{outcome:?}"
    );
    assert!(outcome.logs.iter().any(|log| log.contains("MemoryError")));
    for (program, how) in [
        ("import os\nos._exit(7)", "with code 7"),
        ("import sys\nsys.exit(7)", "with code 7"),
        ("raise SystemExit", "with code 0"),
        ("import signal\nsignal.raise_signal(9)", "by signal 9"),
    ] {
        let outcome = run(program).await;
        assert_eq!(
            kind(&outcome),
            Some(RunFailureKind::WorkerExit),
            "{program}"
        );
        let expected = format!("worker exited {how} before completing");
        assert_eq!(message(&outcome), expected);
    }
}

/// conformance: RT-23
#[tokio::test]
async fn disposal_waits_until_the_process_is_gone() {
    let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
    let runtime = python(&Budgets::default());
    let request = RunRequest::new("import os\nawait tools.echo(pid=os.getpid())\nwhile True: pass")
        .namespace(tools(&seen));
    let other = runtime.clone();
    let running = tokio::spawn(async move { other.run(request).await });
    while seen.lock().unwrap().is_empty() {
        sleep(Duration::from_millis(5)).await;
    }
    let pid = seen.lock().unwrap()[0]["pid"].as_u64().unwrap();
    assert!(is_there(pid));
    runtime.dispose().await;
    assert!(!is_there(pid));
    let outcome = running.await.unwrap().unwrap();
    assert_eq!(kind(&outcome), Some(RunFailureKind::Abort));
    assert_eq!(message(&outcome), "runtime disposed");
    let later = runtime.run(RunRequest::new("return 1")).await.unwrap_err();
    assert!(later.to_string().contains("after disposal"), "{later}");
}

#[tokio::test]
async fn a_dropped_run_leaves_no_process() {
    let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
    let runtime = python(&Budgets::default());
    let request = RunRequest::new(
        "import os, signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
         await tools.echo(pid=os.getpid())\nwhile True: pass",
    )
    .namespace(tools(&seen));
    {
        let run = runtime.run(request);
        tokio::pin!(run);
        while seen.lock().unwrap().is_empty() {
            let _ = timeout(Duration::from_millis(5), &mut run).await;
        }
    }
    let pid = seen.lock().unwrap()[0]["pid"].as_u64().unwrap();
    let gone = async {
        while is_there(pid) {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(10), gone).await.unwrap();
}

/// conformance: RT-29
#[tokio::test]
async fn failures_before_the_start_fit_the_budget() {
    let request = RunRequest::new("return 1");
    request.cancel.cancel("because ".repeat(20));
    let budgets = Budgets::default().output(64);
    let outcome = python(&budgets).run(request).await.unwrap();
    assert_eq!(kind(&outcome), Some(RunFailureKind::OutputLimit));
    let outcome = run_with(&Budgets::default().output(4), "return (((").await;
    assert_eq!(kind(&outcome), Some(RunFailureKind::OutputLimit));
    assert_eq!((message(&outcome), outcome.logs.len()), ("", 0));
}

/// conformance: RT-62
#[tokio::test]
async fn one_program_does_it_all() {
    let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
    let request = RunRequest::new(
        r#"
good = await tools.echo({"n": 9_007_199_254_740_993})
print("got", good["n"])
try:
    await tools.fail({})
except ToolCallError as error:
    return {"good": good, "class": type(error).__name__, "member": error.toolName, "said": str(error)}
"#,
    )
    .namespace(tools(&seen));
    let outcome = python(&Budgets::default()).run(request).await.unwrap();
    assert_eq!(outcome.logs, ["got 9007199254740993"]);
    let value = json!({
        "good": {"n": 9_007_199_254_740_993_u64}, "class": "ToolCallError",
        "member": "fail", "said": "no",
    });
    assert_eq!(outcome.value, Some(value));
}

#[tokio::test]
async fn interpreters_started_ahead_are_used_once() {
    let runtime = PythonRuntime::builder().prestart(2).build().unwrap();
    assert_eq!(runtime.waiting(), 2);
    let mut pids = Vec::new();
    for n in 0..6 {
        let request =
            RunRequest::new("import os, sys\nsys.modules['left'] = 1\nreturn os.getpid()");
        pids.push(runtime.run(request).await.unwrap().value.unwrap());
        pids.dedup();
        assert_eq!(pids.len(), n + 1);
        let filled = async {
            while runtime.waiting() < 2 {
                sleep(Duration::from_millis(2)).await;
            }
        };
        timeout(Duration::from_secs(10), filled).await.unwrap();
    }
    let left = runtime
        .run(RunRequest::new("import sys\nreturn 'left' in sys.modules"))
        .await;
    assert_eq!(left.unwrap().value, Some(json!(false)));
    runtime.dispose().await;
    assert_eq!(runtime.waiting(), 0);
}

#[tokio::test]
async fn a_sandbox_is_there_or_missed_at_once() {
    let build = |bwrap: &str| {
        let sandbox = Sandbox::Bwrap(bwrap.into());
        PythonRuntime::builder().sandbox(sandbox).build()
    };
    for missing in ["/nowhere/bwrap", "/bin/false"] {
        let error = build(missing).unwrap_err();
        assert!(matches!(error, PythonError::Sandbox { .. }), "{error:?}");
    }
    let Ok(runtime) = build("bwrap") else {
        eprintln!("skipped: no bwrap here");
        return;
    };
    let seen = Arc::default();
    let program = "import os\nreturn [await tools.echo(n=1), os.getpid() < 10]";
    let request = RunRequest::new(program).namespace(tools(&seen));
    let outcome = runtime.run(request).await.unwrap();
    assert_eq!(outcome.value, Some(json!([{"n": 1}, true])), "{outcome:?}");
    runtime.dispose().await;
}

#[test]
fn what_is_no_python_is_told_apart() {
    let build = |path: &Path| PythonRuntime::builder().python(path).build().unwrap_err();
    let missing = build(Path::new("/nowhere/python3"));
    assert!(
        matches!(missing, PythonError::NotFound { .. }),
        "{missing:?}"
    );
    for path in ["/bin/false", "/bin/true", "/bin/cat"] {
        let error = build(Path::new(path));
        assert!(matches!(error, PythonError::NotWorking { .. }), "{error:?}");
        assert!(error.to_string().contains(path), "{error}");
    }
    let folder = tempfile::tempdir().unwrap();
    let old = folder.path().join("python");
    std::fs::write(
        &old,
        "#!/bin/sh\necho '[2, 7, \"/usr/bin/python2\", \"\"]'\n",
    )
    .unwrap();
    std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o755)).unwrap();
    let error = build(&old).to_string();
    assert!(
        error.contains("expected Python 3.9 or newer, found 2.7"),
        "{error}"
    );
}
