//! Hooks as programs: what they are told and shown, and how they end.
#![cfg(unix)]
// Real processes keep real time.
#![allow(clippy::disallowed_methods)]

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolfall::hooks::{Dialect, Hook, HookEvent, HookPoint, HookSession, HookSet, OnFault};
use toolfall::{CallRequest, Scope};

#[path = "support/facade.rs"]
mod facade;
#[path = "support/processes.rs"]
mod processes;
#[path = "support/hooks.rs"]
mod support;

use facade::Counter;
use processes::{alive, family, marker, until};
use support::{BOTH, Bench, bench, recorded, request, taken};

/// What a hook was told, written down by itself.
async fn told(dialect: Dialect, session: HookSession, arguments: &Value) -> [String; 2] {
    let folder = tempfile::tempdir().expect("a folder");
    let keep = |name: &str| {
        let file = folder.path().join(name);
        Hook::program("tee")
            .arg(&file)
            .stdout_limit(1 << 20)
            .on_fault(OnFault::Ignore)
    };
    let hooks = HookSet::builder(dialect)
        .session(session)
        .pre(keep("pre"))
        .post(keep("post"));
    let result = bench()
        .run(&hooks.build().expect("hooks"), request(arguments))
        .await;
    assert_eq!(result.text(), "done");
    ["pre", "post"].map(|name| std::fs::read_to_string(folder.path().join(name)).expect("told"))
}

/// conformance: HOOK-16, HOOK-32
#[tokio::test]
async fn the_claude_payload() {
    let arguments = json!({"command": "ls", "n": [1, 2.5]});
    let session = HookSession::new("s1", "/").transcript("/logs/s1.jsonl");
    let [pre, post] = told(Dialect::ClaudeCode, session, &arguments).await;
    assert!(pre.ends_with("}\n") && post.ends_with("}\n"));
    let mut expected = json!({
        "session_id": "s1", "transcript_path": "/logs/s1.jsonl", "cwd": "/",
        "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": arguments,
        "tool_use_id": "call_1",
    });
    assert_eq!(serde_json::from_str::<Value>(&pre).expect("JSON"), expected);
    expected["hook_event_name"] = "PostToolUse".into();
    expected["tool_response"] = "done".into();
    assert_eq!(
        serde_json::from_str::<Value>(&post).expect("JSON"),
        expected
    );

    let [pre, _] = told(Dialect::ClaudeCode, HookSession::new("", "/"), &json!({})).await;
    let pre: Value = serde_json::from_str(&pre).expect("JSON");
    assert_eq!(pre["transcript_path"], "");
}

/// conformance: HOOK-33
#[tokio::test]
async fn the_codex_payload() {
    let session = HookSession::new("s1", "/").model("m");
    session.set_turn(4);
    for (arguments, command) in [
        (json!({"command": "ls", "n": 1}), "ls"),
        (json!({}), ""),
        (json!({"command": ["ls"]}), ""),
    ] {
        let [pre, _] = told(Dialect::Codex, session.clone(), &arguments).await;
        assert!(pre.ends_with('}'), "no line break behind it");
        let pre: Value = serde_json::from_str(&pre).expect("JSON");
        assert_eq!(pre["transcript_path"], Value::Null);
        assert_eq!(pre["tool_name"], "Bash");
        assert_eq!(pre["tool_input"], json!({"command": command}));
        assert_eq!((&pre["model"], &pre["turn_id"]), (&json!("m"), &json!("4")));
        assert_eq!(pre["permission_mode"], "default");
    }
}

/// conformance: HOOK-34
#[tokio::test]
async fn a_hook_runs_in_the_session_s_folder() {
    let print = r#"echo "$PWD|$CLAUDE_PROJECT_DIR" >&2; exit 2"#;
    let real = |folder: &Path| {
        folder
            .canonicalize()
            .expect("a folder")
            .display()
            .to_string()
    };
    let (work, child) = (
        tempfile::tempdir().expect("one"),
        tempfile::tempdir().expect("two"),
    );
    let (work, child) = (real(work.path()), real(child.path()));
    let set = |dialect, hook| {
        let session = HookSession::new("s", &work);
        HookSet::builder(dialect).session(session).pre(hook)
    };
    let text = bench()
        .with(set(Dialect::ClaudeCode, Hook::shell(print)))
        .await
        .text();
    assert_eq!(text, format!("Error: {work}|{work}"));
    let text = bench()
        .with(set(Dialect::Codex, Hook::shell(print)))
        .await
        .text();
    assert_eq!(text, format!("Error: {work}|"));
    let own = Hook::shell(print)
        .env("CLAUDE_PROJECT_DIR", "own")
        .current_dir("/");
    let text = bench().with(set(Dialect::ClaudeCode, own)).await.text();
    assert_eq!(text, "Error: /|own");

    let hooks = set(Dialect::ClaudeCode, Hook::shell(print))
        .build()
        .expect("hooks");
    // The call keeps its own session; nobody else has to.
    let request = request(&json!({})).with_extension(HookSession::new("child", &child));
    let text = bench().run(&hooks, request).await.text();
    assert_eq!(text, format!("Error: {child}|{child}"));
}

/// conformance: HOOK-16
#[tokio::test]
async fn a_hook_sees_only_the_environment_that_it_is_shown() {
    // Cargo sets this for every test.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let print = r#"echo "$CARGO_MANIFEST_DIR|${PATH:+path}|$MODE" >&2; exit 2"#;
    let text = |hook| async {
        bench()
            .with(HookSet::builder(Dialect::Codex).pre(hook))
            .await
            .text()
    };
    assert_eq!(text(Hook::shell(print)).await, "Error: |path|");
    let hook = Hook::program("/bin/sh")
        .args(["-c", print])
        .env("MODE", "x");
    let shown = hook.only_env(["CARGO_MANIFEST_DIR"]);
    let root = env!("CARGO_MANIFEST_DIR");
    let said = text(shown).await;
    assert!(
        said.starts_with(&format!("Error: {root}|")) && said.ends_with("|x"),
        "{said}"
    );
}

#[tokio::test]
async fn no_shell_reads_a_program_s_arguments() {
    let script = "import sys; sys.stderr.write(sys.argv[1]); sys.exit(2)";
    let hook = Hook::program("python3").args(["-c", script, "$HOME; exit 0"]);
    let result = bench()
        .with(HookSet::builder(Dialect::Codex).pre(hook))
        .await;
    assert_eq!(result.text(), "Error: $HOME; exit 0");
}

/// conformance: HOOK-35
#[tokio::test]
async fn a_summary_is_as_long_as_it_may_be() {
    let (set, records) = recorded(Dialect::ClaudeCode);
    let most = 40.try_into().expect("not zero");
    let long = Hook::shell("printf '%060d' 0 >&2; exit 2");
    let set = set
        .stderr_summary_max_chars(most)
        .post(Hook::program("true"))
        .post(long);
    bench().with(set).await;
    let records = taken(&records);
    assert_eq!(records[1]["exitCode"], 0);
    assert_eq!(records[1].get("stderrSummary"), None);
    assert_eq!(records[3]["stderrSummary"], format!("{}…", "0".repeat(40)));
}

/// conformance: HOOK-17
#[tokio::test]
async fn a_hook_that_does_not_run_through_has_no_exit_code() {
    let cancel = CancellationToken::new();
    for (hook, stderr) in [
        (
            Hook::shell("echo last words >&2; kill -KILL $$"),
            "last words",
        ),
        (Hook::shell("kill -KILL $$"), "without an exit code"),
        (Hook::program("/no/such/program"), "No such file"),
    ] {
        let set = HookSet::builder(Dialect::Codex).on(HookPoint::Stop, hook);
        let report = set.build().expect("hooks");
        let report = report
            .run_event(HookEvent::new(HookPoint::Stop), &cancel)
            .await;
        let output = &report.runs[0].output;
        assert_eq!((output.exit_code, output.decision), (None, None));
        assert!(output.stderr.contains(stderr), "{}", output.stderr);
        assert_eq!(report.merged.decision, None);
    }
}

/// conformance: HOOK-41
#[tokio::test]
async fn plain_words_of_codex_hooks_are_context() {
    let cancel = CancellationToken::new();
    for point in [
        HookPoint::SessionStart,
        HookPoint::UserPromptSubmit,
        HookPoint::Stop,
    ] {
        for dialect in BOTH {
            for (script, plain) in [
                ("echo hello", true),
                ("echo hello; exit 1", false),
                ("echo hello; exit 2", false),
                ("echo '{\"systemMessage\":\"hello\"}'", false),
            ] {
                let set = HookSet::builder(dialect).on(point, Hook::shell(script));
                let event = HookEvent::new(point).field("prompt", "hi");
                let report = set.build().expect("hooks").run_event(event, &cancel).await;
                let counts = plain && dialect == Dialect::Codex && point != HookPoint::Stop;
                let expected: &[&str] = if counts { &["hello"] } else { &[] };
                assert_eq!(
                    report.merged.contexts, expected,
                    "{dialect} {point} {script}"
                );
            }
        }
    }
}

/// conformance: HOOK-40
#[tokio::test]
async fn a_cancelled_call_leaves_no_process() {
    for (name, trap) in [("gentle", ""), ("stubborn", "trap '' TERM;")] {
        for front in [true, false] {
            let marker = marker(&format!("hook-{name}-{front}"));
            let hook = Hook::shell(family(&marker, trap)).grace(Duration::from_millis(100));
            let set = HookSet::builder(Dialect::Codex);
            let set = if front { set.pre(hook) } else { set.post(hook) };
            let hooks = set.build().expect("hooks");
            let bench = bench();
            let cancel = CancellationToken::new();
            let request = CallRequest::new("1", "Bash", "{}", cancel.clone());
            let (result, ()) = tokio::join!(bench.run(&hooks, request), async {
                until("the family is there", || alive(&marker) >= 4).await;
                cancel.cancel();
            });
            // At once: the result waits for the last of them.
            assert_eq!(alive(&marker), 0);
            assert!(result.is_error());
            if front {
                assert_eq!(result.code(), Some("ABORTED_BEFORE_DISPATCH"));
                assert_eq!(bench.runs.get(), 0);
            }
        }
    }
}

#[tokio::test]
async fn a_dropped_call_leaves_no_process() {
    let marker = marker("hook-dropped");
    let hook = Hook::shell(family(&marker, "trap '' TERM;"));
    let hooks = HookSet::builder(Dialect::Codex)
        .pre(hook)
        .build()
        .expect("hooks");
    let bench = bench();
    let call = tokio::spawn(async move { bench.run(&hooks, request(&json!({}))).await });
    until("the family is there", || alive(&marker) >= 4).await;
    call.abort();
    until("the family is gone", || alive(&marker) == 0).await;
}

#[tokio::test]
async fn a_timeout_ends_the_whole_family() {
    let marker = marker("hook-late");
    let hook = Hook::shell(family(&marker, "trap '' TERM;"));
    let hook = hook
        .timeout(Duration::from_millis(300))
        .grace(Duration::from_millis(50));
    let result = bench()
        .with(HookSet::builder(Dialect::Codex).pre(hook))
        .await;
    assert_eq!(alive(&marker), 0);
    assert!(
        result.text().contains("did not end within 300ms"),
        "{}",
        result.text()
    );
}

#[tokio::test]
async fn a_cancelled_call_begins_no_further_hook() {
    let (set, records) = recorded(Dialect::Codex);
    let slow = || {
        Hook::program("sleep")
            .arg("60")
            .grace(Duration::from_millis(50))
    };
    let hooks = set.pre(slow()).pre(slow()).build().expect("hooks");
    let cancel = CancellationToken::new();
    let request = CallRequest::new("1", "Bash", "{}", cancel.clone()).with_scope(Scope::new("a"));
    let bench = bench();
    let (result, ()) = tokio::join!(bench.run(&hooks, request), async {
        until("one has begun", || {
            records.lock().expect("no panic").len() == 1
        })
        .await;
        cancel.cancel();
    });
    assert_eq!(result.code(), Some("ABORTED_BEFORE_DISPATCH"));
    assert_eq!(taken(&records).len(), 2);
}

#[tokio::test]
async fn what_was_not_judged_is_withheld_where_faults_deny() {
    let hook = Hook::program("sleep")
        .arg("60")
        .grace(Duration::from_millis(50));
    let hooks = HookSet::builder(Dialect::Codex).post(hook.on_fault(OnFault::Deny));
    let fails = facade::registry([toolfall::tool_fn(
        "Bash",
        "Fails",
        |_: Value, _: toolfall::ToolContext| async {
            Err::<String, toolfall::BoxError>("a secret".into())
        },
    )]);
    let bench = Bench {
        registry: fails,
        runs: Counter::default(),
    };
    let cancel = CancellationToken::new();
    let request = CallRequest::new("1", "Bash", "{}", cancel.clone());
    let hooks = hooks.build().expect("hooks");
    let (result, ()) = tokio::join!(bench.run(&hooks, request), async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        cancel.cancel();
    });
    assert!(!result.text().contains("a secret"), "{}", result.text());
}
