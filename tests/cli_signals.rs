//! Ctrl-C, `TERM` and questions: every call still gets its result.
#![cfg(unix)]
// Real processes keep real time.
#![allow(clippy::disallowed_methods)]

#[path = "support/cli.rs"]
mod support;

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use support::{Place, Ran, code};

/// Sleeps longer than any test; says when it has begun.
const TOOLS: &str = r#"
log = "session.jsonl"
[[command]]
name = "nap"
program = ["sh", "-c", "echo > began; sleep 600"]
parallel = true
[[command]]
name = "deaf"
program = ["sh", "-c", "trap '' TERM; echo > began; sleep 600; sleep 600"]
grace_ms = 600000
[policy]
otherwise = "allow"
"#;

fn signal(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    kill_process(pid.expect("a process"), signal).expect("it is there");
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while Instant::now() < end {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("waited in vain: {what}");
}

fn records(place: &Place) -> Vec<Value> {
    let log = std::fs::read_to_string(place.path("session.jsonl")).expect("a log");
    support::lines(&log)
}

fn checked(place: &Place) {
    let ran = place.run(&["check", "session.jsonl"]);
    assert_eq!(ran.status, 0, "{}", ran.out);
}

#[test]
fn the_first_signal_cancels_and_every_call_gets_its_result() {
    for kind in [Signal::INT, Signal::TERM] {
        let place = Place::new();
        place.write("toolfall.toml", TOOLS);
        let nap = |id: &str| json!({"call_id": id, "name": "nap"});
        let rows = [
            json!({"id": "first", "calls": [nap("1"), nap("2")]}),
            json!({"id": "second", "calls": [nap("3")]}),
        ];
        place.write("b.jsonl", rows.map(|row| row.to_string()).join("\n"));
        let child = place
            .command(&["run", "b.jsonl"])
            .spawn()
            .expect("it starts");
        until("a call runs", || place.path("began").exists());
        signal(&child, kind);
        let ran = Ran::of(child.wait_with_output().expect("it ends"));
        assert_eq!(ran.status, 130, "{}{}", ran.out, ran.err);
        let results = ran.results();
        assert_eq!(results.len(), 3);
        assert_eq!(code(&results[0]), "ABORTED");
        assert!(code(&results[1]).starts_with("ABORTED"), "{}", results[1]);
        assert_eq!(code(&results[2]), "ABORTED_BEFORE_DISPATCH");
        assert_eq!(ran.typed("summary")[0]["cancelled"], true);
        checked(&place);
    }
}

#[test]
fn the_second_signal_ends_the_waiting() {
    let place = Place::new();
    place.write("toolfall.toml", TOOLS);
    place.write("b.jsonl", r#"{"calls":[{"name":"deaf"}]}"#);
    let child = place
        .command(&["run", "b.jsonl"])
        .spawn()
        .expect("it starts");
    until("the call runs", || place.path("began").exists());
    signal(&child, Signal::INT);
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, Signal::INT);
    let ran = Ran::of(child.wait_with_output().expect("it ends"));
    assert_eq!(ran.status, 130, "{}{}", ran.out, ran.err);
    // The open call is closed by whoever opens the log next.
    let again = place.fed(&["run"], "");
    assert_eq!(again.status, 0, "{}", again.err);
    assert!(
        again.err.contains("left open: 1 without a result"),
        "{}",
        again.err
    );
    checked(&place);
}

#[test]
fn waiting_for_input_ends_at_once() {
    let place = Place::new();
    place.write("toolfall.toml", TOOLS);
    let mut command = place.command(&["run"]);
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let held = child.stdin.take();
    until("the log is there", || place.path("session.jsonl").exists());
    std::thread::sleep(Duration::from_millis(200));
    signal(&child, Signal::INT);
    let ran = Ran::of(child.wait_with_output().expect("it ends"));
    assert_eq!(ran.status, 130);
    drop(held);
}

#[test]
fn a_reader_that_goes_away_ends_the_run_and_loses_nothing() {
    let place = Place::new();
    place.write("toolfall.toml", TOOLS);
    let row = r#"{"calls":[{"name":"none"}]}"#;
    place.write("b.jsonl", format!("{row}\n").repeat(2_000));
    let mut child = place
        .command(&["run", "b.jsonl"])
        .spawn()
        .expect("it starts");
    drop(child.stdout.take());
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(1));
    let results = records(&place)
        .iter()
        .filter(|record| record["type"] == "tool/result")
        .count();
    assert_eq!(results, 2_000);
    checked(&place);
}

/// Runs the binary on a terminal and types `keys`, one for each question.
fn on_a_terminal(place: &Place, keys: &str, args: &[&str]) -> Option<Ran> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/terminal.py");
    let output = std::process::Command::new("python3")
        .arg(script)
        .args([keys, env!("CARGO_BIN_EXE_toolfall")])
        .args(args)
        .current_dir(place.0.path())
        .env("NO_COLOR", "1")
        .env("TERM", "xterm")
        .output();
    // Where there is no python3 there is no terminal to be had.
    output.ok().map(Ran::of)
}

fn questions(place: &Place) -> Vec<(Value, Value)> {
    records(place)
        .iter()
        .filter(|record| record["type"].as_str().unwrap().starts_with("approval/"))
        .map(|record| (record["type"].clone(), record["outcome"].clone()))
        .collect()
}

#[test]
fn a_person_allows_once_or_rejects() {
    let place = Place::new();
    place.write("toolfall.toml", "log = \"session.jsonl\"\n[files]\n");
    let write = |path: &str| json!({"call_id": path, "name": "write_file", "arguments": {"path": path, "content": "x"}});
    let rows = [
        json!({"calls": [write("a"), write("b")]}),
        json!({"calls": [write("a")]}),
    ];
    place.write("b.jsonl", rows.map(|row| row.to_string()).join("\n"));
    let Some(ran) = on_a_terminal(&place, "a,n,r", &["run", "b.jsonl"]) else {
        return;
    };
    assert_eq!(ran.status, 0, "{}", ran.out);
    assert!(place.path("a").exists() && !place.path("b").exists());
    for shown in [
        "? write_file",
        "no rule covers tool \"write_file\"",
        "→ allowed-once",
        "→ rejected",
        "made a (1 bytes)",
        "the user rejected tool \"write_file\"",
        "3 calls: 1 succeeded, 2 failed",
    ] {
        assert!(ran.out.contains(shown), "{shown}: {}", ran.out);
    }
    let decided: Vec<Value> = questions(&place)
        .into_iter()
        .filter(|(kind, _)| kind == "approval/decided")
        .map(|(_, outcome)| outcome)
        .collect();
    assert_eq!(decided, ["allowed-once", "rejected", "rejected"]);
    checked(&place);
}

#[test]
fn a_person_says_why_and_ends_the_run() {
    let place = Place::new();
    place.write(
        "toolfall.toml",
        "log = \"session.jsonl\"\n[files]\n[[agent]]\nname = \"helper\"\n",
    );
    let write = |path: &str| json!({"call_id": path, "name": "write_file", "arguments": {"path": path, "content": "x"}});
    let rows = [
        json!({"agent": "helper", "calls": [write("a"), write("b"), write("c")]}),
        json!({"calls": [write("d")]}),
    ];
    place.write("b.jsonl", rows.map(|row| row.to_string()).join("\n"));
    // The first message is given up; the question is shown again.
    let keys = "mx!,mnot here~,e,y";
    let Some(ran) = on_a_terminal(&place, keys, &["run", "b.jsonl"]) else {
        return;
    };
    assert_eq!(ran.status, 3, "{}", ran.out);
    for shown in [
        "asked by agent helper",
        "the user rejected tool \"write_file\": not here",
        "→ rejected, and the run ends with this batch",
        "made c (1 bytes)",
        "the run has ended: the user rejected tool \"write_file\" and ended it; 1 more batch was",
        "3 calls: 1 succeeded, 2 failed",
    ] {
        assert!(ran.out.contains(shown), "{shown}: {}", ran.out);
    }
    let kinds = |kind: &str| {
        let records = records(&place).into_iter();
        records
            .filter(|record| record["type"] == kind)
            .collect::<Vec<_>>()
    };
    let decided = kinds("approval/decided");
    assert_eq!(decided[0]["message"], "not here");
    assert_eq!(decided[1]["ends_turn"], true);
    assert_eq!(decided[2]["outcome"], "allowed-once");
    let results = kinds("tool/result");
    assert_eq!(results[2]["decided_by"], "approver");
    checked(&place);
}

#[test]
fn a_question_that_nobody_answers_in_time_is_a_denial() {
    let place = Place::new();
    let config = "log = \"session.jsonl\"\napproval_timeout_ms = 300\n[files]\n";
    place.write("toolfall.toml", config);
    let write = json!({"name": "write_file", "arguments": {"path": "a", "content": "x"}});
    place.write("b.jsonl", json!({"calls": [write]}).to_string());
    let Some(ran) = on_a_terminal(&place, "", &["run", "b.jsonl"]) else {
        return;
    };
    assert_eq!(ran.status, 0, "{}", ran.out);
    assert!(ran.out.contains("→ withdrawn"), "{}", ran.out);
    let result = records(&place).pop().expect("records");
    assert_eq!(result["error"]["code"], "APPROVAL_TIMEOUT");
    checked(&place);
}

#[test]
fn ctrl_c_at_a_question_withdraws_it_and_cancels_the_batch() {
    let place = Place::new();
    place.write("toolfall.toml", "log = \"session.jsonl\"\n[files]\n");
    let write = json!({"name": "write_file", "arguments": {"path": "a", "content": "x"}});
    place.write("b.jsonl", json!({"calls": [write, write]}).to_string());
    let Some(ran) = on_a_terminal(&place, "^", &["run", "b.jsonl"]) else {
        return;
    };
    assert_eq!(ran.status, 130, "{}", ran.out);
    assert!(ran.out.contains("→ withdrawn"), "{}", ran.out);
    assert!(!place.path("a").exists());
    let asked = questions(&place);
    assert_eq!(asked.len(), 2, "the second call is never asked about");
    assert_eq!(asked[1], (json!("approval/decided"), json!("cancelled")));
    checked(&place);
}
