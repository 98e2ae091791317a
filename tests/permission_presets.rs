//! Presets: what they resolve to, what sessions keep of them, what is shown.

use toolfall::approval::{Answerers, ApprovalMode, SessionMode};
use toolfall::permission::{
    Confinement, CurrentPreset, Preset, PresetConfig, PresetError, PresetTable, Presets,
    SandboxMode, SelectError, SessionPermission,
};
use toolfall::session::check::{Audit, Problem};
use toolfall::session::{Body, PolicyRecord, PresetRecord, SandboxRecord, SessionLog, TurnRecord};
use toolfall::{ContextMessage, Scope};

use ApprovalMode::{Ask, Never};
use SandboxMode::{FullAccess, ReadOnly, WorkspaceWrite};

const WRITE: &str = "workspace-write";
const FULL: &str = "danger-full-access";

struct Executor {
    confines: bool,
}

impl Confinement for Executor {
    fn confines(&self) -> bool {
        self.confines
    }
}

fn load(table: PresetTable, config: PresetConfig) -> Result<Presets, PresetError> {
    Presets::load(table, config, &Executor { confines: true })
}

fn defaults() -> Presets {
    load(PresetTable::default(), PresetConfig::default()).unwrap()
}

fn config(edit: impl FnOnce(&mut PresetConfig)) -> PresetConfig {
    let mut config = PresetConfig::default();
    edit(&mut config);
    config
}

fn mode(log: &SessionLog) -> SessionMode {
    SessionMode::new(log.clone(), ApprovalMode::default()).unwrap()
}

/// A new session of `presets`, and its log.
fn created(presets: &Presets) -> (SessionPermission, SessionLog) {
    let log = SessionLog::in_memory();
    (presets.create(mode(&log)).unwrap(), log)
}

/// A log that holds `records`, given as type and word.
fn seeded(records: &[(&str, &str)]) -> SessionLog {
    let log = SessionLog::in_memory();
    for (kind, word) in records {
        let word = (*word).to_owned();
        let body: Body = match *kind {
            "permission/preset" => PresetRecord { preset: word }.into(),
            "sandbox/mode" => SandboxRecord { mode: word }.into(),
            "approval/policy" => PolicyRecord { policy: word }.into(),
            _ => Body::TurnStart(TurnRecord { turn: word }),
        };
        log.append(body).unwrap();
    }
    log
}

/// The records after the first `skip`, as type and word.
fn facts(log: &SessionLog, skip: usize) -> Vec<(String, String)> {
    let records = log.records().unwrap();
    let facts = records.into_iter().skip(skip).map(|record| {
        let kind = record.body.kind().to_owned();
        let word = match record.body {
            Body::Preset(record) => record.preset,
            Body::Sandbox(record) => record.mode,
            Body::Policy(record) => record.policy,
            other => panic!("no record of a preset: {other:?}"),
        };
        (kind, word)
    });
    facts.collect()
}

fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
    let owned = pairs.map(|(kind, word)| (kind.to_owned(), word.to_owned()));
    owned.to_vec()
}

fn text(notice: Option<&ContextMessage>) -> Option<&str> {
    notice.and_then(|notice| notice.content[0].as_text())
}

fn twins() -> PresetTable {
    PresetTable::new([
        Preset::new("first", WorkspaceWrite, Ask),
        Preset::new("second", WorkspaceWrite, Ask).label("The second"),
        Preset::new("look", ReadOnly, Ask).description("Look, and touch nothing."),
    ])
    .unwrap()
}

/// conformance: PERM-01
#[test]
fn the_last_preset_record_of_a_log_wins() {
    let log = seeded(&[("turn/start", "1"), ("sandbox/mode", "read-only")]);
    assert_eq!(PresetTable::last_in(&log.records().unwrap()), None);
    let log = seeded(&[
        ("permission/preset", "a"),
        ("permission/preset", "b"),
        ("approval/policy", "never"),
        ("turn/start", "1"),
    ]);
    assert_eq!(PresetTable::last_in(&log.records().unwrap()), Some("b"));
}

/// conformance: PERM-02
#[test]
fn the_default_table_has_two_presets() {
    let table = PresetTable::default();
    assert_eq!(table.names().collect::<Vec<_>>(), [WRITE, FULL]);
    let full = table.resolve(FULL).unwrap();
    assert_eq!((full.sandbox, full.approval), (FullAccess, Never));
    let write = table.resolve(WRITE).unwrap();
    assert_eq!((write.sandbox, write.approval), (WorkspaceWrite, Ask));
}

/// conformance: PERM-03
#[test]
fn an_unknown_name_resolves_to_an_error() {
    let error = PresetTable::default().resolve("plan").unwrap_err();
    assert_eq!(error.to_string(), "unknown preset \"plan\"");
}

/// conformance: PERM-04
#[test]
fn the_current_preset_is_derived_from_the_settings() {
    let presets = defaults();
    assert_eq!(presets.current().as_str(), WRITE);
    let session = presets.resume(mode(&SessionLog::in_memory())).unwrap();
    assert_eq!(session.current().as_str(), WRITE);
    session.select(FULL).unwrap();
    assert_eq!(session.current().as_str(), FULL);
    assert_eq!(
        (session.sandbox(), session.mode().mode()),
        (FullAccess, Never)
    );
}

/// conformance: PERM-05
#[test]
fn settings_that_no_preset_has_are_custom() {
    let (session, _) = created(&defaults());
    session.set_sandbox(ReadOnly).unwrap();
    assert_eq!(session.current(), CurrentPreset::Custom);
    assert_eq!(session.current().as_str(), "custom");
    let table = session.presets().table();
    assert!(table.resolve("custom").is_err());
    assert!(matches!(
        session.select("custom"),
        Err(SelectError::Unknown(_))
    ));

    session.select(FULL).unwrap();
    assert_eq!(session.current().as_str(), FULL);
}

/// conformance: PERM-06
#[test]
fn a_configuration_that_is_no_preset_is_custom_if_a_default_is_configured() {
    let config = config(|config| {
        config.sandbox = ReadOnly;
        config.default_preset = Some(WRITE.to_owned());
    });
    let presets = load(PresetTable::default(), config).unwrap();
    assert_eq!(presets.current(), CurrentPreset::Custom);
    let log = SessionLog::in_memory();
    let session = presets.resume(mode(&log)).unwrap();
    assert_eq!(session.current(), CurrentPreset::Custom);
    assert_eq!(
        facts(&log, 0),
        pairs([("sandbox/mode", "read-only"), ("approval/policy", "ask")])
    );
    assert_eq!(created(&presets).0.current().as_str(), WRITE);
}

/// conformance: PERM-07
#[test]
fn the_selected_one_of_two_alike_counts_while_it_matches() {
    let presets = load(twins(), PresetConfig::default()).unwrap();
    let (session, log) = created(&presets);
    assert_eq!(session.current().as_str(), "first");
    session.select("second").unwrap();
    assert_eq!(session.current().as_str(), "second");
    assert_eq!(facts(&log, 3), pairs([("permission/preset", "second")]));
    let resumed = presets.resume(mode(&log)).unwrap();
    assert_eq!(resumed.current().as_str(), "second");

    session.set_sandbox(ReadOnly).unwrap();
    assert_eq!(session.current().as_str(), "look");
    session.set_sandbox(WorkspaceWrite).unwrap();
    assert_eq!(session.current().as_str(), "second", "it matches again");
    session.select("look").unwrap();
    session.set_sandbox(WorkspaceWrite).unwrap();
    assert_eq!(
        session.current().as_str(),
        "first",
        "nothing selected matches"
    );
}

/// conformance: PERM-08, PERM-09
#[test]
fn a_switch_writes_three_records_and_none_the_second_time() {
    let (session, log) = created(&defaults());
    let notice = session.select(FULL).unwrap();
    assert!(notice.is_some());
    assert_eq!(
        facts(&log, 3),
        pairs([
            ("permission/preset", FULL),
            ("sandbox/mode", FULL),
            ("approval/policy", "never"),
        ])
    );
    assert!(session.select(FULL).unwrap().is_none());
    assert_eq!(facts(&log, 6), []);
}

/// conformance: PERM-10
#[test]
fn selecting_a_drifted_preset_again_mends_only_what_drifted() {
    let (session, log) = created(&defaults());
    session.select(FULL).unwrap();
    session.mode().switch(Ask).unwrap();
    assert_eq!(session.current(), CurrentPreset::Custom);
    session.select(FULL).unwrap();
    assert_eq!(
        facts(&log, 7),
        pairs([("permission/preset", FULL), ("approval/policy", "never")])
    );

    session.set_sandbox(WorkspaceWrite).unwrap();
    session.select(FULL).unwrap();
    assert_eq!(
        facts(&log, 10),
        pairs([("permission/preset", FULL), ("sandbox/mode", FULL)])
    );
}

/// conformance: PERM-11
#[test]
fn an_executor_that_does_not_confine_is_refused() {
    let loose = Executor { confines: false };
    let load = |table, config| Presets::load(table, config, &loose);
    let error = load(PresetTable::default(), PresetConfig::default()).unwrap_err();
    assert!(error.to_string().contains("does not confine"), "{error}");

    let full = || PresetTable::new([Preset::new("full", FullAccess, Never)]).unwrap();
    let named = |config: &mut PresetConfig| config.default_preset = Some("full".to_owned());
    let error = load(full(), config(named)).unwrap_err();
    assert!(error.to_string().contains("does not confine"), "{error}");
    // Where nothing is promised, nothing can be broken.
    let open = config(|config| {
        named(config);
        config.sandbox = FullAccess;
    });
    assert!(load(full(), open).is_ok());
}

/// conformance: PERM-12
#[test]
fn no_preset_has_the_name_of_the_state_or_anothers() {
    let table = |names: &[&str]| {
        PresetTable::new(names.iter().map(|name| Preset::new(*name, ReadOnly, Ask)))
    };
    let error = table(&["a", "custom"]).unwrap_err().to_string();
    assert!(
        error.contains("reserved for the derived not-a-preset state"),
        "{error}"
    );
    let error = table(&["a", "b", "a"]).unwrap_err().to_string();
    assert_eq!(
        error,
        "expected presets with different names, found a second \"a\""
    );
    let error = table(&["a", " "]).unwrap_err().to_string();
    assert_eq!(error, "expected a name for preset 2, found none");
}

/// conformance: PERM-13
#[test]
fn a_configuration_that_is_no_preset_needs_a_default() {
    let read_only = |config: &mut PresetConfig| config.sandbox = ReadOnly;
    let error = load(PresetTable::default(), config(read_only)).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("configure defaultPreset explicitly"),
        "{error}"
    );

    let config = config(|config| config.default_preset = Some("plan".to_owned()));
    let error = load(PresetTable::default(), config).unwrap_err();
    assert_eq!(error.to_string(), "unknown preset \"plan\"");
}

/// conformance: PERM-14
#[test]
fn no_approval_mode_is_ask() {
    let presets = defaults();
    assert_eq!(presets.config().approval, None);
    assert_eq!(presets.current().as_str(), WRITE);
    let (session, log) = created(&presets);
    session.select(FULL).unwrap();
    session.select(WRITE).unwrap();
    let policies: Vec<_> = facts(&log, 0)
        .into_iter()
        .filter(|(kind, _)| kind == "approval/policy")
        .map(|(_, word)| word)
        .collect();
    assert_eq!(policies, ["ask", "never", "ask"]);
}

/// conformance: PERM-15
#[test]
fn options_are_what_people_read() {
    let table = twins();
    let json = |name| serde_json::to_value(table.option(name).unwrap()).unwrap();
    assert_eq!(
        json("first"),
        serde_json::json!({"value": "first", "name": "first"})
    );
    assert_eq!(
        json("second"),
        serde_json::json!({"value": "second", "name": "The second"})
    );
    assert_eq!(
        json("look"),
        serde_json::json!(
            {"value": "look", "name": "look", "description": "Look, and touch nothing."}
        )
    );
    assert_eq!(
        json("custom"),
        serde_json::json!({
            "value": "custom",
            "name": "Custom",
            "description": "Current sandbox and approval settings do not match a preset.",
        })
    );
    let error = table.option("plan").unwrap_err();
    assert_eq!(error.to_string(), "unknown preset \"plan\"");
}

/// conformance: PERM-16
#[test]
fn a_new_session_is_pinned_to_the_default_of_its_time() {
    let presets = defaults();
    let (early, log) = created(&presets);
    let pinned = pairs([
        ("permission/preset", WRITE),
        ("sandbox/mode", WRITE),
        ("approval/policy", "ask"),
    ]);
    assert_eq!(facts(&log, 0), pinned);

    presets.set_default(FULL).unwrap();
    assert_eq!(early.current().as_str(), WRITE);
    let resumed = presets.resume(mode(&log)).unwrap();
    assert_eq!(resumed.current().as_str(), WRITE);
    let not_new = presets.create(mode(&log)).unwrap();
    assert_eq!(not_new.current().as_str(), WRITE);
    assert_eq!(facts(&log, 0), pinned);

    let (late, log) = created(&presets);
    assert_eq!(late.current().as_str(), FULL);
    assert_eq!(
        facts(&log, 0),
        pairs([
            ("permission/preset", FULL),
            ("sandbox/mode", FULL),
            ("approval/policy", "never"),
        ])
    );
}

/// conformance: PERM-17, PERM-18
#[test]
fn a_session_that_was_there_before_never_gets_a_wider_default() {
    for seed in [&[("turn/start", "1")][..], &[]] {
        let presets = defaults();
        presets.set_default(FULL).unwrap();
        let log = seeded(seed);
        let session = presets.resume(mode(&log)).unwrap();
        assert_eq!(session.current().as_str(), WRITE);
        assert_eq!(
            facts(&log, seed.len()),
            pairs([
                ("permission/preset", WRITE),
                ("sandbox/mode", WRITE),
                ("approval/policy", "ask"),
            ])
        );
        presets.resume(mode(&log)).unwrap();
        assert_eq!(facts(&log, seed.len()).len(), 3, "nothing is missing now");
    }
}

/// conformance: PERM-19
#[test]
fn a_session_that_is_live_already_is_pinned_then() {
    let log = seeded(&[("turn/start", "1")]);
    let presets = defaults();
    presets.set_default(FULL).unwrap();
    let session = presets.create(mode(&log)).unwrap();
    assert_eq!(session.current().as_str(), FULL);
    assert_eq!(facts(&log, 1).len(), 3);
}

/// conformance: PERM-20, PERM-21
#[test]
fn only_what_is_missing_is_appended() {
    let presets = defaults();
    let resumed = |seed: &[(&str, &str)]| {
        let log = seeded(seed);
        let session = presets.resume(mode(&log)).unwrap();
        (session.current().to_string(), facts(&log, seed.len()))
    };
    assert_eq!(
        resumed(&[("sandbox/mode", FULL), ("approval/policy", "never")]),
        (FULL.to_owned(), pairs([("permission/preset", FULL)]))
    );
    assert_eq!(
        resumed(&[("sandbox/mode", FULL), ("approval/policy", "ask")]),
        ("custom".to_owned(), vec![])
    );
    assert_eq!(
        resumed(&[("sandbox/mode", "read-only")]),
        ("custom".to_owned(), pairs([("approval/policy", "ask")]))
    );
    assert_eq!(
        resumed(&[
            ("permission/preset", "gone"),
            ("sandbox/mode", "everything")
        ]),
        ("custom".to_owned(), pairs([("approval/policy", "ask")])),
        "no word is a permission"
    );
}

/// conformance: PERM-22
#[test]
fn a_default_outside_the_table_is_refused() {
    let presets = defaults();
    presets.set_default(FULL).unwrap();
    for name in ["plan", "custom", ""] {
        assert!(presets.set_default(name).is_err());
    }
    assert_eq!(presets.default_preset(), FULL);
}

/// conformance: PERM-23
#[test]
fn the_checker_knows_the_table() {
    let log = seeded(&[
        ("permission/preset", WRITE),
        ("permission/preset", "missing"),
    ]);
    let records = log.records().unwrap();
    let table = PresetTable::default();
    let mut audit = Audit::new().presets(table.names());
    assert!(audit.observe(&records[0]).is_empty());
    let found = audit.observe(&records[1]);
    assert_eq!(found[0].problem.to_string(), "unknown preset \"missing\"");
    assert_eq!(found[0].line, 2);

    let mut live = Audit::new().presets(table.names());
    live.observe(&records[0]);
    let log = seeded(&[("permission/preset", WRITE), ("permission/preset", FULL)]);
    assert!(live.observe(&log.records().unwrap()[1]).is_empty());

    // Without a table any name may be right; words of modes are fixed.
    let log = seeded(&[("permission/preset", "missing"), ("sandbox/mode", "open")]);
    let found = toolfall::session::check::check(&log.records().unwrap());
    let problem = Problem::UnknownSandboxMode {
        found: "open".to_owned(),
    };
    assert_eq!(
        found.into_iter().map(|it| it.problem).collect::<Vec<_>>(),
        [problem]
    );
}

/// conformance: PERM-24
#[test]
fn people_see_the_options_and_every_change() {
    let (session, log) = created(&defaults());
    let values = |session: &SessionPermission| {
        let shown = session.projection();
        let values = shown.options.into_iter().map(|option| option.value);
        (values.collect::<Vec<_>>(), shown.current)
    };
    assert_eq!(
        values(&session),
        (vec![WRITE.to_owned(), FULL.to_owned()], WRITE.to_owned())
    );
    let mut changes = session.changes();
    let start = *changes.borrow_and_update();
    session.select(FULL).unwrap();
    assert!(changes.has_changed().unwrap());
    assert_eq!(*changes.borrow_and_update() - start, 3);
    assert_eq!(values(&session).1, FULL);

    log.append(Body::TurnEnd(TurnRecord::default())).unwrap();
    session.set_policy(None).unwrap();
    assert!(!changes.has_changed().unwrap());

    session.mode().switch(Ask).unwrap();
    assert_eq!(*changes.borrow_and_update() - start, 4);
    let (options, current) = values(&session);
    assert_eq!(options, [WRITE, FULL, "custom"]);
    assert_eq!(current, "custom");
    session.select(WRITE).unwrap();
    assert_eq!(values(&session).0, [WRITE, FULL]);

    drop(session);
    changes.borrow_and_update();
    assert!(changes.has_changed().is_err(), "ends with the session");
}

/// conformance: PERM-25
#[test]
fn the_command_shows_and_switches() {
    let (session, log) = created(&defaults());
    let bare = session.command(" ").unwrap();
    assert_eq!(
        bare.text,
        "current preset workspace-write (available: workspace-write, danger-full-access)"
    );
    assert_eq!(bare.notice, None);

    let error = session.command("yolo").unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown preset \"yolo\" (available: workspace-write, danger-full-access)"
    );
    assert_eq!(facts(&log, 3), []);

    let done = session.command(" danger-full-access\n").unwrap();
    assert_eq!(done.text, "preset danger-full-access");
    assert_eq!(
        text(done.notice.as_ref()),
        Some("The approval policy changed from \"ask\" to \"never\" (changed by the user).")
    );
    let again = session.command(FULL).unwrap();
    assert_eq!(
        (again.text.as_str(), again.notice),
        ("preset danger-full-access", None)
    );
    drop(log.close());
    assert!(session.command(WRITE).is_err());
    assert_eq!(session.current().as_str(), FULL);
}

/// conformance: PERM-26
#[test]
fn a_model_never_reads_of_presets() {
    let (answerers, agent) = (Answerers::new(), Scope::new("agent"));
    let log = SessionLog::in_memory();
    let mode = answerers.session(&agent, log.clone()).unwrap();
    let presets = load(twins(), PresetConfig::default()).unwrap();
    let session = presets.create(mode).unwrap();
    let prompt = answerers.prompt(Some(&agent));
    assert_eq!(session.select("second").unwrap(), None);
    assert_eq!(session.select("look").unwrap(), None, "questions as before");
    assert_eq!(answerers.prompt(Some(&agent)), prompt);
    let records = log.records().unwrap();
    let shown = records
        .iter()
        .any(|record| matches!(record.body, Body::Context(_)));
    assert!(!shown, "a preset record is no message");
}
