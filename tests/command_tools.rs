//! Command tools: real programs, their process groups, and what is left.
#![cfg(unix)]
// Real processes keep real time.
#![allow(clippy::disallowed_methods)]

use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolfall::command::CommandTool;
use toolfall::{Effect, FailureKind, Pipeline, Registry, TimeoutLayer, ToolResult};

fn sh(script: &str) -> CommandTool {
    let parameters = json!({"type": "object"});
    CommandTool::new("run", "Runs", parameters, "sh").args(["-c", script])
}

async fn run(tool: CommandTool, arguments: Value, token: CancellationToken) -> ToolResult {
    let registry = Registry::new();
    registry.register(tool.into_tool()).expect("fresh").keep();
    let pipeline = Pipeline::builder(registry)
        .timeout(TimeoutLayer::declared())
        .build();
    pipeline
        .call("1", "run", arguments.to_string(), token)
        .await
}

async fn plain(script: &str) -> ToolResult {
    run(sh(script), json!({}), CancellationToken::new()).await
}

/// A marker that only the processes of one test carry on their command line.
fn marker(name: &str) -> String {
    format!("toolfall-test-{name}-{}", std::process::id())
}

/// How many processes carry the marker, zombies not counted.
fn alive(marker: &str) -> usize {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return 0;
    };
    processes
        .flatten()
        .filter(|process| {
            let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(marker)
        })
        .count()
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..1_000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("waited in vain: {what}");
}

/// A family: a leader that starts children that start children.
fn family(marker: &str, trap: &str) -> String {
    format!(
        "{trap} : {marker}; sh -c '{trap} : {marker}; sh -c \"{trap} : {marker}; sleep 300; :\" & \
         sleep 300; :' & sh -c '{trap} : {marker}; sleep 300; :'; :"
    )
}

#[tokio::test]
async fn arguments_go_in_and_the_answer_comes_out() {
    let same = CommandTool::new("run", "", json!({"type": "object"}), "cat");
    let arguments = json!({"text": "ä\n\"x\"", "list": [1, 2.5, null]});
    let result = run(same, arguments.clone(), CancellationToken::new()).await;
    assert_eq!(result.value(), Some(&arguments));
    assert_eq!(result.effect(), Effect::Stopped);
    assert_eq!(plain("echo null").await.value(), Some(&Value::Null));
}

#[tokio::test]
async fn no_shell_touches_the_arguments_of_the_program() {
    let tool = CommandTool::new("run", "", json!({"type": "object"}), "python3").args([
        "-c",
        "import json, sys; print(json.dumps(sys.argv[1:]))",
        "$HOME *",
        "; rm",
        "",
    ]);
    let result = run(tool, json!({}), CancellationToken::new()).await;
    assert_eq!(result.value(), Some(&json!(["$HOME *", "; rm", ""])));
}

#[tokio::test]
async fn a_failure_tells_status_and_standard_error() {
    let result = plain("echo 'no such city' >&2; exit 3").await;
    assert_eq!(result.code(), Some("COMMAND_FAILED"));
    assert_eq!(result.kind(), Some(FailureKind::Body));
    assert_eq!(
        result.message(),
        Some("the program ended with exit status: 3: no such city")
    );
    let result = plain("kill -KILL $$").await;
    assert!(result.text().contains("signal: 9"), "{}", result.text());
    let result = run(
        CommandTool::new("run", "", json!({}), "/no/such/program"),
        json!({}),
        CancellationToken::new(),
    )
    .await;
    assert_eq!(result.code(), Some("COMMAND_NOT_STARTED"));
}

#[tokio::test]
async fn an_answer_that_is_not_one_json_value_is_refused() {
    for script in [
        "echo hello",
        ":",
        "echo '{} {}'",
        "echo '{\"a\":1,\"a\":2}'",
        "echo 123456789012345678901234567890",
        "printf '\\377'",
        "echo NaN",
    ] {
        let result = plain(script).await;
        assert_eq!(
            result.code(),
            Some("INVALID_TOOL_OUTPUT"),
            "{script}: {}",
            result.text()
        );
    }
}

#[tokio::test]
async fn output_is_bounded() {
    let flood = "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done";
    let result = run(
        sh(flood).stdout_limit(10_000),
        json!({}),
        CancellationToken::new(),
    )
    .await;
    assert_eq!(result.code(), Some("COMMAND_OUTPUT_TOO_LARGE"));
    let exact = run(
        sh("printf '\"12345678\"'").stdout_limit(10),
        json!({}),
        CancellationToken::new(),
    )
    .await;
    assert_eq!(exact.text(), "12345678", "the limit itself is allowed");
    let noisy = "i=0; while [ $i -lt 20000 ]; do echo line $i >&2; i=$((i+1)); done; exit 1";
    let result = plain(noisy).await;
    let text = result.text();
    assert!(text.ends_with("line 19999"), "the end is kept: {text}");
    assert!(text.len() < 5_000, "{} bytes", text.len());
}

#[tokio::test]
async fn a_program_need_not_read_what_it_is_told() {
    let large = json!({"text": "x".repeat(1 << 20)});
    let result = run(sh("echo 1"), large, CancellationToken::new()).await;
    assert_eq!(result.value(), Some(&json!(1)), "{}", result.text());
}

#[tokio::test]
async fn only_the_named_variables_are_passed() {
    let print = "import json, os; print(json.dumps(sorted(os.environ)))";
    let tool = CommandTool::new("run", "", json!({}), "python3")
        .args(["-I", "-c", print])
        .only_env(["PATH", "TOOLFALL_NOT_SET"])
        .env("EXTRA", "1");
    let result = run(tool, json!({}), CancellationToken::new()).await;
    let names = result.value().expect("it ran").to_string();
    assert!(names.contains("EXTRA") && names.contains("PATH"), "{names}");
    assert!(
        !names.contains("HOME") && !names.contains("CARGO"),
        "{names}"
    );
}

#[tokio::test]
async fn cancelling_ends_the_whole_group() {
    let marker = marker("cancel");
    let token = CancellationToken::new();
    let tool = sh(&family(&marker, ""));
    let running = tokio::spawn(run(tool, json!({}), token.clone()));
    until("the family runs", || alive(&marker) >= 4).await;
    token.cancel();
    let result = running.await.expect("no panic");
    assert_eq!(result.code(), Some("ABORTED"));
    assert_eq!(result.effect(), Effect::Stopped);
    until("the family is gone", || alive(&marker) == 0).await;
}

#[tokio::test]
async fn a_group_that_will_not_end_is_killed_after_its_grace() {
    let marker = marker("stubborn");
    let token = CancellationToken::new();
    let tool = sh(&family(&marker, "trap \"\" TERM;")).grace(Duration::from_millis(200));
    let running = tokio::spawn(run(tool, json!({}), token.clone()));
    until("the family runs", || alive(&marker) >= 4).await;
    token.cancel();
    let result = tokio::time::timeout(Duration::from_secs(60), running).await;
    let result = result.expect("it ends").expect("no panic");
    assert_eq!(result.code(), Some("ABORTED"));
    until("the family is gone", || alive(&marker) == 0).await;
}

#[tokio::test]
async fn a_program_may_clean_up_in_its_grace() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "trap 'sleep 0.2; echo done > cleaned; exit 0' TERM; echo > ready; \
                  while :; do sleep 0.01; done";
    let token = CancellationToken::new();
    let tool = sh(script)
        .current_dir(folder.path())
        .grace(Duration::from_secs(60));
    let running = tokio::spawn(run(tool, json!({}), token.clone()));
    until("it is ready", || folder.path().join("ready").exists()).await;
    token.cancel();
    let result = running.await.expect("no panic");
    assert_eq!(result.code(), Some("ABORTED"));
    assert!(folder.path().join("cleaned").exists());
}

#[tokio::test]
async fn a_spent_budget_ends_the_group_too() {
    let marker = marker("budget");
    let tool = sh(&family(&marker, "")).budget(Duration::from_millis(300));
    let result = run(tool, json!({}), CancellationToken::new()).await;
    assert_eq!(result.code(), Some("TOOL_TIMEOUT"), "{}", result.text());
    until("the family is gone", || alive(&marker) == 0).await;
}

#[tokio::test]
async fn what_a_program_leaves_behind_is_killed() {
    let marker = marker("left");
    let script = format!("sh -c ': {marker}; sleep 300; :' & echo 5");
    let result = plain(&script).await;
    assert_eq!(result.value(), Some(&json!(5)));
    until("nothing is left", || alive(&marker) == 0).await;
}

#[tokio::test]
async fn a_dropped_call_ends_the_group() {
    let marker = marker("dropped");
    let tool = sh(&family(&marker, ""));
    let running = tokio::spawn(run(tool, json!({}), CancellationToken::new()));
    until("the family runs", || alive(&marker) >= 4).await;
    running.abort();
    until("the family is gone", || alive(&marker) == 0).await;
}

#[test]
fn a_runtime_that_goes_away_takes_the_group_with_it() {
    let marker = marker("runtime");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let tool = sh(&family(&marker, "trap \"\" TERM;"));
    runtime.spawn(run(tool, json!({}), CancellationToken::new()));
    runtime.block_on(until("the family runs", || alive(&marker) >= 4));
    runtime.shutdown_timeout(Duration::from_millis(100));
    for _ in 0..500 {
        if alive(&marker) == 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("somebody is left");
}
