//! Which provider interface a text belongs to.

use std::{fmt, str::FromStr};

use serde_json::Value;

use super::{WireError, raw::Node};

/// One provider interface.
///
/// ```
/// use toolfall::wire::Dialect;
///
/// let dialect: Dialect = "messages".parse().unwrap();
/// assert_eq!(dialect, Dialect::Messages);
/// assert_eq!(dialect.to_string(), "messages");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// `OpenAI` Chat Completions, and the many servers that speak it.
    ChatCompletions,
    /// `OpenAI` Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
}

impl Dialect {
    /// The dialect that `value` shows: a reply's whole body, its assistant
    /// message, its output items, or one event of a stream. `None` if nothing
    /// in it tells, as in a message that holds plain text alone.
    pub fn detect(value: &Value) -> Option<Self> {
        Self::detect_node(&Node::root(&value.to_string()).ok()?)
    }

    pub(super) fn detect_node(node: &Node<'_>) -> Option<Self> {
        if node.is_array() {
            return node.elements().ok()?.iter().find_map(Self::of_part);
        }
        let object = node.object().ok()?;
        if object.has("choices") || object.has("tool_calls") {
            return Some(Self::ChatCompletions);
        }
        if object.has("output") && object.get("output").ok()??.is_array() {
            return Some(Self::Responses);
        }
        if let Some(content) = object.get("content").ok().flatten()
            && content.is_array()
        {
            let message = matches!(object.string("type"), Ok(Some(kind)) if kind == "message");
            let blocks = content.elements().ok()?;
            let told = blocks.iter().find_map(Self::of_part);
            return told
                .or_else(|| (message && object.has("stop_reason")).then_some(Self::Messages));
        }
        Self::of_part(node)
    }

    /// The dialect of one content block, output item or event.
    fn of_part(node: &Node<'_>) -> Option<Self> {
        let kind = node.object().ok()?.string("type").ok()??;
        match &*kind {
            "tool_use"
            | "server_tool_use"
            | "mcp_tool_use"
            | "thinking"
            | "redacted_thinking"
            | "message_start"
            | "message_delta"
            | "message_stop"
            | "content_block_start"
            | "content_block_delta"
            | "content_block_stop" => Some(Self::Messages),
            "function_call" | "custom_tool_call" | "reasoning" | "output_text" => {
                Some(Self::Responses)
            }
            other if other.starts_with("response.") || other.ends_with("_call") => {
                Some(Self::Responses)
            }
            _ => None,
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ChatCompletions => "chat-completions",
            Self::Responses => "responses",
            Self::Messages => "messages",
        })
    }
}

impl FromStr for Dialect {
    type Err = WireError;

    fn from_str(name: &str) -> Result<Self, WireError> {
        match name {
            "chat-completions" => Ok(Self::ChatCompletions),
            "responses" => Ok(Self::Responses),
            "messages" => Ok(Self::Messages),
            _ => Err(WireError::UnknownName {
                found: super::arguments::echo(name),
            }),
        }
    }
}
