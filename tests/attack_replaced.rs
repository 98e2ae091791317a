//! Tools that are replaced between a decision and the body.

#[path = "support/facade.rs"]
mod support;

use std::sync::{Arc, Mutex};

use serde_json::json;
use support::{Counter, delegate, registry, request, returns, wrapper};
use toolfall::approval::{ApprovalMode, SessionMode};
use toolfall::permission::{
    ApprovalPolicy, Confinement, EffectivePolicy, PolicySource, PresetConfig, PresetTable, Presets,
    SandboxMode, SessionPermission,
};
use toolfall::session::SessionLog;
use toolfall::{
    ApprovalOutcome, ApprovalRequest, CallView, FailureKind, Pipeline, Registration, Registry,
    Scope, ToolDef, ToolResult,
};

use ApprovalPolicy::{AllowAll, AskDangerous, AskEdits, DenyAll};

struct Confined;

impl Confinement for Confined {
    fn confines(&self) -> bool {
        true
    }
}

fn session() -> SessionPermission {
    let presets = Presets::load(PresetTable::default(), PresetConfig::default(), &Confined);
    let mode = SessionMode::new(SessionLog::in_memory(), ApprovalMode::Ask).unwrap();
    presets.unwrap().create(mode).unwrap()
}

/// Who has the tool replaced, once.
struct Swap {
    registry: Registry,
    old: Mutex<Option<Registration>>,
    new: Mutex<Option<ToolDef>>,
}

impl Swap {
    fn now(&self) {
        drop(self.old.lock().unwrap().take());
        let new = self.new.lock().unwrap().take();
        if let Some(new) = new {
            self.registry.register(new).unwrap().keep();
        }
    }
}

/// A call that is decided about while `old` is there and finds `new` when its
/// turn comes, with how many bodies ran; the person who is asked grants.
async fn replaced(
    policy: ApprovalPolicy,
    old: Option<ToolDef>,
    new: impl FnOnce(ToolDef) -> ToolDef,
) -> (ToolResult, usize) {
    let (registry, runs) = (Registry::new(), Counter::default());
    let old = old.map(|old| registry.register(old).unwrap());
    let swap = Arc::new(Swap {
        registry: registry.clone(),
        old: Mutex::new(old),
        new: Mutex::new(Some(new(returns("x", json!("ran"), &runs)))),
    });
    let session = session();
    session.set_policy(Some(policy)).unwrap();
    let pipeline = Pipeline::builder(registry)
        .pre_decision(session.policy())
        .approval(|_: ApprovalRequest| async { ApprovalOutcome::AllowedOnce })
        .guard(session.guard())
        .around(wrapper(move |call, inner| {
            let swap = swap.clone();
            async move {
                swap.now();
                delegate(inner, call).await
            }
        }))
        .build();
    let result = pipeline
        .run(request("x", "{}").with_scope(Scope::new("agent")))
        .await;
    (result, runs.get())
}

fn old() -> ToolDef {
    support::echo("x")
}

fn is_refused(result: &ToolResult, why: &str) {
    assert_eq!(result.kind(), Some(FailureKind::Denied), "{result:?}");
    assert_eq!(result.code(), Some("TOOL_REPLACED"));
    let wanted = format!("tool \"x\" {why} after this call was decided; call it again");
    assert_eq!(result.message(), Some(&*wanted));
}

#[tokio::test]
async fn what_was_allowed_as_harmless_does_not_run_as_something_else() {
    for policy in [AskDangerous, AskEdits] {
        let (result, runs) = replaced(policy, Some(old()), ToolDef::dangerous).await;
        is_refused(&result, "became dangerous");
        assert_eq!(runs, 0, "{policy}");
    }
    let (result, runs) = replaced(AskEdits, Some(old()), ToolDef::edits).await;
    is_refused(&result, "came to change files");
    assert_eq!(runs, 0);
    // Asked about as an edit is not asked about as dangerous.
    let (result, runs) = replaced(AskEdits, Some(old().edits()), ToolDef::dangerous).await;
    is_refused(&result, "became dangerous");
    assert_eq!(runs, 0);
}

/// Nobody decided about a tool that was not there.
#[tokio::test]
async fn what_was_not_there_does_not_run() {
    for policy in [DenyAll, AskDangerous, AskEdits] {
        let (result, runs) = replaced(policy, None, |new| new).await;
        is_refused(&result, "was added");
        assert_eq!(runs, 0, "{policy}");
    }
}

/// conformance: DISP-24
///
/// A replacement that declares no more than what was decided about runs, as
/// does any where the policy does not look at declarations, and one that is
/// gone is unknown.
#[tokio::test]
async fn what_is_no_worse_runs() {
    for (policy, old_tool, worse) in [
        (AskDangerous, old(), false),
        (AskEdits, old(), false),
        (AskDangerous, old().dangerous(), true),
        (AskEdits, old().dangerous(), true),
        (AllowAll, old(), true),
    ] {
        let new = |new: ToolDef| if worse { new.dangerous().edits() } else { new };
        let (result, runs) = replaced(policy, Some(old_tool), new).await;
        assert_eq!((result.text().as_str(), runs), ("ran", 1), "{policy}");
    }
    let (result, runs) = replaced(AskDangerous, Some(old()), ToolDef::edits).await;
    assert_eq!(
        (result.text().as_str(), runs),
        ("ran", 1),
        "not its business"
    );
    let (result, runs) = replaced(AllowAll, None, ToolDef::dangerous).await;
    assert_eq!((result.text().as_str(), runs), ("ran", 1));

    let registry = Registry::new();
    let there = Arc::new(Mutex::new(Some(registry.register(old()).unwrap())));
    let pipeline = Pipeline::builder(registry)
        .guard(move |_: &CallView| {
            drop(there.lock().unwrap().take());
            None::<toolfall::Denial>
        })
        .build();
    let gone = pipeline.run(request("x", "{}")).await;
    assert_eq!(gone.message(), Some("unknown tool \"x\""));
}

/// A session that may only read stays so, whatever the policy allows.
#[tokio::test]
async fn a_guard_holds_to_what_it_saw() {
    let (registry, runs) = (Registry::new(), Counter::default());
    let session = session();
    session.set_policy(Some(AllowAll)).unwrap();
    session.set_sandbox(SandboxMode::ReadOnly).unwrap();
    for was_there in [false, true] {
        let name = if was_there { "there" } else { "absent" };
        let old = was_there.then(|| registry.register(support::echo(name)).unwrap());
        let swap = Arc::new(Swap {
            registry: registry.clone(),
            old: Mutex::new(old),
            new: Mutex::new(Some(returns(name, json!("ran"), &runs).edits())),
        });
        let pipeline = Pipeline::builder(registry.clone())
            .pre_decision(session.policy())
            .guard(session.guard())
            .around(wrapper(move |call, inner| {
                let swap = swap.clone();
                async move {
                    swap.now();
                    delegate(inner, call).await
                }
            }))
            .build();
        let result = pipeline.run(request(name, "{}")).await;
        assert_eq!(result.code(), Some("TOOL_REPLACED"), "{name}");
        assert_eq!(runs.get(), 0);
    }
}

/// The policy by itself, without a session.
#[tokio::test]
async fn a_policy_without_a_session_is_held_to_it_too() {
    let effective = EffectivePolicy {
        policy: DenyAll,
        source: PolicySource::User,
    };
    let (tools, runs) = (registry([]), Counter::default());
    let (late, dangerous) = (tools.clone(), returns("x", json!("ran"), &runs).dangerous());
    let late = Arc::new(Mutex::new(Some((late, dangerous))));
    let pipeline = Pipeline::builder(tools)
        .pre_decision(move |call: &CallView| effective.decide(call))
        .guard(move |_: &CallView| {
            if let Some((tools, tool)) = late.lock().unwrap().take() {
                tools.register(tool).unwrap().keep();
            }
            None::<toolfall::Denial>
        })
        .build();
    let result = pipeline.run(request("x", "{}")).await;
    is_refused(&result, "was added");
    let again = pipeline.run(request("x", "{}")).await;
    assert_eq!(
        again.message(),
        Some("tool \"x\" is denied by the approval policy \"deny-all\"")
    );
    assert_eq!(runs.get(), 0);
}
