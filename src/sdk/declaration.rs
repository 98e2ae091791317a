//! What is told of a tool to who writes programs.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Registry, Scope, ToolDef};

/// What a program's author is told of a tool; nothing else is.
///
/// Unlike [`ToolSchema`](crate::ToolSchema), with what a call gives back:
/// inside a program that is a value, and no text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolDeclaration {
    /// The name to call.
    pub name: String,
    /// What it does.
    #[serde(default)]
    pub description: String,
    /// The schema of the arguments.
    pub parameters: Value,
    /// The schema of the value that a call gives; any JSON without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
}

impl ToolDeclaration {
    /// A tool that takes what `parameters` describes and gives any JSON.
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Value) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters,
            output: None,
        }
    }

    /// Says what a call gives.
    pub fn output(mut self, schema: Value) -> Self {
        self.output = Some(schema);
        self
    }
}

impl From<&ToolDef> for ToolDeclaration {
    fn from(tool: &ToolDef) -> Self {
        Self {
            name: tool.name().to_owned(),
            description: tool.description().to_owned(),
            parameters: tool.parameters().clone(),
            output: tool.declared_output().cloned(),
        }
    }
}

/// The tools that a caller in `scope` sees, sorted by name in byte order.
pub fn declarations(registry: &Registry, scope: Option<&Scope>) -> Vec<ToolDeclaration> {
    let names = registry.names(scope).into_iter();
    // What goes away between the two look-ups is gone.
    let tools = names.filter_map(|name| registry.get(&name, scope));
    let mut declarations: Vec<_> = tools.map(|tool| ToolDeclaration::from(&tool)).collect();
    declarations.sort_by(|a, b| a.name.cmp(&b.name));
    declarations
}

/// The tools sorted by name in byte order; of those with one name the first.
pub(super) fn sorted(tools: &[ToolDeclaration]) -> Vec<&ToolDeclaration> {
    let mut sorted: Vec<&ToolDeclaration> = tools.iter().collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    sorted.dedup_by(|later, first| later.name == first.name);
    sorted
}
