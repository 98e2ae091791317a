//! Results, as the provider wants them back.

use serde_json::{Value, json};
use toolfall_layers::{ContentBlock, EmbeddedResource, ResourceContents};

use super::{CallKind, Dialect, WireCall, ids::ids};

/// One result, at the place of its call.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct WireResult<'a> {
    /// The call's id as sent.
    pub id: Option<&'a str>,
    /// The call's tool.
    pub name: &'a str,
    /// The call's kind.
    pub kind: CallKind,
    /// What the model gets to see.
    pub content: &'a [ContentBlock],
    /// Whether the call failed. Only Messages has a place for it; elsewhere
    /// the text has to say so.
    pub is_error: bool,
}

impl<'a> WireResult<'a> {
    /// The result of a function call with this id and name.
    pub const fn new(
        id: Option<&'a str>,
        name: &'a str,
        content: &'a [ContentBlock],
        is_error: bool,
    ) -> Self {
        Self {
            id,
            name,
            kind: CallKind::Function,
            content,
            is_error,
        }
    }

    /// The result of `call`.
    pub fn of(call: &'a WireCall, content: &'a [ContentBlock], is_error: bool) -> Self {
        Self {
            id: call.id.as_deref(),
            name: &call.name,
            kind: call.kind,
            content,
            is_error,
        }
    }
}

/// Writes the results of one batch: one for each call, in the calls' order.
///
/// What an interface cannot carry (sounds everywhere, pictures in Chat
/// Completions) becomes a text that says so; a link becomes its name and
/// address; reasoning is told of and not shown. Ids that are absent or empty
/// get the same stand-ins as in [`write_assistant`](super::write_assistant).
///
/// Chat Completions gets one message a result, Responses one item a result,
/// Messages one message with all of them; none for no results.
///
/// ```
/// use toolfall::wire::{Dialect, WireResult, write_results};
/// use toolfall_layers::{ContentBlock, EmbeddedResource, ResourceContents};
///
/// let content = [ContentBlock::text("42 files")];
/// let messages = write_results(
///     Dialect::ChatCompletions,
///     &[WireResult::new(Some("c1"), "read", &content, false)],
/// );
/// assert_eq!(messages[0]["tool_call_id"], "c1");
/// assert_eq!(messages[0]["content"], "42 files");
/// ```
pub fn write_results(dialect: Dialect, results: &[WireResult<'_>]) -> Vec<Value> {
    let ids = ids(results.iter().map(|result| result.id));
    let parts: Vec<_> = results
        .iter()
        .zip(&ids)
        .map(|(result, id)| part(dialect, result, id))
        .collect();
    match dialect {
        Dialect::Messages if !parts.is_empty() => vec![json!({"role": "user", "content": parts})],
        _ => parts,
    }
}

fn part(dialect: Dialect, result: &WireResult<'_>, id: &str) -> Value {
    let content = result.content;
    match dialect {
        Dialect::ChatCompletions => {
            json!({"role": "tool", "tool_call_id": id, "content": joined(content)})
        }
        Dialect::Responses => {
            let kind = match result.kind {
                CallKind::Function => "function_call_output",
                CallKind::Custom => "custom_tool_call_output",
            };
            let output = if content.iter().any(|block| picture(block).is_some()) {
                content.iter().map(responses_block).collect()
            } else {
                Value::String(joined(content))
            };
            json!({"type": kind, "call_id": id, "output": output})
        }
        Dialect::Messages => tool_result(id, content, result.is_error),
    }
}

/// One `tool_result` block of Messages.
pub(crate) fn tool_result(id: &str, content: &[ContentBlock], is_error: bool) -> Value {
    // An empty text block is refused, and so is an error without content.
    let mut blocks: Vec<_> = content.iter().filter_map(messages_block).collect();
    if blocks.is_empty() && is_error {
        blocks.push(json!({"type": "text", "text": "Error"}));
    }
    let mut part = json!({"type": "tool_result", "tool_use_id": id});
    if !blocks.is_empty() {
        part["content"] = Value::Array(blocks);
    }
    if is_error {
        part["is_error"] = Value::Bool(true);
    }
    part
}

fn joined(content: &[ContentBlock]) -> String {
    let mut all = String::new();
    for (place, block) in content.iter().enumerate() {
        if place > 0 {
            all.push('\n');
        }
        all.push_str(&text(block));
    }
    all
}

fn responses_block(block: &ContentBlock) -> Value {
    match picture(block) {
        Some((data, mime)) => json!({
            "type": "input_image", "detail": "auto",
            "image_url": format!("data:{mime};base64,{data}"),
        }),
        None => json!({"type": "input_text", "text": text(block)}),
    }
}

fn messages_block(block: &ContentBlock) -> Option<Value> {
    if let Some((data, mime)) = picture(block) {
        return Some(json!({
            "type": "image",
            "source": {"type": "base64", "media_type": mime, "data": data},
        }));
    }
    let text = text(block);
    (!text.is_empty()).then(|| json!({"type": "text", "text": text}))
}

/// A picture of a type that the interfaces which take pictures take.
fn picture(block: &ContentBlock) -> Option<(&str, &str)> {
    match block {
        ContentBlock::Image { data, mime_type } => matches!(
            mime_type.as_str(),
            "image/png" | "image/jpeg" | "image/gif" | "image/webp"
        )
        .then_some((data.as_str(), mime_type.as_str())),
        _ => None,
    }
}

/// The block as text, or a text that says what is not shown.
fn text(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text { text } => text.clone(),
        ContentBlock::Image { mime_type, .. } => {
            format!("[a picture of type {mime_type}, which cannot be shown here]")
        }
        ContentBlock::Audio { mime_type, .. } => {
            format!("[a sound of type {mime_type}, which cannot be played here]")
        }
        ContentBlock::ResourceLink {
            uri,
            name,
            mime_type,
        } => match mime_type {
            Some(mime) => format!("[{name} ({mime}): {uri}]"),
            None => format!("[{name}: {uri}]"),
        },
        ContentBlock::Resource { resource } => {
            let EmbeddedResource {
                uri,
                mime_type,
                contents,
            } = resource;
            let kind = mime_type
                .as_deref()
                .map_or(String::new(), |mime| format!(" ({mime})"));
            match contents {
                ResourceContents::Text(text) => format!("[{uri}{kind}]\n{text}"),
                ResourceContents::Blob(_) => {
                    format!("[{uri}{kind}: bytes, which cannot be shown here]")
                }
            }
        }
        other => format!("[content of kind {}, which is not shown]", other.kind()),
    }
}
