//! A scenario as it is written, and what the reference did in it.
//!
//! Times are in milliseconds; what names no time takes none. No field is
//! skipped silently: an unknown one is an error.
#![allow(
    dead_code,
    reason = "some fields only say that something is there, or are for people"
)]

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) rows: Vec<String>,
    #[serde(default)]
    pub(crate) lane_wait: bool,
    pub(crate) scenario: Scenario,
    pub(crate) expected: Expected,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expected {
    pub(crate) calls: Vec<Value>,
    pub(crate) batch: Option<Value>,
    pub(crate) events: Vec<Value>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Run {
    Each,
    Batch,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    pub(crate) run: Run,
    pub(crate) calls: Vec<Step>,
    pub(crate) cancel_at: Option<u64>,
    pub(crate) max_parallel: Option<NonZeroUsize>,
    pub(crate) from: Option<String>,
    #[serde(default)]
    pub(crate) scopes: Vec<ScopeSpec>,
    pub(crate) tools: Vec<ToolSpec>,
    #[serde(default)]
    pub(crate) restrictions: Vec<RestrictionSpec>,
    #[serde(default)]
    pub(crate) pre: Vec<PreSpec>,
    #[serde(default)]
    pub(crate) guards: Vec<GuardSpec>,
    #[serde(default)]
    pub(crate) around: Vec<AroundSpec>,
    #[serde(default)]
    pub(crate) post: Vec<PostSpec>,
    #[serde(default)]
    pub(crate) observers: Vec<ObserverSpec>,
    pub(crate) approval: Option<ApprovalSpec>,
    pub(crate) presentation: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RestrictionSpec {
    pub(crate) scope: String,
    pub(crate) allow: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) deny: Vec<String>,
    pub(crate) id: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Step {
    Call(CallSpec),
    View(ViewSpec),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallSpec {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) arguments: Value,
    pub(crate) from: Option<String>,
    pub(crate) cancel_at: Option<u64>,
    #[serde(default)]
    pub(crate) before: Vec<Effect>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ViewSpec {
    pub(crate) view: Option<String>,
    #[serde(default)]
    pub(crate) before: Vec<Effect>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScopeSpec {
    pub(crate) name: String,
    pub(crate) parent: Option<String>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ErrorSpec {
    pub(crate) message: String,
    pub(crate) name: Option<String>,
    pub(crate) code: Option<String>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolSpec {
    pub(crate) name: String,
    pub(crate) scope: Option<String>,
    pub(crate) body: Vec<BodyStep>,
    pub(crate) body_again: Option<Vec<BodyStep>>,
    pub(crate) output: OutputSpec,
    pub(crate) parallel: Option<Parallel>,
    pub(crate) budget_ms: Option<u64>,
    pub(crate) finalizer: Option<Finalizer>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OutputSpec {
    pub(crate) schema: Value,
    pub(crate) render: String,
    pub(crate) render_fails: Option<String>,
    pub(crate) meta: Option<String>,
    pub(crate) meta_fails: Option<String>,
}

#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Parallel {
    Always(bool),
    If { arg: String, equals: Value },
    Fails { fails: Value },
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Finalizer {
    Keep(bool),
    Content(String),
    Bound(usize),
    Fails(String),
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BodyStep {
    pub(crate) sleep: Option<Sleep>,
    #[serde(default)]
    pub(crate) cooperative: bool,
    #[serde(default)]
    pub(crate) until_cancelled: bool,
    pub(crate) context: Option<String>,
    #[serde(default)]
    pub(crate) conclude: bool,
    #[serde(default, rename = "do")]
    pub(crate) effects: Vec<Effect>,
    pub(crate) fail_if_cancelled: Option<ErrorSpec>,
    #[serde(default, rename = "return", deserialize_with = "present")]
    pub(crate) value: Option<Value>,
    pub(crate) fail: Option<ErrorSpec>,
    pub(crate) panic: Option<String>,
}

/// A `null` that is there is a value.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Sleep {
    Ms(u64),
    Arg { arg: String },
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PreSpec {
    pub(crate) id: String,
    pub(crate) tools: Option<String>,
    pub(crate) scope: Option<String>,
    pub(crate) delay_ms: Option<u64>,
    pub(crate) after_ms: Option<u64>,
    #[serde(default)]
    pub(crate) delegate_first: bool,
    #[serde(default, rename = "do")]
    pub(crate) effects: Vec<Effect>,
    pub(crate) outcome: PreOutcome,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PreOutcome {
    Delegate(bool),
    Allow(bool),
    Deny(String),
    Ask(Option<String>),
    Fail(ErrorSpec),
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GuardSpec {
    pub(crate) id: String,
    pub(crate) tools: Option<String>,
    pub(crate) scope: Option<String>,
    #[serde(default, rename = "do")]
    pub(crate) effects: Vec<Effect>,
    pub(crate) outcome: GuardOutcome,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GuardOutcome {
    pub(crate) deny: Option<String>,
    pub(crate) fail: Option<ErrorSpec>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AroundSpec {
    pub(crate) id: String,
    pub(crate) kind: AroundKind,
    pub(crate) tools: Option<String>,
    pub(crate) scope: Option<String>,
    pub(crate) delay_ms: Option<u64>,
    pub(crate) after_ms: Option<u64>,
    pub(crate) cancel_after_ms: Option<u64>,
    #[serde(default)]
    pub(crate) delegate_first: bool,
    #[serde(default, rename = "do")]
    pub(crate) effects: Vec<Effect>,
    #[serde(default, deserialize_with = "present")]
    pub(crate) value: Option<Value>,
    pub(crate) error: Option<ErrorSpec>,
    pub(crate) content: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) contexts: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AroundKind {
    Pass,
    Success,
    Failure,
    Fail,
    Contexts,
    RetryOnce,
    Signal,
    Timeout,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PostSpec {
    pub(crate) id: String,
    pub(crate) tools: Option<String>,
    pub(crate) scope: Option<String>,
    pub(crate) when: Option<When>,
    pub(crate) delay_ms: Option<u64>,
    #[serde(default, rename = "do")]
    pub(crate) effects: Vec<Effect>,
    pub(crate) outcome: PostOutcome,
    #[serde(default)]
    pub(crate) contexts: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum When {
    Success,
    Failure,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PostOutcome {
    Delegate(bool),
    Accept(bool),
    Content(Vec<String>),
    Value(Value),
    Block(Vec<String>),
    Fail(ErrorSpec),
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ObserverSpec {
    pub(crate) id: String,
    pub(crate) tools: Option<String>,
    pub(crate) scope: Option<String>,
    #[serde(default, rename = "do")]
    pub(crate) effects: Vec<Effect>,
    pub(crate) fails: Option<String>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApprovalSpec {
    pub(crate) policy: Option<String>,
    #[serde(default)]
    pub(crate) answers: Vec<AnswerSpec>,
    pub(crate) delay_ms: Option<u64>,
    pub(crate) service_fails: Option<String>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerSpec {
    pub(crate) tools: Option<String>,
    pub(crate) answer: AnswerWord,
}

#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum AnswerWord {
    Word(String),
    Fails(BTreeMap<String, Value>),
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Effect {
    #[serde(default)]
    pub(crate) cancel: bool,
    pub(crate) unregister: Option<String>,
    pub(crate) scope: Option<String>,
    pub(crate) register: Option<ToolSpec>,
    pub(crate) replace: Option<ToolSpec>,
    pub(crate) guard: Option<GuardSpec>,
    pub(crate) pre: Option<PreSpec>,
    pub(crate) lift: Option<String>,
}
