//! A conversation as a plain sequence of calls and results.

use serde_json::Value;

use super::Entry;
use crate::wire::Dialect;

/// Where an entry is in the conversation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) message: usize,
    /// The call or block within the message, where there are several.
    pub(super) part: Option<usize>,
    /// A call that takes free text, and wants its result under another name.
    pub(super) custom: bool,
}

impl Place {
    pub(super) fn pointer(self, dialect: Dialect) -> String {
        let message = self.message;
        match (self.part, dialect) {
            (None, _) => format!("/{message}"),
            (Some(part), Dialect::ChatCompletions) => format!("/{message}/tool_calls/{part}"),
            (Some(part), _) => format!("/{message}/content/{part}"),
        }
    }
}

/// The entries, and what is known of each.
pub(super) struct Parts<'a> {
    pub(super) entries: Vec<Entry<'a>>,
    pub(super) places: Vec<Place>,
    /// For each turn, the message before which its first result belongs.
    pub(super) windows: Vec<usize>,
}

impl<'a> Parts<'a> {
    fn push(&mut self, entry: Entry<'a>, message: usize, part: Option<usize>, custom: bool) {
        if entry == Entry::Turn {
            self.windows.push(message);
        }
        self.entries.push(entry);
        self.places.push(Place {
            message,
            part,
            custom,
        });
    }

    fn turn(&mut self, message: usize) {
        self.push(Entry::Turn, message, None, false);
    }

    /// The assistant's part of the turn reaches to `message`.
    fn window_after(&mut self, message: usize) {
        if let Some(window) = self.windows.last_mut() {
            *window = message + 1;
        }
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = (usize, &'a Value)> + use<'a> {
    value
        .get(name)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .enumerate()
}

pub(super) fn flatten(dialect: Dialect, messages: &[Value]) -> Parts<'_> {
    let mut parts = Parts {
        entries: Vec::new(),
        places: Vec::new(),
        windows: vec![0],
    };
    match dialect {
        Dialect::ChatCompletions => chat(messages, &mut parts),
        Dialect::Responses => responses(messages, &mut parts),
        Dialect::Messages => blocks(messages, &mut parts),
    }
    parts
}

fn chat<'a>(messages: &'a [Value], parts: &mut Parts<'a>) {
    for (at, message) in messages.iter().enumerate() {
        if text(message, "role") == "tool" {
            parts.push(
                Entry::Result(text(message, "tool_call_id")),
                at,
                None,
                false,
            );
            continue;
        }
        parts.turn(at);
        parts.window_after(at);
        if text(message, "role") == "assistant" {
            for (place, call) in list(message, "tool_calls") {
                parts.push(Entry::Call(text(call, "id")), at, Some(place), false);
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Before {
    Assistant,
    Results,
    Other,
}

fn responses<'a>(items: &'a [Value], parts: &mut Parts<'a>) {
    let mut before = Before::Other;
    for (at, item) in items.iter().enumerate() {
        let kind = text(item, "type");
        let now = match kind {
            other if other.ends_with("_output") => Before::Results,
            "" | "message" if text(item, "role") != "assistant" => Before::Other,
            "item_reference" => before,
            _ => Before::Assistant,
        };
        match now {
            Before::Assistant => {
                if before != Before::Assistant {
                    parts.turn(at);
                }
                parts.window_after(at);
            }
            Before::Other => parts.turn(at),
            Before::Results => {}
        }
        before = now;
        let id = text(item, "call_id");
        match kind {
            "function_call" => parts.push(Entry::Call(id), at, None, false),
            "custom_tool_call" => parts.push(Entry::Call(id), at, None, true),
            "function_call_output" | "custom_tool_call_output" => {
                parts.push(Entry::Result(id), at, None, false);
            }
            _ => {}
        }
    }
}

fn blocks<'a>(messages: &'a [Value], parts: &mut Parts<'a>) {
    let mut before = Before::Other;
    for (at, message) in messages.iter().enumerate() {
        if text(message, "role") == "assistant" {
            // Turns of the assistant that follow each other count as one.
            if before != Before::Assistant {
                parts.turn(at);
            }
            before = Before::Assistant;
            parts.window_after(at);
            for (place, block) in list(message, "content") {
                if text(block, "type") == "tool_use" {
                    parts.push(Entry::Call(text(block, "id")), at, Some(place), false);
                }
            }
            continue;
        }
        before = Before::Results;
        if !message.get("content").is_some_and(Value::is_array) {
            parts.turn(at);
        }
        // Results come first; behind anything else they are late.
        for (place, block) in list(message, "content") {
            if text(block, "type") == "tool_result" {
                let id = text(block, "tool_use_id");
                parts.push(Entry::Result(id), at, Some(place), false);
            } else {
                parts.turn(at);
            }
        }
    }
}
