//! What a session sees of the tools.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use rmcp::model::{ErrorData, JsonObject, ListToolsResult, Tool, ToolAnnotations};
use serde_json::Value;

use super::answer;
use crate::Scope;
use crate::registry::Registry;
use crate::tool::ToolEntry;

/// What begins every cursor of ours.
const AFTER: &str = "after:";
/// No cursor of ours is longer, in bytes.
const LONGEST: usize = 4096;

/// One page of the tools that a caller in `scope` sees, by name.
///
/// A cursor is the last name of the page before: whatever comes and goes in
/// between, nothing that stays is missed or listed twice.
pub(super) fn page(
    registry: &Registry,
    scope: &Scope,
    cursor: Option<&str>,
    size: usize,
    structured: bool,
) -> Result<ListToolsResult, ErrorData> {
    let after = match cursor {
        None => None,
        Some(cursor) => match cursor.strip_prefix(AFTER) {
            Some(name) if cursor.len() <= LONGEST => Some(name),
            _ => {
                let message = "expected a cursor of an earlier page, found something else";
                return Err(ErrorData::invalid_params(message, None));
            }
        },
    };
    let tools = registry.callable(Some(scope));
    let mut rest = tools
        .iter()
        .filter(|tool| after.is_none_or(|after| tool.def.name() > after));
    let page: Vec<Tool> = rest
        .by_ref()
        .take(size)
        .map(|tool| listed(tool, structured))
        .collect();
    let more = rest.next().is_some();
    let next = page.last().filter(|_| more);
    let cursor = next.map(|last| format!("{AFTER}{}", last.name));
    let mut result = ListToolsResult::with_all_items(page);
    result.next_cursor = cursor;
    Ok(result)
}

fn listed(tool: &ToolEntry, structured: bool) -> Tool {
    let def = &tool.def;
    let mut listed = Tool::new(
        Cow::Owned(def.name().to_owned()),
        Cow::Owned(def.description().to_owned()),
        Arc::new(parameters(def.parameters())),
    );
    if structured {
        let output = def.declared_output().and_then(answer::output_schema);
        listed.output_schema = output.map(Arc::new);
    }
    listed.annotations = annotations(tool);
    listed
}

/// Clients want an object's schema, also where anything goes.
fn parameters(schema: &Value) -> JsonObject {
    let mut schema = schema.as_object().cloned().unwrap_or_default();
    if !schema.contains_key("type") {
        schema.insert("type".to_owned(), Value::from("object"));
    }
    schema
}

/// What a tool declares; what it does not say is not told either.
fn annotations(tool: &ToolEntry) -> Option<ToolAnnotations> {
    let (dangerous, edits, repeatable) = tool.def.hints();
    if !(dangerous || edits || repeatable) {
        return None;
    }
    let mut hints = ToolAnnotations::new();
    if dangerous || edits {
        hints.read_only_hint = Some(false);
    }
    if dangerous {
        hints.destructive_hint = Some(true);
    }
    if repeatable {
        hints.idempotent_hint = Some(true);
    }
    Some(hints)
}

/// Tells whether what a session sees has changed.
pub(super) fn digest(registry: &Registry, scope: &Scope) -> u64 {
    let mut hasher = DefaultHasher::new();
    for tool in registry.callable(Some(scope)) {
        let def = &tool.def;
        def.name().hash(&mut hasher);
        def.description().hash(&mut hasher);
        def.parameters().to_string().hash(&mut hasher);
        def.declared_output()
            .map(Value::to_string)
            .hash(&mut hasher);
        def.hints().hash(&mut hasher);
    }
    hasher.finish()
}
