//! A provider's own messages, made safe to send again.

use serde_json::Value;

use super::{
    CallKind, Dialect, RawArguments,
    arguments::{safe_text, stand_in},
};

/// A conversation that can be sent.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SafeHistory {
    /// The messages or items, as many as there were, in the same order.
    pub messages: Vec<Value>,
    /// JSON pointers, into `messages`, of the arguments that were replaced.
    pub replaced: Vec<String>,
}

/// Replaces the arguments of calls that would make the provider refuse the
/// conversation: those that are not an object, or not the text of one. All
/// else stays, text and reasoning too.
///
/// ```
/// use serde_json::json;
/// use toolfall::wire::{Dialect, safe_history};
///
/// let messages = [json!({"type": "function_call", "call_id": "c1", "name": "read",
///     "arguments": "not json"})];
/// let safe = safe_history(Dialect::Responses, &messages);
/// assert_eq!(safe.messages[0]["arguments"], r#"{"malformed_arguments":"not json"}"#);
/// assert_eq!(safe.replaced, ["/0/arguments"]);
/// ```
pub fn safe_history(dialect: Dialect, messages: &[Value]) -> SafeHistory {
    let mut safe = SafeHistory {
        messages: messages.to_vec(),
        replaced: Vec::new(),
    };
    for (at, message) in safe.messages.iter_mut().enumerate() {
        match dialect {
            Dialect::ChatCompletions => {
                let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
                for (place, call) in calls.into_iter().flatten().enumerate() {
                    if let Some(function) = call.get_mut("function")
                        && replace_text(function)
                    {
                        let pointer = format!("/{at}/tool_calls/{place}/function/arguments");
                        safe.replaced.push(pointer);
                    }
                }
            }
            Dialect::Responses => {
                if message["type"] == "function_call" && replace_text(message) {
                    safe.replaced.push(format!("/{at}/arguments"));
                }
            }
            Dialect::Messages => {
                let blocks = message.get_mut("content").and_then(Value::as_array_mut);
                for (place, block) in blocks.into_iter().flatten().enumerate() {
                    if block["type"] == "tool_use" && replace_input(block) {
                        safe.replaced.push(format!("/{at}/content/{place}/input"));
                    }
                }
            }
        }
    }
    safe
}

/// Makes `arguments` the text of an object; says whether a stand-in was needed.
fn replace_text(part: &mut Value) -> bool {
    let Some(part) = part.as_object_mut() else {
        return false;
    };
    let sent = match part.get("arguments") {
        None => RawArguments::Absent,
        Some(Value::String(text)) => RawArguments::Text(text.clone()),
        // An object in the place of its text is what some servers send.
        Some(other) => RawArguments::Text(other.to_string()),
    };
    let (text, replaced) = safe_text(&sent, CallKind::Function);
    part.insert("arguments".to_owned(), Value::String(text));
    replaced
}

fn replace_input(part: &mut Value) -> bool {
    let Some(part) = part.as_object_mut() else {
        return false;
    };
    let input = part.entry("input").or_insert(Value::Null);
    match input {
        Value::Object(_) => false,
        Value::Null => {
            *input = Value::Object(serde_json::Map::new());
            false
        }
        Value::String(text) => {
            *input = Value::Object(stand_in(text));
            true
        }
        ref other => {
            *input = Value::Object(stand_in(&other.to_string()));
            true
        }
    }
}
