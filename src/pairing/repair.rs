//! Adding the results that are missing.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use toolfall_layers::ContentBlock;

use super::{
    Entry, SYNTHETIC_RESULT,
    entries::pair,
    messages::{Parts, flatten},
};
use crate::wire::{Dialect, tool_result};

/// The conversation with a result for each call that has none, saying
/// [`SYNTHETIC_RESULT`], where the provider looks for it.
///
/// Nothing is removed, changed or moved, and doing it again adds nothing. In
/// Messages the results become blocks of the user message that follows, in
/// front of what it says (text as a string becomes a text block for that), or
/// a message of their own where none follows. Calls without an id get results
/// with an empty one: write ids with
/// [`write_assistant`](crate::wire::write_assistant) first.
pub fn repair(dialect: Dialect, messages: &[Value]) -> Vec<Value> {
    let parts = flatten(dialect, messages);
    match dialect {
        Dialect::Messages => repair_blocks(messages, &parts),
        _ => repair_messages(dialect, messages, &parts),
    }
}

fn repair_messages(dialect: Dialect, messages: &[Value], parts: &Parts<'_>) -> Vec<Value> {
    // Keyed by the message that they are put in front of.
    let mut added: BTreeMap<usize, Vec<Value>> = BTreeMap::new();
    for addition in pair(&parts.entries).additions() {
        let Entry::Call(id) = parts.entries[addition.call] else {
            continue;
        };
        let before = if addition.after == addition.call {
            parts.windows[addition.turn]
        } else {
            parts.places[addition.after].message + 1
        };
        let result = if dialect == Dialect::ChatCompletions {
            json!({"role": "tool", "tool_call_id": id, "content": SYNTHETIC_RESULT})
        } else {
            let kind = if parts.places[addition.call].custom {
                "custom_tool_call_output"
            } else {
                "function_call_output"
            };
            json!({"type": kind, "call_id": id, "output": SYNTHETIC_RESULT})
        };
        added.entry(before).or_default().push(result);
    }
    let mut whole = Vec::with_capacity(messages.len());
    for (at, message) in messages.iter().enumerate() {
        whole.extend(added.remove(&at).unwrap_or_default());
        whole.push(message.clone());
    }
    whole.extend(added.into_values().flatten());
    whole
}

fn repair_blocks(messages: &[Value], parts: &Parts<'_>) -> Vec<Value> {
    // Keyed by the message, then by the block, that they are put in front of.
    let mut added: BTreeMap<usize, BTreeMap<usize, Vec<Value>>> = BTreeMap::new();
    for addition in pair(&parts.entries).additions() {
        let Entry::Call(id) = parts.entries[addition.call] else {
            continue;
        };
        let (message, block) = if addition.after == addition.call {
            (parts.windows[addition.turn], 0)
        } else {
            let place = parts.places[addition.after];
            (place.message, place.part.map_or(0, |part| part + 1))
        };
        let result = tool_result(id, &[ContentBlock::text(SYNTHETIC_RESULT)], true);
        added
            .entry(message)
            .or_default()
            .entry(block)
            .or_default()
            .push(result);
    }
    let mut whole = Vec::with_capacity(messages.len());
    for (at, message) in messages.iter().enumerate() {
        let results = added.remove(&at).unwrap_or_default();
        if let Some(merged) = merged(message, &results) {
            whole.push(merged);
        } else {
            whole.extend(own_message(results));
            whole.push(message.clone());
        }
    }
    whole.extend(added.into_values().filter_map(own_message));
    whole
}

/// The user message with the results among its blocks; none if it cannot
/// hold any.
fn merged(message: &Value, results: &BTreeMap<usize, Vec<Value>>) -> Option<Value> {
    if message.get("role").and_then(Value::as_str) != Some("user") || results.is_empty() {
        return None;
    }
    let blocks = match message.get("content")? {
        Value::Array(blocks) => blocks.clone(),
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        _ => return None,
    };
    let mut content = Vec::with_capacity(blocks.len() + results.len());
    let mut results = results.clone();
    for (at, block) in blocks.into_iter().enumerate() {
        content.extend(results.remove(&at).unwrap_or_default());
        content.push(block);
    }
    content.extend(results.into_values().flatten());
    let mut message = message.clone();
    message["content"] = Value::Array(content);
    Some(message)
}

fn own_message(results: BTreeMap<usize, Vec<Value>>) -> Option<Value> {
    let content: Vec<_> = results.into_values().flatten().collect();
    (!content.is_empty()).then(|| json!({"role": "user", "content": content}))
}
