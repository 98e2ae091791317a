//! Hooks in front of and behind real calls: what they decide.
#![cfg(unix)]

use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolfall::hooks::{Dialect, Hook, HookSession, HookSet, OnFault};
use toolfall::policy::Waterfall;
use toolfall::{
    CallRequest, CallView, ContentBlock, Decision, FailureKind, Pipeline, PostDecision,
};

#[path = "support/facade.rs"]
mod facade;
#[path = "support/hooks.rs"]
mod support;

use facade::texts;
use support::{BOTH, bench, recorded, request, saying, specific, taken};

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
