//! The approval policy that applies, and who set it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolfall::approval::{Answerers, ApprovalMode, SessionMode};
use toolfall::permission::{
    ApprovalPolicy, Confinement, EffectivePolicy, PolicySource, Preset, PresetConfig, PresetTable,
    Presets, SandboxMode, SessionPermission, SessionPolicy,
};
use toolfall::pipeline::BoxPipeline;
use toolfall::session::{Body, EffectiveRecord, SessionLog, check};
use toolfall::{
    ApprovalOutcome, ApprovalRequest, Arguments, BoxError, CallRequest, CallView, FailureKind,
    Pipeline, Registry, Scope, ToolContext, ToolDef, ToolResult, raw_tool,
};

use ApprovalPolicy::{AllowAll, AskDangerous, AskEdits, DenyAll};

const ALL: [ApprovalPolicy; 4] = [AllowAll, DenyAll, AskDangerous, AskEdits];

struct Confined;

impl Confinement for Confined {
    fn confines(&self) -> bool {
        true
    }
}

/// A session whose preset sets `policy`.
fn session_of(policy: Option<ApprovalPolicy>) -> (SessionPermission, SessionLog) {
    let mut preset = Preset::new("the", SandboxMode::WorkspaceWrite, ApprovalMode::default());
    preset.policy = policy;
    let table = PresetTable::new([preset]).unwrap();
    let presets = Presets::load(table, PresetConfig::default(), &Confined).unwrap();
    let log = SessionLog::in_memory();
    let mode = SessionMode::new(log.clone(), ApprovalMode::default()).unwrap();
    (presets.create(mode).unwrap(), log)
}

fn tool(name: &'static str) -> ToolDef {
    let body = |_: Arguments, _: ToolContext| async { Ok::<Value, BoxError>(json!("ran")) };
    raw_tool(name, "", json!({"type": "object"}), body)
}

/// A pipeline of four tools that counts the questions, all of them granted.
struct Host {
    pipeline: BoxPipeline,
    asked: Arc<AtomicUsize>,
}

impl Host {
    fn new(policy: SessionPolicy, session: &SessionPermission) -> Self {
        let registry = Registry::new();
        for tool in [
            tool("plain"),
            tool("rm_rf_everything"),
            tool("write").edits(),
            tool("launch").dangerous(),
        ] {
            registry.register(tool).unwrap().keep();
        }
        let (answerers, asked) = (Answerers::new(), Arc::new(AtomicUsize::new(0)));
        let counted = asked.clone();
        answerers
            .register(move |_: ApprovalRequest| {
                counted.fetch_add(1, Ordering::SeqCst);
                async { Some(ApprovalOutcome::AllowedOnce) }
            })
            .keep();
        let pipeline = Pipeline::builder(registry)
            .pre_decision(policy)
            .approval(answerers)
            .guard(session.guard())
            .build()
            .boxed();
        Self { pipeline, asked }
    }

    async fn result(&self, tool: &'static str) -> ToolResult {
        let request = CallRequest::new("1", tool, "{}", CancellationToken::new());
        self.pipeline
            .run(request.with_scope(Scope::new("agent")))
            .await
    }

    /// `allow`, `ask` (which was granted) or `deny`.
    async fn verdict(&self, tool: &'static str) -> &'static str {
        let before = self.asked.load(Ordering::SeqCst);
        let result = self.result(tool).await;
        match (
            result.text().as_str(),
            self.asked.load(Ordering::SeqCst) - before,
        ) {
            ("\"ran\"" | "ran", 0) => "allow",
            ("\"ran\"" | "ran", 1) => "ask",
            _ if result.kind() == Some(FailureKind::Denied) => "deny",
            other => panic!("{other:?}"),
        }
    }
}

/// What decided `result`, as records name it, where quotes are escaped.
fn rule(result: &ToolResult) -> String {
    let decided = result.decided_by().unwrap().to_string();
    decided.replace('\\', "")
}

fn effective(log: &SessionLog) -> Vec<(String, String)> {
    let records = log.records().unwrap();
    assert!(check::check(&records).is_empty());
    let records = records.into_iter().filter_map(|record| match record.body {
        Body::Effective(EffectiveRecord { policy, source }) => Some((policy, source)),
        _ => None,
    });
    records.collect()
}

#[test]
fn the_nearest_policy_wins_in_every_combination() {
    let set = || ALL.into_iter().map(Some).chain([None]);
    for preset in set() {
        let (session, _) = session_of(preset);
        for user in set() {
            session.presets().set_user_policy(user);
            for own in set() {
                session.set_policy(own).unwrap();
                let effective = session.effective();
                assert_eq!(effective, EffectivePolicy::resolve(preset, user, own));
                let (expected, source) = match (own, user, preset) {
                    (Some(own), ..) => (own, PolicySource::Session),
                    (None, Some(user), _) => (user, PolicySource::User),
                    (None, None, Some(preset)) => (preset, PolicySource::Preset),
                    (None, None, None) => (DenyAll, PolicySource::Nothing),
                };
                assert_eq!((effective.policy, effective.source), (expected, source));
            }
        }
    }
}

#[tokio::test]
async fn each_policy_decides_by_what_tools_declare() {
    let (session, _) = session_of(None);
    let host = Host::new(session.policy(), &session);
    for (policy, expected) in [
        (AllowAll, ["allow", "allow", "allow", "allow"]),
        (DenyAll, ["deny", "deny", "deny", "deny"]),
        (AskDangerous, ["allow", "allow", "allow", "ask"]),
        (AskEdits, ["allow", "allow", "ask", "ask"]),
    ] {
        session.set_policy(Some(policy)).unwrap();
        for (tool, expected) in ["plain", "rm_rf_everything", "write", "launch"]
            .into_iter()
            .zip(expected)
        {
            assert_eq!(host.verdict(tool).await, expected, "{policy} {tool}");
        }
        let unknown = host.result("nope").await;
        assert_eq!(unknown.code(), Some("UNKNOWN_TOOL"), "{policy}");
    }
}

#[tokio::test]
async fn a_rule_can_declare_a_call_dangerous_and_none_harmless() {
    let (session, _) = session_of(Some(AskDangerous));
    let policy = session
        .policy()
        .dangerous_if(|call: &CallView| call.name() == "plain")
        .dangerous_if(|_: &CallView| false)
        .edits_if(|call: &CallView| call.name() == "rm_rf_everything");
    let host = Host::new(policy, &session);
    assert_eq!(host.verdict("plain").await, "ask");
    assert_eq!(host.verdict("launch").await, "ask");
    assert_eq!(host.verdict("rm_rf_everything").await, "allow");
    session.set_policy(Some(AskEdits)).unwrap();
    assert_eq!(host.verdict("rm_rf_everything").await, "ask");
}

#[tokio::test]
async fn a_rule_that_panics_permits_nothing() {
    let (session, _) = session_of(Some(AskDangerous));
    let policy = session
        .policy()
        .dangerous_if(|_: &CallView| panic!("broken"));
    let host = Host::new(policy, &session);
    let result = host.result("plain").await;
    assert!(result.is_error());
    assert!(!result.text().contains("ran"), "{}", result.text());
}

#[tokio::test]
async fn decisions_name_the_policy_and_who_set_it() {
    let (session, log) = session_of(None);
    let host = Host::new(session.policy(), &session);
    let denied = host.result("plain").await;
    assert_eq!(
        denied.text(),
        "Error: tool \"plain\" is denied: no approval policy is set"
    );
    let by = rule(&denied);
    assert!(by.contains("approval policy deny-all (nothing)"), "{by}");

    session.presets().set_user_policy(Some(DenyAll));
    let denied = host.result("plain").await;
    assert_eq!(
        denied.text(),
        "Error: tool \"plain\" is denied by the approval policy \"deny-all\""
    );
    let by = rule(&denied);
    assert!(by.contains("approval policy deny-all (user)"), "{by}");
    assert_eq!(effective(&log).len(), 2);
}

#[tokio::test]
async fn the_log_knows_which_policy_decided_and_who_set_it() {
    let (session, log) = session_of(Some(AllowAll));
    let host = Host::new(session.policy(), &session);
    let pair = |policy: &str, source: &str| (policy.to_owned(), source.to_owned());
    assert!(effective(&log).is_empty(), "nothing was decided yet");
    host.result("plain").await;
    host.result("plain").await;
    let mut expected = vec![pair("allow-all", "preset")];
    assert_eq!(effective(&log), expected);

    session.presets().set_user_policy(Some(AskEdits));
    assert_eq!(effective(&log), expected, "not before it decides");
    host.result("plain").await;
    expected.push(pair("ask-edits", "user"));
    assert_eq!(effective(&log), expected);

    session.set_policy(Some(AskEdits)).unwrap();
    session.set_policy(Some(AskEdits)).unwrap();
    host.result("plain").await;
    expected.push(pair("ask-edits", "session"));
    assert_eq!(
        effective(&log),
        expected,
        "the source is part of the record"
    );

    session.set_policy(None).unwrap();
    expected.push(pair("ask-edits", "user"));
    assert_eq!(effective(&log), expected);
}

#[tokio::test]
async fn a_policy_that_cannot_be_recorded_decides_nothing() {
    let (session, log) = session_of(Some(AllowAll));
    let host = Host::new(session.policy(), &session);
    drop(log.close());
    let result = host.result("plain").await;
    assert!(result.is_error());
    assert!(session.set_policy(Some(DenyAll)).is_err());
    assert_eq!(session.own_policy(), None);
}

#[test]
fn a_resumed_session_keeps_its_own_policy_and_no_other() {
    let (session, log) = session_of(Some(AllowAll));
    let resume = || {
        let mode = SessionMode::new(log.clone(), ApprovalMode::default()).unwrap();
        session.presets().resume(mode).unwrap()
    };
    assert_eq!(resume().own_policy(), None);
    session.set_policy(Some(AskEdits)).unwrap();
    assert_eq!(resume().own_policy(), Some(AskEdits));
    assert_eq!(resume().effective(), session.effective());
    session.set_policy(None).unwrap();
    assert_eq!(resume().own_policy(), None);
}

#[tokio::test]
async fn a_session_that_may_only_read_denies_edits_whatever_policies_allow() {
    let (session, _) = session_of(Some(AllowAll));
    session.presets().set_user_policy(Some(AllowAll));
    let host = Host::new(session.policy(), &session);
    assert_eq!(host.verdict("write").await, "allow");
    session.set_sandbox(SandboxMode::ReadOnly).unwrap();
    assert_eq!(host.verdict("write").await, "deny");
    let by = rule(&host.result("write").await);
    assert!(by.contains("sandbox mode read-only"), "{by}");
    assert_eq!(host.verdict("plain").await, "allow");
    session.set_sandbox(SandboxMode::FullAccess).unwrap();
    assert_eq!(host.verdict("write").await, "allow");
}

#[test]
fn words_read_back_and_others_are_refused() {
    for policy in ALL {
        assert_eq!(policy.as_str().parse(), Ok(policy));
    }
    let error = "yolo".parse::<ApprovalPolicy>().unwrap_err().to_string();
    assert!(error.ends_with("found \"yolo\""), "{error}");
    let log = SessionLog::in_memory();
    let record = EffectiveRecord {
        policy: "yolo".to_owned(),
        source: "god".to_owned(),
    };
    log.append(record).unwrap();
    let records = log.records().unwrap();
    let found = check::check(&records);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(EffectivePolicy::last_in(&records), None);
}

#[test]
fn declarations_are_not_shown_to_models() {
    let plain = Registry::new();
    let declared = Registry::new();
    plain.register(tool("write")).unwrap().keep();
    declared
        .register(tool("write").edits().dangerous())
        .unwrap()
        .keep();
    let schema = |registry: &Registry| format!("{:?}", registry.schemas(None));
    assert_eq!(schema(&plain), schema(&declared));
}

#[cfg(all(feature = "workspace", unix))]
#[test]
fn the_tools_at_hand_declare_what_they_do() {
    use toolfall::command::CommandTool;
    use toolfall::workspace::Workspace;

    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    let tools = workspace.tools();
    let edits: Vec<_> = tools
        .iter()
        .filter(|tool| tool.makes_edits())
        .map(ToolDef::name)
        .collect();
    assert_eq!(edits, ["write_file", "edit_file"]);
    assert!(tools.iter().all(|tool| !tool.is_dangerous()));
    assert!(workspace.confines());

    let command = || CommandTool::new("run", "", json!({"type": "object"}), "true");
    let tool = command().into_tool();
    assert!(tool.is_dangerous() && tool.makes_edits());
    let tool = command().harmless().into_tool();
    assert!(!tool.is_dangerous() && !tool.makes_edits());
}
