//! Calls and policies for the tests of what verdicts depend on.

use std::num::NonZeroU32;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use toolfall::approval::{Answerers, ApprovalMode};
use toolfall::pipeline::BoxPipeline;
use toolfall::policy::budget::{Budgets, Limits};
use toolfall::policy::grants::{Grant, Grants, MemoryGrants};
use toolfall::policy::repeat::{RepeatConfig, RepeatReminder};
use toolfall::policy::{Next, Rule, RuleList, Test, Waterfall};
use toolfall::{
    ApprovalOutcome, ApprovalRequest, Arguments, BoxError, CallView, Decision, Denial, Pipeline,
    Registry, ToolContext, ToolResult, raw_tool,
};

pub(crate) const TOOLS: [&str; 4] = ["read", "write", "other", "missing"];
pub(crate) const PATHS: [&str; 7] = [
    "free", "rule", "asks", "never", "listener", "outer", "guard",
];

/// One call of a batch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spec {
    pub(crate) tool: usize,
    pub(crate) path: usize,
    pub(crate) fails: bool,
    pub(crate) exclusive: bool,
    /// How long its policy, its approver and its body take.
    pub(crate) wait: u64,
    /// Arguments that break the tool's schema.
    pub(crate) invalid: bool,
}

pub(crate) fn spec() -> impl Strategy<Value = Spec> {
    (
        0..TOOLS.len(),
        0..PATHS.len(),
        prop::bool::weighted(0.2),
        any::<bool>(),
        0..4_u64,
        prop::bool::weighted(0.1),
    )
        .prop_map(|(tool, path, fails, exclusive, wait, invalid)| Spec {
            tool,
            path,
            fails,
            exclusive,
            wait,
            invalid,
        })
}

impl Spec {
    pub(crate) fn arguments(&self) -> String {
        let path = if self.invalid {
            json!(5)
        } else {
            json!(PATHS[self.path])
        };
        json!({
            "path": path,
            "fails": self.fails,
            "exclusive": self.exclusive,
            "wait": self.wait,
        })
        .to_string()
    }
}

/// Everything that a policy can decide of a call, and what the model reads.
#[derive(Debug, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) is_error: bool,
    pub(crate) decided_by: Option<String>,
    pub(crate) kind: Option<&'static str>,
    pub(crate) code: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) text: String,
    pub(crate) contexts: Vec<Option<String>>,
}

impl Verdict {
    pub(crate) fn of(result: &ToolResult) -> Self {
        let contexts = result.contexts().iter();
        Self {
            is_error: result.is_error(),
            decided_by: result.decided_by().map(ToString::to_string),
            kind: result.kind().map(toolfall::FailureKind::as_str),
            code: result.code().map(str::to_owned),
            message: result.message().map(str::to_owned),
            text: result.text(),
            contexts: contexts
                .map(|context| context.source.summary.clone())
                .collect(),
        }
    }
}

pub(crate) fn path(call: &CallView) -> &str {
    let arguments = call.arguments().map(Arguments::value);
    arguments
        .and_then(|value| value["path"].as_str())
        .unwrap_or_default()
}

pub(crate) async fn wait(arguments: Option<&Arguments>) {
    let ms = arguments.and_then(|arguments| arguments.value()["wait"].as_u64());
    tokio::time::sleep(Duration::from_millis(ms.unwrap_or(0))).await;
}

pub(crate) fn registry() -> Registry {
    let registry = Registry::new();
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    for name in &TOOLS[..3] {
        let tool = raw_tool(
            *name,
            "",
            schema.clone(),
            |arguments: Arguments, _: ToolContext| async move {
                wait(Some(&arguments)).await;
                if arguments.value()["fails"] == true {
                    return Err(BoxError::from("the body failed"));
                }
                Ok(arguments.value()["path"].clone())
            },
        )
        .parallel_when(|arguments: &Value| arguments["exclusive"] != true);
        registry.register(tool).unwrap().keep();
    }
    registry
}

pub(crate) fn rules() -> RuleList {
    let at = |path: &str| Test::equals(path);
    RuleList::new([
        Rule::deny("no rules").argument("/path", at("rule")),
        Rule::ask("writing").tool("write"),
        Rule::ask("asked").argument("/path", at("asks")),
        Rule::ask("refused").argument("/path", at("never")),
        Rule::allow("the rest").tool("{read,other}"),
    ])
    .unwrap()
}

/// The policies that keep nothing: rules, listeners, a person, a guard.
pub(crate) fn stateless(mode: ApprovalMode) -> BoxPipeline {
    let listeners = Waterfall::new(Decision::Allow);
    listeners
        .register(
            |call: CallView, next: Next<CallView, Decision>| async move {
                wait(call.arguments()).await;
                match (path(&call), call.name()) {
                    ("outer", "other") => Ok(Decision::Allow),
                    ("outer", _) => Ok(Decision::ask("is that so?")),
                    _ => next.run().await,
                }
            },
        )
        .keep();
    listeners
        .register(
            |call: CallView, next: Next<CallView, Decision>| async move {
                if path(&call) == "listener" {
                    return Ok(Decision::deny("no listeners").by_rule("inner"));
                }
                next.run().await
            },
        )
        .keep();
    let answerers = Answerers::new();
    answerers.set_mode(mode);
    answerers
        .register(|asked: ApprovalRequest| async move {
            wait(asked.call().arguments()).await;
            Some(if path(asked.call()) == "never" {
                ApprovalOutcome::Rejected
            } else {
                ApprovalOutcome::AllowedOnce
            })
        })
        .keep();
    Pipeline::builder(registry())
        .pre_decision(listeners)
        .pre_decision(rules())
        .approval(answerers)
        .guard(|call: &CallView| (path(call) == "guard").then(|| Denial::new("no guards")))
        .build()
        .boxed()
}

/// The policies that count.
pub(crate) fn counting() -> BoxPipeline {
    let store = MemoryGrants::new();
    for (name, tool) in [("first", "write"), ("second", "read")] {
        let grant = Grant::tool(name, tool).uses(NonZeroU32::new(2).unwrap());
        store.add(grant).unwrap();
    }
    let limits = Limits::new()
        .calls(6)
        .tool("other", 2)
        .consecutive_failures(4);
    let reminder = RepeatReminder::new(RepeatConfig {
        thresholds: vec![2, 3],
        ..RepeatConfig::default()
    });
    Pipeline::builder(registry())
        .post_execute(reminder.unwrap())
        .decision_layer(Budgets::new(limits).layer())
        .pre_decision(Grants::new(store, rules()))
        .build()
        .boxed()
}
