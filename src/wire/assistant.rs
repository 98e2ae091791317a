//! The assistant's turn once more, in a form that the provider takes.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{
    CallKind, Dialect, WireCall,
    arguments::{safe_object, safe_text},
    ids::{ids, is_plain},
};

/// Something about a written turn that the host may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// The arguments were not an object that can be sent: a stand-in was.
    ArgumentsReplaced {
        /// The call's place among the calls.
        place: usize,
    },
    /// The provider sent no id, or an empty one: a stand-in was written.
    IdMade {
        /// The call's place among the calls.
        place: usize,
    },
    /// An earlier call of the turn has the same id. It is kept, and some
    /// providers refuse it.
    IdRepeated {
        /// The call's place among the calls.
        place: usize,
    },
    /// The id is longer than 64 characters or holds others than letters,
    /// digits, `_` and `-`. It is kept, and some providers refuse it.
    IdOdd {
        /// The call's place among the calls.
        place: usize,
    },
    /// The name is empty, longer than 64 characters or holds others than
    /// letters, digits, `_` and `-`. It is kept, and some providers refuse it.
    NameOdd {
        /// The call's place among the calls.
        place: usize,
    },
}

/// A turn to append to the conversation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AssistantTurn {
    /// One message (Chat Completions, Messages) or one item a call
    /// (Responses); none for no calls.
    pub messages: Vec<Value>,
    /// What was changed, or kept though it may be refused.
    pub notes: Vec<Note>,
}

/// Writes the assistant's turn that asked for `calls`.
///
/// Arguments that are not a JSON object are replaced by one that shows their
/// beginning, `{"malformed_arguments": "…"}`, because a provider refuses
/// a whole conversation for one of them. Absent and empty ones become `{}`.
/// Free text is kept; where the dialect has no place for it (Messages), it
/// becomes `{"input": "…"}`. Text and reasoning of the turn are not part of
/// it: a host that keeps the provider's own messages uses
/// [`safe_history`](super::safe_history) on them instead.
///
/// ```
/// use toolfall::wire::{Dialect, RawArguments, WireCall, write_assistant};
///
/// let calls = [WireCall::new(Some("c1"), "read", RawArguments::from("{\"path\""))];
/// let turn = write_assistant(Dialect::Messages, &calls);
/// assert_eq!(
///     turn.messages[0]["content"][0]["input"]["malformed_arguments"],
///     "{\"path\"",
/// );
/// ```
pub fn write_assistant(dialect: Dialect, calls: &[WireCall]) -> AssistantTurn {
    let mut notes = Vec::new();
    let mut seen = HashSet::new();
    let ids = ids(calls.iter().map(|call| call.id.as_deref()));
    let mut parts = Vec::with_capacity(calls.len());
    for (place, (call, id)) in calls.iter().zip(&ids).enumerate() {
        if call.id.as_deref().unwrap_or_default().is_empty() {
            notes.push(Note::IdMade { place });
        } else if !is_plain(id) {
            notes.push(Note::IdOdd { place });
        }
        if !seen.insert(id) {
            notes.push(Note::IdRepeated { place });
        }
        if !is_plain(&call.name) {
            notes.push(Note::NameOdd { place });
        }
        let (mut part, replaced) = part(dialect, call, id);
        if replaced {
            notes.push(Note::ArgumentsReplaced { place });
        }
        for (name, value) in &call.extras {
            part.entry(name).or_insert_with(|| value.clone());
        }
        parts.push(Value::Object(part));
    }
    let messages = match dialect {
        _ if parts.is_empty() => Vec::new(),
        Dialect::Responses => parts,
        Dialect::ChatCompletions => {
            vec![json!({"role": "assistant", "content": null, "tool_calls": parts})]
        }
        Dialect::Messages => vec![json!({"role": "assistant", "content": parts})],
    };
    AssistantTurn { messages, notes }
}

fn part(dialect: Dialect, call: &WireCall, id: &str) -> (Map<String, Value>, bool) {
    let name = call.name.as_str();
    let (part, replaced) = match dialect {
        Dialect::Messages => {
            let (input, replaced) = safe_object(&call.arguments, call.kind);
            (
                json!({"type": "tool_use", "id": id, "name": name, "input": input}),
                replaced,
            )
        }
        Dialect::ChatCompletions => {
            let (text, replaced) = safe_text(&call.arguments, call.kind);
            let part = match call.kind {
                CallKind::Function => json!({
                    "id": id, "type": "function",
                    "function": {"name": name, "arguments": text},
                }),
                CallKind::Custom => json!({
                    "id": id, "type": "custom", "custom": {"name": name, "input": text},
                }),
            };
            (part, replaced)
        }
        Dialect::Responses => {
            let (text, replaced) = safe_text(&call.arguments, call.kind);
            let part = match call.kind {
                CallKind::Function => json!({
                    "type": "function_call", "call_id": id, "name": name, "arguments": text,
                }),
                CallKind::Custom => json!({
                    "type": "custom_tool_call", "call_id": id, "name": name, "input": text,
                }),
            };
            (part, replaced)
        }
    };
    match part {
        Value::Object(part) => (part, replaced),
        _ => (Map::new(), replaced),
    }
}
