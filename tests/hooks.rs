//! Hooks in front of and behind real calls, as real programs.
#![cfg(unix)]
// Real processes keep real time.
#![allow(clippy::disallowed_methods)]

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolfall::hooks::{
    Dialect, Hook, HookEvent, HookPoint, HookRecord, HookSession, HookSet, HookSetBuilder, OnFault,
};
use toolfall::policy::Waterfall;
use toolfall::{
    CallRequest, CallView, ContentBlock, Decision, FailureKind, Pipeline, PostDecision,
    PostRequest, Registry, Scope, ToolResult,
};

#[path = "support/facade.rs"]
mod facade;
#[path = "support/processes.rs"]
mod processes;

use facade::{Counter, texts};
use processes::{alive, family, marker, until};

const BOTH: [Dialect; 2] = [Dialect::ClaudeCode, Dialect::Codex];

type Records = Arc<Mutex<Vec<Value>>>;

/// A set whose records are kept.
fn recorded(dialect: Dialect) -> (HookSetBuilder, Records) {
    let records = Records::default();
    let kept = records.clone();
    let set = HookSet::builder(dialect).recorder(move |record: &HookRecord| {
        let record = serde_json::to_value(record).expect("a record is JSON");
        kept.lock().expect("no panic").push(record);
    });
    (set, records)
}

fn taken(records: &Records) -> Vec<Value> {
    std::mem::take(&mut records.lock().expect("no panic"))
}

/// A hook that says `value` with exit code 0.
fn saying(value: &Value) -> Hook {
    Hook::program("printf").arg("%s").arg(value.to_string())
}

fn specific(point: &str, mut fields: Value) -> Value {
    fields["hookEventName"] = point.into();
    json!({"hookSpecificOutput": fields})
}

struct Bench {
    registry: Registry,
    runs: Counter,
}

fn bench() -> Bench {
    let runs = Counter::default();
    let registry = facade::registry([facade::returns("Bash", json!("done"), &runs)]);
    Bench { registry, runs }
}

fn request(arguments: &Value) -> CallRequest {
    CallRequest::new(
        "call_1",
        "Bash",
        arguments.to_string(),
        CancellationToken::new(),
    )
    .with_scope(Scope::new("agent"))
}

impl Bench {
    async fn run(&self, hooks: &HookSet, request: CallRequest) -> ToolResult {
        Pipeline::builder(self.registry.clone())
            .pre_decision(hooks.pre())
            .post_execute(hooks.post())
            .build()
            .run(request)
            .await
    }

    async fn with(&self, set: HookSetBuilder) -> ToolResult {
        self.run(&set.build().expect("hooks"), request(&json!({})))
            .await
    }
}

/// conformance: HOOK-22
#[tokio::test]
async fn exit_code_two_in_front_denies() {
    for dialect in BOTH {
        for (script, text) in [
            ("echo 'not here' >&2; exit 2", "Error: not here"),
            ("exit 2", "Error: blocked by PreToolUse hook"),
        ] {
            let bench = bench();
            let hook = Hook::shell(script).matcher("Bash");
            let result = bench.with(HookSet::builder(dialect).pre(hook)).await;
            assert_eq!(result.text(), text);
            assert_eq!(result.kind(), Some(FailureKind::Denied));
            assert_eq!(bench.runs.get(), 0);
        }
    }
}

/// conformance: HOOK-23
#[tokio::test]
async fn a_hook_for_other_tools_is_not_asked() {
    for dialect in BOTH {
        let (bench, (set, records)) = (bench(), recorded(dialect));
        let result = bench
            .with(set.pre(Hook::shell("exit 2").matcher("Edit")))
            .await;
        assert_eq!((result.text(), bench.runs.get()), ("done".to_owned(), 1));
        assert_eq!(taken(&records), [] as [Value; 0]);
        let (set, records) = recorded(dialect);
        let result = bench.with(set.pre(Hook::program("true"))).await;
        assert_eq!((result.text(), bench.runs.get()), ("done".to_owned(), 2));
        assert_eq!(taken(&records).len(), 2);
    }
}

/// conformance: HOOK-24
#[tokio::test]
async fn asking_with_nobody_to_answer_denies() {
    for (fields, part) in [
        (
            json!({"permissionDecision": "ask", "permissionDecisionReason": "sure?"}),
            "sure?",
        ),
        (
            json!({"permissionDecision": "ask"}),
            "tool \"Bash\" requires approval (not yet supported)",
        ),
    ] {
        let bench = bench();
        let hook = saying(&specific("PreToolUse", fields));
        let result = bench
            .with(HookSet::builder(Dialect::ClaudeCode).pre(hook))
            .await;
        assert!(result.text().contains(part), "{}", result.text());
        assert_eq!(bench.runs.get(), 0);
    }
}

/// conformance: HOOK-27
#[tokio::test]
async fn faults_pass_where_the_hook_says_so_and_deny_where_it_does_not() {
    let other = specific("PostToolUse", json!({"permissionDecision": "deny"}));
    for dialect in BOTH {
        for (hook, code, denies) in [
            (saying(&other), Some(0), "\"PostToolUse\""),
            (Hook::shell("exit 127"), Some(127), "found 127"),
            (Hook::program("/no/such/program"), None, "cannot be started"),
            (Hook::shell("kill -KILL $$"), None, "without an exit code"),
            (
                Hook::program("echo").arg("all is well"),
                Some(0),
                "a JSON object",
            ),
            (Hook::program("printf").arg(r"\377"), Some(0), "no UTF-8"),
            (
                Hook::program("cat").arg("/dev/zero").stdout_limit(9),
                None,
                "at most 9 bytes",
            ),
            (
                Hook::program("sleep")
                    .arg("60")
                    .timeout(Duration::from_millis(50)),
                None,
                "50ms",
            ),
            (
                Hook::program("true").current_dir("/no/such/folder"),
                None,
                "cannot be started",
            ),
        ] {
            let bench = bench();
            let (set, records) = recorded(dialect);
            let ignoring = hook.clone().on_fault(OnFault::Ignore);
            let result = bench.with(set.pre(ignoring)).await;
            assert_eq!((result.text(), bench.runs.get()), ("done".to_owned(), 1));
            let records = taken(&records);
            assert_eq!(records[1]["exitCode"].as_i64(), code.map(i64::from));
            assert_eq!(records[1].get("exitCode").is_some(), code.is_some());

            let result = bench.with(HookSet::builder(dialect).pre(hook)).await;
            assert_eq!(result.kind(), Some(FailureKind::Denied));
            assert!(result.text().contains(denies), "{}", result.text());
            assert_eq!(bench.runs.get(), 1, "{denies}");
        }
        let (bench, (set, records)) = (bench(), recorded(dialect));
        let result = bench
            .with(set.pre(saying(&json!({"continue": false}))))
            .await;
        assert_eq!((result.text(), bench.runs.get()), ("done".to_owned(), 1));
        assert_eq!(taken(&records)[1]["decision"], "stop");
    }
}

/// conformance: HOOK-28
#[tokio::test]
async fn exit_code_two_behind_withholds_the_result() {
    for dialect in BOTH {
        for (script, text) in [
            ("echo ' look again ' >&2; exit 2", "look again"),
            ("exit 2", "blocked by PostToolUse hook"),
        ] {
            let bench = bench();
            let result = bench
                .with(HookSet::builder(dialect).post(Hook::shell(script)))
                .await;
            assert_eq!((result.text(), bench.runs.get()), (text.to_owned(), 1));
            assert!(result.is_error() && result.value().is_none());
            assert_eq!(result.content().len(), 1);
        }
    }
}

/// conformance: HOOK-29
#[tokio::test]
async fn a_block_keeps_its_context() {
    for dialect in BOTH {
        let mut said = specific("PostToolUse", json!({"additionalContext": "by the way"}));
        said["decision"] = "block".into();
        said["reason"] = "look again".into();
        let result = bench()
            .with(HookSet::builder(dialect).post(saying(&said)))
            .await;
        assert!(result.is_error());
        assert_eq!(result.text(), "look again");
        assert_eq!(texts(result.contexts()), ["by the way"]);
    }
}

/// conformance: HOOK-30
#[tokio::test]
async fn contexts_come_before_what_is_downstream() {
    for (dialect, bridge) in BOTH.into_iter().zip(["hooks-claude-code", "hooks-codex"]) {
        let said = specific("PostToolUse", json!({"additionalContext": "mine"}));
        let set = HookSet::builder(dialect)
            .post(saying(&said))
            .post(saying(&said));
        let hooks = set.build().expect("hooks");
        let replaced = vec![ContentBlock::text("instead")];
        for (downstream, text) in [
            (PostDecision::accept(), "done"),
            (PostDecision::replace_value(json!("other")), "other"),
            (PostDecision::replace_content(replaced), "instead"),
            (PostDecision::block_with("withheld"), "withheld"),
        ] {
            let downstream = downstream.with_context(facade::context("theirs"));
            let listeners = Waterfall::new(downstream);
            let _kept = listeners.register(hooks.post().listener());
            let pipeline = Pipeline::builder(bench().registry)
                .post_execute(listeners)
                .build();
            let result = pipeline.run(request(&json!({}))).await;
            assert_eq!(result.text(), text);
            assert_eq!(texts(result.contexts()), ["mine", "mine", "theirs"]);
            let source = &result.contexts()[0].source;
            assert_eq!((&*source.kind, &*source.name), ("plugin", bridge));
        }
    }
}

#[tokio::test]
async fn nothing_is_asked_behind_a_call_that_did_not_run() {
    let (bench, (set, records)) = (bench(), recorded(Dialect::ClaudeCode));
    let set = set
        .pre(Hook::shell("exit 2").id("front"))
        .post(Hook::program("true"));
    assert!(bench.with(set).await.is_error());
    let records = taken(&records);
    assert!(
        records.iter().all(|record| record["handlerId"] == "front"),
        "{records:?}"
    );
}

/// conformance: HOOK-31
#[tokio::test]
async fn a_call_without_an_agent_is_judged_and_not_recorded() {
    for dialect in BOTH {
        let nobody = || CallRequest::new("1", "Bash", "{}", CancellationToken::new());
        let (set, records) = recorded(dialect);
        let hooks = set.pre(Hook::shell("exit 2")).build().expect("hooks");
        assert!(bench().run(&hooks, nobody()).await.is_error());
        assert_eq!(taken(&records), [] as [Value; 0]);

        let (set, records) = recorded(dialect);
        let said = specific("PostToolUse", json!({"additionalContext": "mine"}));
        let hooks = set.post(saying(&said)).build().expect("hooks");
        let result = bench().run(&hooks, nobody()).await;
        assert_eq!(texts(result.contexts()), ["mine"]);
        assert_eq!(taken(&records), [] as [Value; 0]);
    }
}

/// conformance: HOOK-45
#[tokio::test]
async fn a_listener_that_is_gone_asks_no_more() {
    let hooks = HookSet::builder(Dialect::Codex).pre(Hook::shell("exit 2"));
    let listeners = Waterfall::<CallView, Decision>::new(Decision::Allow);
    let kept = listeners.register(hooks.build().expect("hooks").pre().listener());
    let pipeline = Pipeline::builder(bench().registry)
        .pre_decision(listeners)
        .build();
    assert!(pipeline.run(request(&json!({}))).await.is_error());
    drop(kept);
    assert_eq!(pipeline.run(request(&json!({}))).await.text(), "done");
}

/// conformance: HOOK-18
#[tokio::test]
async fn a_hook_is_recorded_before_and_after() {
    let (set, records) = recorded(Dialect::Codex);
    let session = HookSession::new("s", "/");
    session.set_turn(3);
    let set = set
        .session(session)
        .pre(
            Hook::shell("echo no >&2; exit 2")
                .matcher("Ba.*")
                .id("check"),
        )
        .pre(Hook::program("true"));
    bench().with(set).await;
    let mut records = taken(&records);
    for record in &mut records {
        if let Some(duration) = record.get_mut("durationMs") {
            assert!(duration.is_u64());
            *duration = 0.into();
        }
    }
    let common = json!({"turn": 3, "point": "PreToolUse", "dialect": "codex"});
    let with = |fields: Value| {
        let mut record = common.clone();
        let all = record.as_object_mut().expect("an object");
        all.extend(fields.as_object().cloned().expect("an object"));
        record
    };
    assert_eq!(
        records,
        [
            with(json!({"type": "hook/invoked", "handlerId": "check", "matcher": "Ba.*"})),
            with(
                json!({"type": "hook/result", "handlerId": "check", "decision": "block",
                "exitCode": 2, "stderrSummary": "no", "durationMs": 0})
            ),
            with(json!({"type": "hook/invoked", "handlerId": "PreToolUse[1]"})),
            with(
                json!({"type": "hook/result", "handlerId": "PreToolUse[1]", "decision": "pass",
                "exitCode": 0, "durationMs": 0})
            ),
        ]
    );
}

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

#[allow(dead_code, reason = "a set is shared by every call")]
fn sets_are_shared(hooks: HookSet) -> impl Clone + Send + Sync + 'static {
    hooks
}

#[allow(dead_code, reason = "only compiled: a listener fits both waterfalls")]
fn listeners(hooks: &HookSet, posts: &Waterfall<PostRequest, PostDecision>) {
    posts.register(hooks.post().listener()).keep();
}
