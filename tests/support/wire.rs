//! Provider bodies and streams, made from the calls that they hold.
#![allow(dead_code, reason = "each test binary uses a part")]

use serde_json::{Value, json};
use toolfall::wire::Dialect;

pub(crate) const DIALECTS: [Dialect; 3] = [
    Dialect::ChatCompletions,
    Dialect::Responses,
    Dialect::Messages,
];

/// One call as a provider is made to send it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sent {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    /// The argument text, or the pieces that it is streamed in.
    pub(crate) pieces: Vec<String>,
    /// The kind of block, where it is not a plain call.
    pub(crate) block: Option<String>,
    /// Free text instead of JSON.
    pub(crate) custom: bool,
    /// Where the text is there when the call is opened.
    pub(crate) start: Option<String>,
    /// Where the text comes once more, or only, at the call's end.
    pub(crate) last: Option<String>,
    /// Further members of the call.
    pub(crate) more: Vec<(String, Value)>,
}

impl Sent {
    pub(crate) fn new(id: &str, name: &str, text: &str) -> Self {
        Self {
            id: Some(id.to_owned()),
            name: name.to_owned(),
            pieces: vec![text.to_owned()],
            ..Self::default()
        }
    }

    /// The whole text as the reader has to give it.
    pub(crate) fn text(&self) -> String {
        let joined = self.pieces.concat();
        match (&self.last, &self.start) {
            (Some(last), _) => last.clone(),
            (None, Some(start)) if joined.is_empty() => start.clone(),
            _ => joined,
        }
    }

    fn with_more(&self, mut value: Value) -> Value {
        for (name, more) in &self.more {
            value[name] = more.clone();
        }
        value
    }
}

fn chat_call(call: &Sent, text: Option<&str>) -> Value {
    let (kind, field) = if call.custom {
        ("custom", "input")
    } else {
        ("function", "arguments")
    };
    let mut value = json!({"id": call.id, "type": kind, kind: {"name": call.name}});
    if let Some(text) = text {
        value[kind][field] = text.into();
    }
    call.with_more(value)
}

fn responses_item(call: &Sent, text: &str, status: &str, place: usize) -> Value {
    let (kind, field) = if call.custom {
        ("custom_tool_call", "input")
    } else {
        ("function_call", "arguments")
    };
    call.with_more(json!({
        "type": call.block.as_deref().unwrap_or(kind), "id": format!("fc_{place}"),
        "call_id": call.id, "name": call.name, "status": status, field: text,
    }))
}

/// A block whose input is put in as the very text.
fn messages_block(call: &Sent, input: &str) -> String {
    let block = call.with_more(json!({
        "type": call.block.as_deref().unwrap_or("tool_use"), "id": call.id, "name": call.name,
    }));
    let text = block.to_string();
    format!("{},\"input\":{input}}}", &text[..text.len() - 1])
}

/// The stop reason of a whole reply.
pub(crate) fn whole(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::ChatCompletions => "tool_calls",
        Dialect::Responses => "completed",
        _ => "tool_use",
    }
}

/// The stop reason of a reply that met the length limit.
pub(crate) fn length(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::ChatCompletions => "length",
        Dialect::Responses => "max_output_tokens",
        _ => "max_tokens",
    }
}

fn response(output: Vec<Value>, stop: &str) -> Value {
    let mut body = json!({"object": "response", "status": stop, "output": output});
    if stop != "completed" {
        body["status"] = "incomplete".into();
        body["incomplete_details"] = json!({"reason": stop});
    }
    body
}

/// A whole response body.
pub(crate) fn body(dialect: Dialect, calls: &[Sent], stop: &str) -> String {
    match dialect {
        Dialect::ChatCompletions => {
            let calls: Vec<_> = calls
                .iter()
                .map(|call| chat_call(call, Some(&call.text())))
                .collect();
            json!({"object": "chat.completion", "choices": [{
                "index": 0, "finish_reason": stop,
                "message": {"role": "assistant", "content": null, "tool_calls": calls},
            }]})
            .to_string()
        }
        Dialect::Responses => {
            let mut output = vec![json!({"type": "reasoning", "id": "rs_1", "summary": []})];
            output.extend(
                calls
                    .iter()
                    .enumerate()
                    .map(|(place, call)| responses_item(call, &call.text(), "completed", place)),
            );
            response(output, stop).to_string()
        }
        _ => {
            let mut blocks = vec![r#"{"type":"text","text":"Let me see: \"{[\\"}"#.to_owned()];
            blocks.extend(calls.iter().map(|call| messages_block(call, &call.text())));
            format!(
                "{{\"type\": \"message\", \"role\": \"assistant\", \"stop_reason\": \"{stop}\",\n \
                 \"content\": [{}]}}",
                blocks.join(" , ")
            )
        }
    }
}

/// The events of a stream. `order` says whose piece comes next; the rest
/// follows call by call.
pub(crate) fn stream(dialect: Dialect, calls: &[Sent], order: &[usize], stop: &str) -> Vec<String> {
    let mut left: Vec<_> = calls.iter().map(|call| call.pieces.iter()).collect();
    let mut pieces = Vec::new();
    for &call in order.iter().filter(|_| !calls.is_empty()) {
        let call = call % calls.len();
        pieces.extend(left[call].next().map(|piece| (call, piece.as_str())));
    }
    for (call, left) in left.into_iter().enumerate() {
        pieces.extend(left.map(|piece| (call, piece.as_str())));
    }
    match dialect {
        Dialect::ChatCompletions => chat_stream(calls, &pieces, stop),
        Dialect::Responses => responses_stream(calls, &pieces, stop),
        _ => messages_stream(calls, &pieces, stop),
    }
}

fn chat_stream(calls: &[Sent], pieces: &[(usize, &str)], stop: &str) -> Vec<String> {
    let chunk = |delta: Value, stop: Option<&str>| {
        json!({"object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": stop}]})
        .to_string()
    };
    let mut events = vec![chunk(json!({"role": "assistant", "content": null}), None)];
    for (place, call) in calls.iter().enumerate() {
        let mut piece = chat_call(call, Some(""));
        piece["index"] = place.into();
        events.push(chunk(json!({"tool_calls": [piece]}), None));
    }
    for (place, text) in pieces {
        let (kind, field) = if calls[*place].custom {
            ("custom", "input")
        } else {
            ("function", "arguments")
        };
        let piece = json!({"index": place, kind: {field: text}});
        events.push(chunk(json!({"tool_calls": [piece]}), None));
    }
    events.push(chunk(json!({}), Some(stop)));
    events.push(json!({"choices": [], "usage": {"total_tokens": 9}}).to_string());
    events.push("[DONE]".to_owned());
    events
}

fn responses_stream(calls: &[Sent], pieces: &[(usize, &str)], stop: &str) -> Vec<String> {
    let mut events = vec![json!({"type": "response.created",
        "response": {"status": "in_progress", "output": []}})];
    for (place, call) in calls.iter().enumerate() {
        events.push(
            json!({"type": "response.output_item.added", "output_index": place,
            "item": responses_item(call, "", "in_progress", place)}),
        );
    }
    for (place, text) in pieces {
        let kind = if calls[*place].custom {
            "response.custom_tool_call_input.delta"
        } else {
            "response.function_call_arguments.delta"
        };
        events.push(json!({"type": kind, "output_index": place,
            "item_id": format!("fc_{place}"), "delta": text}));
    }
    let mut output = Vec::new();
    for (place, call) in calls.iter().enumerate() {
        let item = responses_item(call, &call.text(), "completed", place);
        if !call.custom {
            events.push(json!({"type": "response.function_call_arguments.done",
                "output_index": place, "arguments": call.text()}));
        }
        events.push(
            json!({"type": "response.output_item.done", "output_index": place,
            "item": item.clone()}),
        );
        output.push(item);
    }
    let kind = if stop == "completed" {
        "response.completed"
    } else {
        "response.incomplete"
    };
    events.push(json!({"type": kind, "response": response(output, stop)}));
    events.iter().map(Value::to_string).collect()
}

fn messages_stream(calls: &[Sent], pieces: &[(usize, &str)], stop: &str) -> Vec<String> {
    let mut events = vec![
        json!({"type": "message_start", "message": {"content": [], "stop_reason": null}})
            .to_string(),
        json!({"type": "ping"}).to_string(),
    ];
    for (place, call) in calls.iter().enumerate() {
        let block = messages_block(call, call.start.as_deref().unwrap_or("{}"));
        events.push(format!(
            "{{\"type\":\"content_block_start\",\"index\":{place},\"content_block\":{block}}}"
        ));
    }
    for (place, text) in pieces {
        events.push(
            json!({"type": "content_block_delta", "index": place,
                "delta": {"type": "input_json_delta", "partial_json": text}})
            .to_string(),
        );
    }
    for place in 0..calls.len() {
        events.push(json!({"type": "content_block_stop", "index": place}).to_string());
    }
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": stop}}).to_string());
    events.push(json!({"type": "message_stop"}).to_string());
    events
}

/// The rows of a file under `tests/data`.
pub(crate) fn rows(file: &str) -> Vec<Value> {
    let path = format!("{}/tests/data/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a row is JSON"))
        .collect()
}
