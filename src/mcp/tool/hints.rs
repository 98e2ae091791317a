//! What a server hints of a tool's behaviour.

use serde_json::{Map, Value};

use crate::ToolDef;

/// Hints of a server, which may be untrue. A missing one says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hints {
    reads_only: bool,
    is_idempotent: bool,
    is_destructive: bool,
}

impl Hints {
    pub(super) fn of(annotations: &Map<String, Value>) -> Self {
        let is_true = |name: &str| annotations.get(name) == Some(&Value::Bool(true));
        let destructive = annotations.get("destructiveHint");
        Self {
            reads_only: is_true("readOnlyHint"),
            is_idempotent: is_true("idempotentHint"),
            // What is no clear no is a yes where it tightens.
            is_destructive: !matches!(destructive, None | Some(Value::Null | Value::Bool(false))),
        }
    }

    /// Declares of `tool` what may be: what tightens always, what loosens only
    /// where the hints are trusted and do not contradict each other.
    pub(super) fn declare(self, tool: ToolDef, trusted: bool) -> ToolDef {
        if self.is_destructive {
            return tool.dangerous();
        }
        let tool = if trusted && self.reads_only {
            tool.parallel()
        } else {
            tool
        };
        if trusted && (self.reads_only || self.is_idempotent) {
            tool.repeatable()
        } else {
            tool
        }
    }
}
