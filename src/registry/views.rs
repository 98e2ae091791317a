//! What a caller sees of the tools.

use std::sync::Arc;

use serde_json::Value;
use toolfall_layers::{Arguments, Definition as _, Redaction, Scope};

use super::reserved::is_reserved;
use super::{Presentation, Registry};
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

impl ToolSchema {
    pub(super) fn of(tool: &ToolDef) -> Self {
        Self {
            name: tool.name().to_owned(),
            description: tool.description().to_owned(),
            parameters: tool.parameters().clone(),
        }
    }
}

impl Registry {
    pub(crate) fn find(&self, name: &str, scope: Option<&Scope>) -> Option<Arc<ToolEntry>> {
        let tools = self.0.tools.load();
        if !is_reserved(name) {
            return tools.find(name, scope).cloned();
        }
        // No tool, and in no layer: it is there or not with the presentation.
        let shown = tools.presentation(scope) != Presentation::Native;
        let attached = tools.transport().filter(|_| shown)?;
        Some(attached.transport.entry())
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

    /// What a model is told of the tools that a caller in `scope` sees, sorted
    /// by name: independent of the order of registration. Where tools may be
    /// [presented](Presentation) to programs, an
    /// [`Assembly`](super::Assembly) says what is told.
    pub fn schemas(&self, scope: Option<&Scope>) -> Vec<ToolSchema> {
        let tools = self.0.tools.load();
        let mut schemas: Vec<ToolSchema> = tools
            .visible(scope)
            .into_iter()
            .map(|entry| ToolSchema::of(&entry.def))
            .collect();
        schemas.sort_by(|a, b| a.name.cmp(&b.name));
        schemas
    }

    /// Whether `request` may overlap with other calls of its batch, as things
    /// are now. Unknown tools and arguments that do not validate may not, nor
    /// may a direct call of a tool that is there for programs alone.
    pub fn mode(&self, request: &CallRequest) -> ExecutionMode {
        if request.parent().is_none() && self.is_collapsed(request.name(), request.scope()) {
            return ExecutionMode::Exclusive;
        }
        match (
            self.find(request.name(), request.scope()),
            request.arguments(),
        ) {
            (Some(entry), Ok(arguments)) => entry.mode(arguments),
            _ => ExecutionMode::Exclusive,
        }
    }
}
