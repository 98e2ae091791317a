//! Hooks that do not read, do not end or do not stop talking.
#![cfg(unix)]
// Real processes keep real time.
#![allow(clippy::disallowed_methods)]

use std::time::{Duration, Instant};

use serde_json::json;
use toolfall::hooks::{Dialect, Hook, HookSet};

#[path = "support/facade.rs"]
mod facade;
#[path = "support/hooks.rs"]
mod support;

use support::{bench, request, saying, specific};

const SOON: Duration = Duration::from_secs(60);

/// A megabyte, of which a pipe holds little, for hooks that read none,
/// read late or never end.
#[tokio::test]
async fn a_hook_need_not_read_what_it_is_told() {
    let arguments = json!({"text": "x".repeat(1 << 20), "nul": "a\0b"});
    let allow = saying(&specific(
        "PreToolUse",
        json!({"permissionDecision": "allow"}),
    ));
    for (hook, runs) in [
        (Hook::program("true"), 1),
        (allow, 1),
        (Hook::program("sh").arg("-c").arg("exec <&-; exit 2"), 0),
        (
            Hook::program("sh")
                .arg("-c")
                .arg("sleep 0.2; cat >/dev/null; exit 2"),
            0,
        ),
        (
            Hook::program("sleep")
                .arg("600")
                .timeout(Duration::from_millis(200)),
            0,
        ),
        (
            Hook::program("sh")
                .arg("-c")
                .arg("trap '' TERM; while :; do sleep 0.1; done")
                .timeout(Duration::from_millis(200)),
            0,
        ),
    ] {
        let bench = bench();
        let name = format!("{hook:?}");
        let hooks = HookSet::builder(Dialect::ClaudeCode).pre(hook);
        let began = Instant::now();
        let result = bench
            .run(&hooks.build().unwrap(), request(&arguments))
            .await;
        assert_eq!(bench.runs.get(), runs, "{name}: {}", result.text());
        assert_eq!(result.is_error(), runs == 0);
        assert!(began.elapsed() < SOON, "{name}");
    }
}

/// Output without end is cut off, and is no answer.
#[tokio::test]
async fn a_flood_is_no_answer() {
    for script in [
        "yes",
        "yes >&2 & yes",
        "printf '{}'; yes ' '",
        "head -c 300000000 /dev/zero",
    ] {
        let bench = bench();
        let hooks = HookSet::builder(Dialect::Codex).pre(Hook::program("sh").arg("-c").arg(script));
        let began = Instant::now();
        let result = bench.with(hooks).await;
        assert!(result.is_error(), "{script}");
        assert_eq!(bench.runs.get(), 0, "{script}");
        assert!(began.elapsed() < SOON, "{script}");
    }
    // On standard error it may say what it likes, if it ends.
    let bench = bench();
    let loud = Hook::program("sh")
        .arg("-c")
        .arg("head -c 30000000 /dev/zero >&2");
    let result = bench.with(HookSet::builder(Dialect::Codex).pre(loud)).await;
    assert_eq!((result.text().as_str(), bench.runs.get()), ("done", 1));
}
