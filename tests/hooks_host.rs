//! What a host does with hooks beside tools: events, logs, warnings.
#![cfg(unix)]
// Real processes keep real time.
#![allow(clippy::disallowed_methods)]

use std::io::Write;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolfall::hooks::{
    DetachedHooks, Dialect, Hook, HookEvent, HookFault, HookLedger, HookPoint, HookSession,
    HookSet, HookSettings, Places,
};
use toolfall::policy::Waterfall;
use toolfall::{CallView, Decision, Pipeline};

#[path = "support/facade.rs"]
mod facade;
#[path = "support/processes.rs"]
mod processes;

use processes::{alive, family, marker, until};

/// Keeps what is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn install() -> (Self, tracing::subscriber::DefaultGuard) {
        let log = Self::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("no panic")).into_owned()
    }
}

fn saying(value: &Value) -> Hook {
    Hook::program("printf").arg("%s").arg(value.to_string())
}

/// conformance: HOOK-25, HOOK-26
#[tokio::test]
async fn an_allow_is_no_bypass_and_changes_nothing() {
    let (log, _kept) = Log::install();
    let hook = saying(&json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "updatedInput": {"a": "other"},
        "additionalContext": "for nobody",
    }}));
    let hooks = HookSet::builder(Dialect::ClaudeCode)
        .pre(hook)
        .build()
        .expect("hooks");
    let listeners = Waterfall::new(Decision::Allow);
    let _hooks = listeners.register(hooks.pre().listener());
    let later = listeners.register(|_: CallView, _| async { Decision::deny("later") });
    let pipeline = Pipeline::builder(facade::registry([facade::echo("e")]))
        .pre_decision(listeners)
        .pre_decision(hooks.pre())
        .build();
    let call = || pipeline.call("1", "e", r#"{"a":"sent"}"#, CancellationToken::new());
    assert_eq!(call().await.text(), "Error: later");
    drop(later);
    let result = call().await;
    assert_eq!(result.value(), Some(&json!({"a": "sent"})));
    assert!(result.contexts().is_empty());
    assert!(log.text().contains("updatedInput"), "{}", log.text());
}

/// conformance: HOOK-35
#[tokio::test]
async fn a_message_for_the_user_is_logged_and_never_shown_to_the_model() {
    let (log, _kept) = Log::install();
    let hook = saying(&json!({"systemMessage": "mind the gap"}));
    let set = HookSet::builder(Dialect::ClaudeCode)
        .pre(hook.clone())
        .post(hook);
    let hooks = set.build().expect("hooks");
    let pipeline = Pipeline::builder(facade::registry([facade::echo("e")]))
        .pre_decision(hooks.pre())
        .post_execute(hooks.post())
        .build();
    let result = pipeline
        .call("1", "e", "{}", CancellationToken::new())
        .await;
    assert_eq!(
        (result.text(), result.contexts().len()),
        ("{}".to_owned(), 0)
    );
    assert!(log.text().contains("systemMessage"), "{}", log.text());
    assert!(log.text().contains("mind the gap"), "{}", log.text());
}

/// conformance: HOOK-16
#[tokio::test(start_paused = true)]
async fn a_hook_has_its_own_time_or_the_usual_one() {
    let settings = json!({"Stop": [{"hooks": [
        {"command": "sleep 3000", "timeout": 3},
        {"command": "sleep 3000"},
    ]}]});
    let read = HookSettings::read(Dialect::ClaudeCode, &settings, &Places::default());
    let hooks = read.builder.build().expect("hooks");
    let event = HookEvent::new(HookPoint::Stop);
    let report = hooks.run_event(event, &CancellationToken::new()).await;
    for (run, millis) in report.runs.iter().zip([3_000, 600_000]) {
        let timeout = Duration::from_millis(millis);
        assert_eq!(run.output.fault, Some(HookFault::TimedOut(timeout)));
        assert!(run.duration >= timeout && run.duration < timeout + Duration::from_secs(5));
    }
    assert_eq!(report.runs.len(), 2);
}

#[tokio::test]
async fn an_event_tells_what_the_host_adds_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("told");
    let keep = Hook::program("tee").arg(&file).matcher("startup");
    let set = HookSet::builder(Dialect::ClaudeCode).on(HookPoint::SessionStart, keep);
    let hooks = set
        .session(HookSession::new("s", "/"))
        .build()
        .expect("hooks");
    let cancel = CancellationToken::new();
    let event = HookEvent::new(HookPoint::SessionStart)
        .field("source", "startup")
        .field("session_id", "forged");
    let report = hooks
        .run_event(event.clone().subject("resume"), &cancel)
        .await;
    assert!(report.runs.is_empty());
    hooks.run_event(event.subject("startup"), &cancel).await;
    let told = std::fs::read_to_string(&file).expect("told");
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(
        told,
        json!({"session_id": "s", "transcript_path": "", "cwd": "/", "source": "startup",
            "hook_event_name": "SessionStart"})
    );
}

/// conformance: HOOK-39
#[tokio::test]
async fn a_detached_hook_speaks_when_it_has_ended() {
    let (log, _kept) = Log::install();
    let hook = saying(&json!({"hookSpecificOutput": {
        "hookEventName": "SubagentStart", "additionalContext": "welcome",
    }}));
    let set = HookSet::builder(Dialect::ClaudeCode).on(HookPoint::SubagentStart, hook);
    let detached = DetachedHooks::new(set.build().expect("hooks"));
    let event = || HookEvent::new(HookPoint::SubagentStart);
    let (sender, receiver) = channel();
    let injected = sender.clone();
    detached.start(event(), move |report| {
        Ok(injected.send(report.merged.contexts)?)
    });
    assert!(receiver.try_recv().is_err(), "nobody waited for it");
    detached.start(event(), |_| Err("the queue is closed".into()));
    detached.start(event(), |_| panic!("absorbed"));
    let mut said = None;
    until("the hook has spoken", || {
        said = said.take().or_else(|| receiver.try_recv().ok());
        said.is_some() && log.text().contains("SubagentStart hook failed")
    })
    .await;
    assert_eq!(said.expect("a context"), ["welcome"]);
    detached.dispose().await;
}

/// conformance: HOOK-21, HOOK-40
#[tokio::test]
async fn disposal_waits_for_every_process() {
    let (log, _kept) = Log::install();
    let marker = marker("hook-detached");
    let hook = Hook::shell(family(&marker, "trap '' TERM;")).grace(Duration::from_millis(50));
    let set = HookSet::builder(Dialect::Codex).on(HookPoint::SessionStart, hook);
    let detached = DetachedHooks::new(set.build().expect("hooks"));
    let event = || HookEvent::new(HookPoint::SessionStart);
    detached.start(event(), |_| panic!("it was ended, and says nothing"));
    until("the family is there", || alive(&marker) >= 4).await;
    let meanwhile = async {
        tokio::task::yield_now().await;
        detached.start(event(), |_| panic!("it was ended, and says nothing"));
    };
    tokio::join!(detached.dispose(), meanwhile);
    assert_eq!(alive(&marker), 0);
    assert!(!log.text().contains("failed"), "{}", log.text());
}

#[tokio::test]
async fn hooks_end_with_whoever_started_them() {
    let marker = marker("hook-forgotten");
    let hook = Hook::shell(family(&marker, "")).grace(Duration::from_millis(50));
    let set = HookSet::builder(Dialect::Codex).on(HookPoint::SessionStart, hook);
    let detached = DetachedHooks::new(set.build().expect("hooks"));
    detached.start(HookEvent::new(HookPoint::SessionStart), |_| Ok(()));
    until("the family is there", || alive(&marker) >= 4).await;
    drop(detached);
    until("the family is gone", || alive(&marker) == 0).await;
}

/// conformance: HOOK-20
#[test]
fn records_that_cannot_be_true_are_refused() {
    let record = |kind: &str, changed: Value| {
        let mut record = json!({"type": kind, "turn": 1, "point": "Stop", "dialect": "codex",
            "handlerId": "h", "decision": "pass", "durationMs": 1.5});
        for (name, value) in changed.as_object().expect("an object") {
            record[name] = value.clone();
        }
        record
    };
    let invoked = || record("hook/invoked", json!({}));
    let result = || record("hook/result", json!({}));
    let turn = |kind: &str| json!({"type": kind, "turn": 1});

    let mut ledger = HookLedger::new();
    let refused = |ledger: &mut HookLedger, record: &Value, part: &str| {
        let said = ledger.append(record).expect_err("refused").to_string();
        assert!(said.contains(part), "{said}");
    };
    refused(&mut ledger, &invoked(), "outside any open turn");
    ledger.append(&turn("turn/start")).expect("opens");
    let other = record("hook/invoked", json!({"turn": 2}));
    refused(&mut ledger, &other, "but open turn is 1");
    for empty in [json!({"point": ""}), json!({"handlerId": ""})] {
        let part = "point and handlerId must be non-empty";
        refused(&mut ledger, &record("hook/invoked", empty), part);
    }
    let other = record("hook/invoked", json!({"dialect": "other"}));
    refused(&mut ledger, &other, "unknown dialect");
    refused(&mut ledger, &result(), "no matching hook/invoked");
    ledger.append(&invoked()).expect("begins");
    for duration in [json!(-1), json!("1"), json!(null)] {
        let part = "durationMs must be a non-negative finite number";
        refused(
            &mut ledger,
            &record("hook/result", json!({"durationMs": duration})),
            part,
        );
    }
    ledger.append(&result()).expect("ends");
    refused(&mut ledger, &result(), "no matching hook/invoked");
    for _ in 0..3 {
        ledger.append(&invoked()).expect("again");
        ledger.append(&result()).expect("again");
    }

    // One that starts late reads what was written before.
    let mut late = HookLedger::new();
    for record in [turn("turn/start"), json!({"type": "else"}), invoked()] {
        late.append(&record).expect("written before");
    }
    assert_eq!(late.pending(), 1);
    late.append(&result()).expect("its invocation is known");
    late.append(&turn("turn/end")).expect("closes");
    refused(&mut late, &invoked(), "outside any open turn");
}
