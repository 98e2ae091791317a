//! What a caller sees of the tools.

use std::sync::Arc;

use serde_json::Value;
use toolfall_layers::{Arguments, Definition as _, Redaction, Scope};

use super::Registry;
use crate::CallRequest;
use crate::card::{CallCard, Presented, ResultCard};
use crate::tool::{ExecutionMode, ToolDef, ToolEntry};

/// What a model is told of a tool; nothing else is.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ToolSchema {
    /// The name to call.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The schema of the arguments.
    pub parameters: Value,
}

impl Registry {
    pub(crate) fn find(&self, name: &str, scope: Option<&Scope>) -> Option<Arc<ToolEntry>> {
        self.0.tools.load().find(name, scope).cloned()
    }

    /// Whether a caller in `scope` sees a tool of that name.
    pub fn contains(&self, name: &str, scope: Option<&Scope>) -> bool {
        self.find(name, scope).is_some()
    }

    /// The definition of a tool, as a caller in `scope` sees it.
    pub fn get(&self, name: &str, scope: Option<&Scope>) -> Option<ToolDef> {
        self.find(name, scope).map(|entry| entry.def.clone())
    }

    /// What people and records do not see of calls of a tool, if it
    /// [hides](ToolDef::secret_arguments) anything from them: for hosts that
    /// show calls without a pipeline.
    pub fn redaction(&self, name: &str, scope: Option<&Scope>) -> Option<Arc<dyn Redaction>> {
        self.find(name, scope)?.redaction()
    }

    /// What a call looks like to people, as the tool that a caller in `scope`
    /// sees under `name` presents it: none for an unknown tool, for one
    /// without a presenter, for arguments that its schema refuses. Never
    /// fails: a presenter that panics makes no card, and a warning.
    pub fn call_card(
        &self,
        name: &str,
        arguments: &Arguments,
        scope: Option<&Scope>,
    ) -> Option<CallCard> {
        self.find(name, scope)?.call_card(arguments)
    }

    /// What a result looks like to people; as [`call_card`](Self::call_card).
    pub fn result_card(
        &self,
        name: &str,
        arguments: &Arguments,
        result: &Presented<'_>,
        scope: Option<&Scope>,
    ) -> Option<ResultCard> {
        self.find(name, scope)?.result_card(arguments, result)
    }

    /// The names that a caller in `scope` sees: those for everybody in the
    /// order of registration, then those of the farthest scope that it is
    /// nested in, its own last. A name that shadows another stands in the
    /// other's place.
    pub fn names(&self, scope: Option<&Scope>) -> Vec<String> {
        let tools = self.0.tools.load();
        let visible = tools.visible(scope).into_iter();
        visible.map(|tool| tool.def.name().to_owned()).collect()
    }

    /// How many scopes hold tools or masks.
    pub fn scopes(&self) -> usize {
        self.0.tools.load().scopes()
    }

    /// What a model in `scope` is told, sorted by name: independent of the
    /// order of registration.
    pub fn schemas(&self, scope: Option<&Scope>) -> Vec<ToolSchema> {
        let tools = self.0.tools.load();
        let mut schemas: Vec<ToolSchema> = tools
            .visible(scope)
            .into_iter()
            .map(|entry| ToolSchema {
                name: entry.def.name().to_owned(),
                description: entry.def.description().to_owned(),
                parameters: entry.def.parameters().clone(),
            })
            .collect();
        schemas.sort_by(|a, b| a.name.cmp(&b.name));
        schemas
    }

    /// Whether `request` may overlap with other calls of its batch, as things
    /// are now. Unknown tools and arguments that do not validate may not.
    pub fn mode(&self, request: &CallRequest) -> ExecutionMode {
        match (
            self.find(request.name(), request.scope()),
            request.arguments(),
        ) {
            (Some(entry), Ok(arguments)) => entry.mode(arguments),
            _ => ExecutionMode::Exclusive,
        }
    }
}
