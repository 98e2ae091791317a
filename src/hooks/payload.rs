//! What a hook reads on standard input.

use serde_json::{Map, Value, json};

use super::{Dialect, HookPoint, HookSession};
use crate::{CallView, ContentBlock, ToolOutcome};

/// One object with what every hook is told.
fn base(dialect: Dialect, point: HookPoint, session: &HookSession) -> Map<String, Value> {
    let mut told = Map::new();
    let mut tell = |name: &str, value: Value| told.insert(name.to_owned(), value);
    tell("session_id", session.id().into());
    let transcript = session.transcript_path();
    tell("cwd", session.folder().display().to_string().into());
    tell("hook_event_name", point.as_str().into());
    match dialect {
        Dialect::ClaudeCode => {
            tell("transcript_path", transcript.unwrap_or_default().into());
        }
        Dialect::Codex => {
            tell("transcript_path", transcript.into());
            tell("model", session.model_name().into());
            tell("permission_mode", "default".into());
            tell("turn_id", session.turn().to_string().into());
        }
    }
    told
}

/// The text on standard input of a hook at a tool.
pub(super) fn of_call(
    dialect: Dialect,
    point: HookPoint,
    session: &HookSession,
    call: &CallView,
    outcome: Option<&ToolOutcome>,
) -> String {
    let mut told = base(dialect, point, session);
    let arguments = call.arguments().map(crate::Arguments::value);
    let input = match dialect {
        Dialect::ClaudeCode => arguments.cloned().unwrap_or_default(),
        Dialect::Codex => {
            let command = arguments.and_then(|arguments| arguments.get("command"));
            json!({"command": command.and_then(Value::as_str).unwrap_or_default()})
        }
    };
    told.insert("tool_name".to_owned(), call.name().into());
    told.insert("tool_input".to_owned(), input);
    told.insert("tool_use_id".to_owned(), call.id().as_str().into());
    if let Some(outcome) = outcome {
        let texts = outcome.content().iter().filter_map(ContentBlock::as_text);
        told.insert("tool_response".to_owned(), texts.collect::<String>().into());
    }
    written(dialect, told)
}

/// The text on standard input of a hook at another event; `fields` add to
/// what every hook is told and replace nothing of it.
pub(super) fn of_event(
    dialect: Dialect,
    point: HookPoint,
    session: &HookSession,
    fields: &Map<String, Value>,
) -> String {
    let mut told = base(dialect, point, session);
    for (name, value) in fields {
        told.entry(name.as_str()).or_insert_with(|| value.clone());
    }
    written(dialect, told)
}

fn written(dialect: Dialect, told: Map<String, Value>) -> String {
    let mut text = Value::Object(told).to_string();
    if dialect == Dialect::ClaudeCode {
        text.push('\n');
    }
    text
}
