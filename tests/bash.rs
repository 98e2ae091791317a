//! Command lines in a shell: real processes, bounded and never left behind.
#![cfg(unix)]

#[path = "support/facade.rs"]
mod support;

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use support::request;
use tokio_util::sync::CancellationToken;
use toolfall::bash::{BashReport, BashTool};
use toolfall::{CallRequest, Pipeline, Registry, TimeoutLayer, ToolResult};

struct Place {
    folder: tempfile::TempDir,
    registry: Registry,
}

impl Place {
    fn new(change: impl FnOnce(BashTool) -> BashTool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let registry = Registry::new();
        let tool = BashTool::new(folder.path())
            .unwrap()
            .grace(Duration::from_millis(300));
        registry.register(change(tool).into_tool()).unwrap().keep();
        Self { folder, registry }
    }

    async fn run(&self, arguments: Value) -> ToolResult {
        let pipeline = Pipeline::builder(self.registry.clone()).build();
        pipeline.run(request("bash", arguments.to_string())).await
    }

    async fn command(&self, line: &str) -> ToolResult {
        self.run(json!({"command": line})).await
    }
}

fn plain() -> Place {
    Place::new(|tool| tool)
}

fn report(result: &ToolResult) -> BashReport {
    let value = result
        .value()
        .unwrap_or_else(|| panic!("no value: {}", result.text()));
    serde_json::from_value(value.clone()).unwrap()
}

/// Whether a process runs that was started with `mark` among its words.
fn runs(mark: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| fs::read(process.path().join("cmdline")).ok())
        .any(|words| {
            words
                .split(|byte| *byte == 0)
                .any(|word| word == mark.as_bytes())
        })
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..500 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what} did not come to pass");
}

#[tokio::test]
async fn what_is_written_comes_back_in_its_order_with_how_it_ended() {
    let place = plain();
    let table = [
        ("true", ""),
        ("echo out; echo err >&2; echo out", "out\nerr\nout\n"),
        ("printf hi; exit 3", "hi\n[exit code: 3]"),
        // What only looks like an end is output.
        (
            "printf 'a\\n[exit code: 3]'",
            "a\n[exit code: 3]\n[exit code: 0]",
        ),
        ("kill -KILL $$", "\n[killed by signal: SIGKILL]"),
        ("cat; echo nothing to read", "nothing to read\n"),
        (
            "printf 'a\\377b\\xe2\\x82'",
            "a\u{fffd}b\u{fffd}\n[2 malformed UTF-8 sequences]",
        ),
    ];
    for (line, text) in table {
        let result = place.command(line).await;
        assert!(!result.is_error(), "{line}: {}", result.text());
        assert_eq!(result.text(), text, "{line}");
    }
    let report = report(&place.command("exit 7").await);
    assert_eq!((report.exit_code, report.signal), (Some(7), None));
}

#[tokio::test]
async fn a_flood_is_kept_within_the_budget_and_counted() {
    let place = Place::new(|tool| tool.output_limit(1000));
    let result = place
        .command("printf start; yes é | head -c 3000000; printf end")
        .await;
    let report = report(&result);
    let (start, end) = report.output.split_once("\n[").unwrap();
    let (told, end) = end.split_once(" bytes omitted]\n").unwrap();
    assert!(
        start.starts_with("start") && end.ends_with("end"),
        "{}",
        report.output
    );
    assert_eq!(told.parse::<u64>().unwrap(), report.omitted_bytes);
    let kept = (start.len() + end.len()) as u64;
    assert_eq!(kept + report.omitted_bytes, 5 + 3_000_000 + 3);
    assert!(kept <= 1000 && kept > 990, "{kept}");
    assert!(!report.incomplete && report.malformed == 0);
}

#[tokio::test]
async fn time_ends_a_command_and_its_end_is_told() {
    let place = plain();
    let killed = place
        .run(json!({"command": "echo on; sleep 60", "timeout_ms": 200}))
        .await;
    assert_eq!(
        killed.text(),
        "on\n\n[timed out after 200ms]\n[killed by signal: SIGTERM]"
    );
    let polite = "trap 'echo bye; exit 0' TERM; sleep 60 & wait";
    let polite = place
        .run(json!({"command": polite, "timeout_ms": 200}))
        .await;
    assert_eq!(polite.text(), "bye\n\n[timed out after 200ms]");
    let deaf = "trap '' TERM; while true; do sleep 0.05; done";
    let deaf = report(&place.run(json!({"command": deaf, "timeout_ms": 100})).await);
    assert_eq!(
        (deaf.signal.as_deref(), deaf.timed_out_after_ms),
        (Some("SIGKILL"), Some(100))
    );

    let short = Place::new(|tool| tool.max_timeout(Duration::from_millis(100)));
    let result = short
        .run(json!({"command": "sleep 60", "timeout_ms": 3_600_000}))
        .await;
    assert_eq!(report(&result).timed_out_after_ms, Some(100));
}

/// A grandchild that ignores TERM, in the background of the background.
const STUBBORN: &str = "(trap '' TERM; sleep 4242.MARK & sleep 4242.MARK) & \
                        trap '' TERM; touch started; wait";

#[tokio::test]
async fn nothing_is_left_behind_after_a_cancellation() {
    for end in ["cancel", "drop", "time"] {
        let place = plain();
        let mark = format!("{}{}", std::process::id(), end.len());
        let word = format!("4242.{mark}");
        let line = STUBBORN.replace("MARK", &mark);
        let token = CancellationToken::new();
        let mut builder = TimeoutLayer::declared();
        if end == "time" {
            builder = TimeoutLayer::new(Duration::from_millis(700));
        }
        let pipeline = Pipeline::builder(place.registry.clone())
            .timeout(builder)
            .build();
        let arguments = json!({"command": line}).to_string();
        let call = CallRequest::new("1", "bash", arguments, token.clone());
        let mut running = tokio::spawn(async move { pipeline.run(call).await });
        let started = place.folder.path().join("started");
        until("the start", || started.exists() && runs(&word)).await;
        match end {
            "cancel" => {
                token.cancel();
                let result = (&mut running).await.unwrap();
                assert_eq!(result.code(), Some("ABORTED"));
                assert!(!runs(&word), "the result came before the end");
            }
            "drop" => running.abort(),
            _ => {
                let result = (&mut running).await.unwrap();
                assert_eq!(result.code(), Some("TOOL_TIMEOUT"));
            }
        }
        until("the end of everything", || !runs(&word)).await;
    }
}

#[tokio::test]
async fn what_the_shell_leaves_running_ends_with_it() {
    let place = plain();
    let word = format!("4343.{}", std::process::id());
    let result = place.command(&format!("sleep {word} & echo done")).await;
    assert_eq!(result.text(), "done\n");
    until("the end of the background", || !runs(&word)).await;

    // What leaves the group is beyond reach: the call ends, and says so.
    let result = place.command("setsid sleep 5 & sleep 0.5; echo gone").await;
    let report = report(&result);
    assert!(report.incomplete && report.output == "gone\n", "{report:?}");
    assert!(
        result.text().contains("[output incomplete"),
        "{}",
        result.text()
    );
}

#[tokio::test]
async fn a_command_sees_few_variables() {
    let place = Place::new(|tool| tool.env("ASKED_FOR", "yes"));
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let line = "echo ${CARGO_MANIFEST_DIR-unset} ${ASKED_FOR-unset} ${PATH+path}";
    assert_eq!(place.command(line).await.text(), "unset yes path\n");
    let place = Place::new(|tool| tool.only_env(["CARGO_MANIFEST_DIR"]).program("/bin/bash"));
    let line = "echo ${CARGO_MANIFEST_DIR+set} ${HOME-unset}";
    assert_eq!(place.command(line).await.text(), "set unset\n");
}

#[tokio::test]
async fn a_command_begins_below_the_root() {
    let place = plain();
    let root: &Path = place.folder.path();
    fs::create_dir(root.join("inner")).unwrap();
    fs::write(root.join("file"), "").unwrap();
    std::os::unix::fs::symlink("/", root.join("out")).unwrap();
    std::os::unix::fs::symlink("inner", root.join("in")).unwrap();
    let inner = root.canonicalize().unwrap().join("inner");
    for cwd in ["inner", "./in", "out/../inner", inner.to_str().unwrap()] {
        let result = place.run(json!({"command": "pwd -P", "cwd": cwd})).await;
        if cwd == "out/../inner" {
            // Through the link, `..` is not where it seems to be.
            assert_eq!(result.code(), Some("BASH_FOLDER"), "{cwd}");
        } else {
            assert_eq!(result.text(), format!("{}\n", inner.display()), "{cwd}");
        }
    }
    for cwd in ["..", "out", "/", "file", "nowhere", "inner/../.."] {
        let result = place.run(json!({"command": "touch ran", "cwd": cwd})).await;
        assert_eq!(
            result.code(),
            Some("BASH_FOLDER"),
            "{cwd}: {}",
            result.text()
        );
    }
    assert!(!root.join("ran").exists());
}

#[tokio::test]
async fn what_cannot_be_run_is_told() {
    let place = Place::new(|tool| tool.program("no-such-shell"));
    let result = place.command("true").await;
    assert_eq!(result.code(), Some("BASH_NOT_STARTED"));
    assert!(result.text().contains("no-such-shell"), "{}", result.text());
    let error = BashTool::new("/dev/null").unwrap_err();
    assert!(error.to_string().contains("expected a folder"), "{error}");
    for arguments in [
        json!({}),
        json!({"command": 1}),
        json!({"command": "true", "timeout_ms": 0}),
    ] {
        assert_eq!(place.run(arguments).await.code(), Some("INVALID_ARGS"));
    }
    let tool = place.registry.get("bash", None).unwrap();
    assert!(tool.is_dangerous() && tool.makes_edits());
}
