//! What the tests of hooks around calls share.
#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolfall::hooks::{Dialect, Hook, HookRecord, HookSet, HookSetBuilder};
use toolfall::{CallRequest, Pipeline, Registry, Scope, ToolResult};

use crate::facade::{self, Counter};

pub const BOTH: [Dialect; 2] = [Dialect::ClaudeCode, Dialect::Codex];

pub type Records = Arc<Mutex<Vec<Value>>>;

/// A set whose records are kept.
pub fn recorded(dialect: Dialect) -> (HookSetBuilder, Records) {
    let records = Records::default();
    let kept = records.clone();
    let set = HookSet::builder(dialect).recorder(move |record: &HookRecord| {
        let record = serde_json::to_value(record).expect("a record is JSON");
        kept.lock().expect("no panic").push(record);
    });
    (set, records)
}

pub fn taken(records: &Records) -> Vec<Value> {
    std::mem::take(&mut records.lock().expect("no panic"))
}

/// A hook that says `value` with exit code 0.
pub fn saying(value: &Value) -> Hook {
    Hook::program("printf").arg("%s").arg(value.to_string())
}

pub fn specific(point: &str, mut fields: Value) -> Value {
    fields["hookEventName"] = point.into();
    json!({"hookSpecificOutput": fields})
}

pub struct Bench {
    pub registry: Registry,
    pub runs: Counter,
}

pub fn bench() -> Bench {
    let runs = Counter::default();
    let registry = facade::registry([facade::returns("Bash", json!("done"), &runs)]);
    Bench { registry, runs }
}

pub fn request(arguments: &Value) -> CallRequest {
    CallRequest::new(
        "call_1",
        "Bash",
        arguments.to_string(),
        CancellationToken::new(),
    )
    .with_scope(Scope::new("agent"))
}

impl Bench {
    pub async fn run(&self, hooks: &HookSet, request: CallRequest) -> ToolResult {
        Pipeline::builder(self.registry.clone())
            .pre_decision(hooks.pre())
            .post_execute(hooks.post())
            .build()
            .run(request)
            .await
    }

    pub async fn with(&self, set: HookSetBuilder) -> ToolResult {
        self.run(&set.build().expect("hooks"), request(&json!({})))
            .await
    }
}
