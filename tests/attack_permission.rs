//! Permissions under contradictory logs and many hands.

use std::thread;

use serde_json::json;
use toolfall::Scope;
use toolfall::approval::{Answerers, ApprovalMode, SessionMode};
use toolfall::permission::{
    ApprovalPolicy, Confinement, EffectivePolicy, PolicySource, PresetConfig, PresetTable, Presets,
    SandboxMode,
};
use toolfall::session::{EffectiveRecord, PolicyRecord, PresetRecord, SandboxRecord, SessionLog};

struct Confined;

impl Confinement for Confined {
    fn confines(&self) -> bool {
        true
    }
}

fn presets() -> Presets {
    Presets::load(PresetTable::default(), PresetConfig::default(), &Confined).unwrap()
}

fn mode(log: &SessionLog) -> SessionMode {
    SessionMode::new(log.clone(), ApprovalMode::Ask).unwrap()
}

fn effective(policy: &str, source: &str) -> EffectiveRecord {
    EffectiveRecord {
        policy: policy.to_owned(),
        source: source.to_owned(),
    }
}

/// What cannot be understood is never read as less than it may have said.
#[test]
fn words_of_another_version_open_nothing() {
    use ApprovalPolicy::{AllowAll, AskEdits, DenyAll};
    for (record, own) in [
        (effective("ask-everything", "session"), Some(DenyAll)),
        (effective("ask-everything", "organisation"), Some(DenyAll)),
        (effective("allow-all", "organisation"), Some(DenyAll)),
        (effective("ask-everything", "user"), None),
        (effective("ask-edits", "session"), Some(AskEdits)),
        (effective("allow-all", "preset"), None),
    ] {
        let log = SessionLog::in_memory();
        log.append(PresetRecord {
            preset: "danger-full-access".into(),
        })
        .unwrap();
        log.append(SandboxRecord {
            mode: "danger-full-access".into(),
        })
        .unwrap();
        log.append(PolicyRecord {
            policy: "never".into(),
        })
        .unwrap();
        log.append(effective("allow-all", "session")).unwrap();
        log.append(record.clone()).unwrap();
        let session = presets().resume(mode(&log)).unwrap();
        assert_eq!(session.own_policy(), own, "{record:?}");
        let wanted = match own {
            Some(own) => (own, PolicySource::Session),
            None => (AllowAll, PolicySource::Preset),
        };
        let found = session.effective();
        assert_eq!((found.policy, found.source), wanted, "{record:?}");
        // A person may take it back, and that is what is read next time.
        session.set_policy(Some(AskEdits)).unwrap();
        session.set_policy(None).unwrap();
        let again = presets().resume(mode(&log)).unwrap();
        assert_eq!(again.own_policy(), None);
    }
    let log = SessionLog::in_memory();
    log.append(SandboxRecord {
        mode: "danger-full-access".into(),
    })
    .unwrap();
    log.append(SandboxRecord {
        mode: "galactic".into(),
    })
    .unwrap();
    log.append(PolicyRecord {
        policy: "ask".into(),
    })
    .unwrap();
    log.append(PolicyRecord {
        policy: "perhaps".into(),
    })
    .unwrap();
    log.append(PresetRecord {
        preset: "danger-full-access".into(),
    })
    .unwrap();
    let session = presets().resume(mode(&log)).unwrap();
    assert_eq!(session.sandbox(), SandboxMode::ReadOnly);
    assert_eq!(session.mode().mode(), ApprovalMode::Never);
    // The preset's name alone gives nothing of what it stands for.
    assert_eq!(session.current().as_str(), "custom");
    assert_eq!(session.effective().policy, DenyAll);
}

/// conformance: PERM-08
///
/// Switches from many threads: three records each, in order, with nothing of
/// another switch between them.
#[test]
fn switches_at_once_do_not_mix() {
    let log = SessionLog::in_memory();
    let session = presets().create(mode(&log)).unwrap();
    let before = log.records().unwrap().len();
    let changes = session.changes();
    let first = *changes.borrow();
    thread::scope(|threads| {
        for thread in 0..8 {
            let session = session.clone();
            threads.spawn(move || {
                for round in 0..25 {
                    let full = (thread + round) % 2 == 0;
                    let name = if full {
                        "danger-full-access"
                    } else {
                        "workspace-write"
                    };
                    session.select(name).unwrap();
                    let _ = (session.current(), session.effective());
                }
            });
        }
    });
    let records = log.records().unwrap();
    let written: Vec<_> = records[before..]
        .iter()
        .map(|record| serde_json::to_value(record).unwrap())
        .collect();
    assert!(
        !written.is_empty() && written.len() % 3 == 0,
        "{}",
        written.len()
    );
    assert_eq!(*changes.borrow() - first, written.len() as u64);
    for (place, three) in written.chunks(3).enumerate() {
        let (name, approval) = match place % 2 {
            0 => ("danger-full-access", "never"),
            _ => ("workspace-write", "ask"),
        };
        let said = three.iter().map(|record| {
            let value = ["preset", "mode", "policy"].map(|key| record.get(key).cloned());
            (record["type"].clone(), value.into_iter().flatten().next())
        });
        let wanted = [
            (json!("permission/preset"), Some(json!(name))),
            (json!("sandbox/mode"), Some(json!(name))),
            (json!("approval/policy"), Some(json!(approval))),
        ];
        assert!(said.eq(wanted), "{three:?}");
    }
    let resumed = presets().resume(mode(&log)).unwrap();
    assert_eq!(resumed.current(), session.current());
    assert_eq!(log.records().unwrap().len(), records.len());
}

/// A session's `never` counts for what is nested in its scope and cannot be
/// lifted from there by a session object that is dropped, or by one elsewhere.
#[test]
fn a_session_says_nothing_of_scopes_beside_it() {
    let answerers = Answerers::new();
    let (one, two) = (Scope::new("agent"), Scope::new("agent"));
    let first = answerers.session(&one, SessionLog::in_memory()).unwrap();
    first.switch(ApprovalMode::Never).unwrap();
    let second = answerers.session(&two, SessionLog::in_memory()).unwrap();
    second.switch(ApprovalMode::Never).unwrap();
    second.switch(ApprovalMode::Ask).unwrap();
    drop((first, second));
    let nested = one.nested("helper");
    assert_eq!(answerers.mode_in(&one), ApprovalMode::Never);
    assert_eq!(answerers.mode_in(&nested), ApprovalMode::Never);
    assert_eq!(answerers.mode_in(&two), ApprovalMode::Ask);
    assert_eq!(
        EffectivePolicy::resolve(None, None, None).policy,
        ApprovalPolicy::DenyAll
    );
}
