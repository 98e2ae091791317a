//! The supervisor of programs' processes, with guests that are shell scripts.

#![cfg(all(feature = "code-child", target_os = "linux"))]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use toolfall::code::child::{ChildRuntime, Launcher, Sandbox};
use toolfall::code::{
    BindingArguments, BindingFuture, Budgets, CodeRuntime, Misuse, Namespace, RunFailureKind,
    RunOutcome, RunRequest,
};

/// What an honest guest begins with.
const BOOT: &str = r#"
read boot
echo '{"type":"boot-ack"}'
read run
ends() { echo "{\"type\":\"done\",\"value\":$1}"; exit 0; }
"#;

fn shell(script: &str) -> Launcher {
    Launcher::new("/bin/sh").args(["-c", script])
}

fn runtime(launcher: Launcher, budgets: Budgets) -> ChildRuntime {
    ChildRuntime::new("shell", launcher, budgets, 0).expect("the budgets can be kept")
}

async fn run(script: &str) -> RunOutcome {
    let runtime = runtime(shell(&format!("{BOOT}{script}")), Budgets::default());
    runtime.run(RunRequest::new("a program")).await.unwrap()
}

fn failed(outcome: &RunOutcome) -> (RunFailureKind, &str) {
    let error = outcome.error.as_ref().expect("it failed");
    (error.kind, &error.message)
}

/// Waits until the process is gone; false if it stays.
async fn goes(pid: &str) -> bool {
    let there = || Path::new(&format!("/proc/{pid}")).exists();
    for _ in 0..200 {
        if !there() {
            return true;
        }
        sleep(Duration::from_millis(10)).await;
    }
    false
}

fn bwrap() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path)
        .map(|folder| folder.join("bwrap"))
        .find(|file| file.exists());
    if found.is_none() {
        eprintln!("skipped: no bwrap here");
    }
    found
}

#[tokio::test]
async fn any_program_that_speaks_the_protocol_is_a_guest() {
    let outcome = run("echo '{\"type\":\"log\",\"text\":\"hi\"}'; ends '[1]'").await;
    let expected = RunOutcome::completed(vec!["hi".to_owned()], Some(json!([1])));
    assert_eq!(outcome, expected);
    let runtime = runtime(shell(""), Budgets::default());
    assert_eq!(
        (runtime.language(), runtime.isolation()),
        ("shell", "child process")
    );
}

/// conformance: RT-15
#[tokio::test]
async fn a_guest_has_no_environment() {
    let outcome = run("cat /proc/$$/environ | wc -c >&2; ends null").await;
    assert_eq!(outcome.logs, ["0"]);
}

#[tokio::test]
async fn a_guest_that_never_answers_is_ended() {
    let launcher = shell("sleep 1000").boot(Duration::from_millis(300));
    let outcome = runtime(launcher, Budgets::default())
        .run(RunRequest::new(""))
        .await
        .unwrap();
    let said = (
        RunFailureKind::WorkerExit,
        "worker did not answer within 300ms",
    );
    assert_eq!(failed(&outcome), said);

    let launcher = shell("echo broken >&2; exit 3");
    let outcome = runtime(launcher, Budgets::default())
        .run(RunRequest::new(""))
        .await
        .unwrap();
    let said = "worker exited with code 3 before completing";
    assert_eq!(failed(&outcome), (RunFailureKind::WorkerExit, said));
    assert_eq!(outcome.logs, ["broken"]);
}

#[tokio::test]
async fn what_cannot_be_started_is_the_hosts_affair() {
    let runtime = runtime(Launcher::new("/nowhere/guest"), Budgets::default());
    let misuse = runtime.run(RunRequest::new("")).await.unwrap_err();
    assert!(matches!(misuse, Misuse::NotStarted { .. }), "{misuse:?}");
    assert!(misuse.to_string().contains("/nowhere/guest"), "{misuse}");
    runtime.dispose().await;
    let misuse = runtime.run(RunRequest::new("")).await.unwrap_err();
    assert_eq!(misuse, Misuse::Disposed);
}

#[tokio::test]
async fn a_guest_says_nothing_before_it_has_a_program() {
    let script = r#"
read boot
echo '{"type":"done","value":"early"}'
echo '{"type":"log","text":"early"}'
echo '{"type":"boot-ack"}'
read run
echo '{"type":"boot-ack"}'
echo '{"type":"done","value":"late"}'
"#;
    let runtime = runtime(shell(script), Budgets::default());
    let outcome = runtime.run(RunRequest::new("")).await.unwrap();
    assert_eq!(outcome, RunOutcome::completed(vec![], Some(json!("late"))));
}

#[tokio::test]
async fn limits_are_set_before_there_is_a_program() {
    let budgets = Budgets::default()
        .heap(256 << 20)
        .compute(Duration::from_secs(7));
    let launcher = shell(&format!(
        "{BOOT}ulimit -v >&2; ulimit -t >&2; ulimit -f >&2; ulimit -c >&2; ends null"
    ));
    let launcher = launcher.own_memory(1 << 20);
    let outcome = runtime(launcher, budgets)
        .run(RunRequest::new(""))
        .await
        .unwrap();
    assert_eq!(outcome.logs, ["263168", "9", "0", "0"]);
}

#[tokio::test]
async fn the_whole_group_ends_with_the_run() {
    let outcome = run("sleep 1000 >/dev/null 2>&1 & echo $! >&2; ends null").await;
    assert!(goes(&outcome.logs[0]).await, "{outcome:?}");
    let outcome = run("sleep 1000 >/dev/null 2>&1 & echo $! >&2; exit 9").await;
    assert!(goes(&outcome.logs[0]).await, "{outcome:?}");
}

/// Without a sandbox, a process that leaves the group stays, as documented;
/// it holds nothing up.
#[tokio::test]
async fn a_process_that_left_the_group_holds_nothing_up() {
    let script = "setsid sh -c 'echo $$ >&2; exec sleep 20' & sleep 0.2; ends null";
    let outcome = timeout(Duration::from_secs(10), run(script)).await.unwrap();
    let pid = outcome.logs[0].clone();
    assert!(Path::new(&format!("/proc/{pid}")).exists(), "{outcome:?}");
    let killed = std::process::Command::new("kill").arg(&pid).status();
    assert!(killed.unwrap().success());
}

#[tokio::test]
async fn a_sandbox_keeps_what_leaves_the_group() {
    let Some(bwrap) = bwrap() else { return };
    let marker = format!("1000.{}", std::process::id());
    let script = format!("{BOOT}setsid sleep {marker} >/dev/null 2>&1 & sleep 0.1; ends null");
    let launcher = shell(&script).sandbox(Sandbox::Bwrap(bwrap.clone().into()));
    let sandboxed = runtime(launcher, Budgets::default());
    assert_eq!(sandboxed.isolation(), "child process, bubblewrap");
    let outcome = sandboxed.run(RunRequest::new("")).await.unwrap();
    assert_eq!(outcome, RunOutcome::completed(vec![], Some(Value::Null)));
    sandboxed.dispose().await;
    let sleeps = || {
        let all = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
            .any(|line| String::from_utf8_lossy(&line).starts_with(&format!("sleep\0{marker}")))
    };
    for _ in 0..200 {
        if !sleeps() {
            break;
        }
        sleep(Duration::from_millis(10)).await;
    }
    assert!(!sleeps());

    // Limits and the meter reach through the sandbox.
    let script = format!("{BOOT}ulimit -v >&2; while :; do :; done");
    let launcher = shell(&script).sandbox(Sandbox::Bwrap(bwrap.into()));
    let budgets = Budgets::default()
        .heap(64 << 20)
        .compute(Duration::from_millis(300));
    let outcome = runtime(launcher, budgets)
        .run(RunRequest::new(""))
        .await
        .unwrap();
    assert_eq!(failed(&outcome).1, "compute budget exhausted (300ms busy)");
    assert_eq!(outcome.logs, ["65536"]);
}

/// Replies of a megabyte each to a guest that calls and never reads.
#[tokio::test]
async fn a_guest_that_does_not_read_holds_nothing_up() {
    let tools = Namespace {
        global: "tools".to_owned(),
        members: vec!["big".to_owned()],
        error_class: None,
        binding: Arc::new(|_: &str, _: BindingArguments| -> BindingFuture {
            Box::pin(async { Ok(json!("x".repeat(1 << 20))) })
        }),
    };
    let script = format!(
        "{BOOT}i=0; while [ $i -lt 20 ]; do i=$((i+1)); \
         echo '{{\"type\":\"call\",\"id\":'$i',\"global\":\"tools\",\"name\":\"big\",\"args\":{{}}}}'; done; \
         sleep 0.3; ends 1"
    );
    let runtime = runtime(shell(&script), Budgets::default());
    let request = RunRequest::new("").namespace(tools);
    let outcome = timeout(Duration::from_secs(20), runtime.run(request)).await;
    let outcome = outcome.expect("it ends").unwrap();
    assert_eq!(outcome, RunOutcome::completed(vec![], Some(json!(1))));
}
