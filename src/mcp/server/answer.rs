//! A call's result, as an MCP client reads it.

use rmcp::model::{CallToolResult, ContentBlock as Block, MetaObject};
use serde_json::{Map, Value, json};

use crate::{ContentBlock, DecidedBy, ToolResult, codes};

/// Where a failure's code stands in the `_meta` of a result.
const CODE: &str = "toolfall/code";
/// The code of what a server's tool itself calls a failure.
const TOOL_ERROR: &str = "MCP_TOOL_ERROR";

/// The result of a call. `structured` says whether values are told at all.
pub(super) fn of(result: &ToolResult, structured: bool) -> CallToolResult {
    if result.is_error() {
        let mut content = blocks(result.content());
        if result.code() == Some(TOOL_ERROR) {
            // The server's own words, which need no word before them where
            // the failure is told beside them.
            own_words(&mut content);
        }
        let mut answer = CallToolResult::error(content);
        if answer.content.is_empty() {
            let message = result.message().unwrap_or("the tool call failed");
            answer
                .content
                .push(Block::text(format!("Error: {message}")));
        }
        answer.meta = result.code().map(code);
        return answer;
    }
    // What a policy put in the place of the content replaces the value, too:
    // it may be there to hide it.
    let value = result.value().filter(|_| result.shows_value());
    if let Some(passed) = value.and_then(passed_on) {
        let mut answer =
            CallToolResult::success(passed.content.unwrap_or_else(|| blocks(result.content())));
        answer.structured_content = passed.structured.filter(|_| structured).cloned();
        return answer;
    }
    let mut answer = CallToolResult::success(blocks(result.content()));
    // Older clients take nothing but objects.
    answer.structured_content = value.filter(|it| structured && it.is_object()).cloned();
    answer
}

fn own_words(content: &mut [Block]) {
    if let Some(Block::Text(first)) = content.first_mut()
        && let Some(own) = first.text.strip_prefix("Error: ")
    {
        first.text = own.to_owned();
    }
}

/// Says why nobody at the client was asked, of a call that was refused for it.
pub(super) fn explain(answer: &mut CallToolResult, result: &ToolResult, why: &str) {
    if matches!(result.decided_by(), Some(DecidedBy::Nobody)) {
        let text = format!("The session that made the call could not be asked: {why}.");
        answer.content.push(Block::text(text));
    }
}

/// The result of a call whose pipeline panicked or went away.
pub(super) fn broken() -> CallToolResult {
    let text = "Error: the tool call could not be completed";
    let mut answer = CallToolResult::error(vec![Block::text(text)]);
    answer.meta = Some(code("PIPELINE_FAILED"));
    answer
}

/// The result of a call that went on although it was cancelled.
pub(super) fn left() -> CallToolResult {
    let text = "Error: tool call aborted: it was cancelled and has not ended yet";
    let mut answer = CallToolResult::error(vec![Block::text(text)]);
    answer.meta = Some(code(codes::ABORTED));
    answer
}

fn code(code: &str) -> MetaObject {
    let mut meta = Map::new();
    meta.insert(CODE.to_owned(), Value::from(code));
    MetaObject(meta)
}

struct Passed<'a> {
    /// None if a block is of a kind that is unknown here.
    content: Option<Vec<Block>>,
    structured: Option<&'a Value>,
}

/// A value that is an MCP server's own result: it is passed on as it came.
fn passed_on(value: &Value) -> Option<Passed<'_>> {
    let map = value.as_object()?;
    let content = map.get("content")?.as_array()?;
    let structured = map.get("structuredContent");
    if map.len() != 1 + usize::from(structured.is_some()) {
        return None;
    }
    let content = content
        .iter()
        .map(|block| serde_json::from_value(block.clone()).ok())
        .collect();
    Some(Passed {
        content,
        structured,
    })
}

fn blocks(content: &[ContentBlock]) -> Vec<Block> {
    content.iter().filter_map(block).collect()
}

/// Reasoning is a model's own and is told to nobody.
fn block(block: &ContentBlock) -> Option<Block> {
    Some(match block {
        ContentBlock::Text { text } => Block::text(text),
        ContentBlock::Reasoning { .. } => return None,
        // Everything else has the protocol's own form.
        other => serde_json::to_value(other)
            .and_then(serde_json::from_value)
            .unwrap_or_else(|_| Block::text(format!("[{} content]", other.kind()))),
    })
}

/// The schema of the structured content of a tool whose values have the
/// schema `output`; none if there is none that a client could use.
pub(super) fn output_schema(output: &Value) -> Option<Map<String, Value>> {
    let schema = output.as_object()?;
    if is_mcp(schema) {
        // The canonical value of an MCP server's tool.
        let required = schema.get("required")?.as_array()?;
        if !required.contains(&json!("structuredContent")) {
            return None;
        }
        // It was moved into the schema of the whole, and its references with it.
        let moved = serde_json::to_string(&schema["properties"]["structuredContent"]).ok()?;
        let own = moved.replace("\"#/properties/structuredContent", "\"#");
        let mut inner: Map<String, Value> = serde_json::from_str(&own).ok()?;
        if let Some(draft) = schema.get("$schema") {
            inner.insert("$schema".to_owned(), draft.clone());
        }
        return is_object(&inner).then_some(inner);
    }
    is_object(schema).then(|| schema.clone())
}

fn is_object(schema: &Map<String, Value>) -> bool {
    schema.get("type") == Some(&json!("object"))
}

fn is_mcp(schema: &Map<String, Value>) -> bool {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return false;
    };
    properties.len() == 2
        && properties.contains_key("content")
        && properties.contains_key("structuredContent")
        && schema.get("additionalProperties") == Some(&Value::Bool(false))
}
