//! From the blocks of an answer to what a model sees.

use serde_json::Value;
use toolfall_layers::{EmbeddedResource, ResourceContents, printable};

use super::images::{ImagesShown, is_image};
use crate::ContentBlock;

/// Characters of a kind or a media type that are repeated.
const LABEL: usize = 120;

/// The blocks of `value` for a model: adjacent texts become one, whatever has
/// no place in a model's context becomes a line that says what it was.
///
/// Embedded texts are read where `shows_resources` says so.
pub(super) fn project(
    raw_name: &str,
    value: &Value,
    images: &ImagesShown,
    shows_resources: bool,
) -> Vec<ContentBlock> {
    let mut blocks = Vec::new();
    let mut lines: Vec<String> = Vec::new();
    let mut place = 0;
    for block in content_of(value) {
        if !is_image(block) {
            let text = embedded_text(block).filter(|_| shows_resources);
            lines.extend(text.map(str::to_owned).or_else(|| line(block)));
            continue;
        }
        let reason = match images {
            ImagesShown::Attached(attached) => match attached.get(place) {
                Some(attachment) => {
                    flush(&mut lines, &mut blocks);
                    blocks.push(attachment.clone());
                    place += 1;
                    continue;
                }
                None => super::images::NOT_ADMITTED,
            },
            ImagesShown::Refused(reasons) => reasons
                .get(place)
                .map_or(super::images::NOT_ADMITTED, String::as_str),
            ImagesShown::None(reason) => reason,
        };
        lines.push(unavailable(block, reason));
        place += 1;
    }
    flush(&mut lines, &mut blocks);
    if blocks.is_empty() {
        blocks.push(ContentBlock::text(nothing_to_see(raw_name, value)));
    }
    blocks
}

/// As [`project`], as one text: for failures.
pub(super) fn project_text(raw_name: &str, value: &Value, shows_resources: bool) -> String {
    let reason = super::images::NOT_ADMITTED.to_owned();
    let blocks = project(raw_name, value, &ImagesShown::None(reason), shows_resources);
    let texts: Vec<&str> = blocks.iter().filter_map(ContentBlock::as_text).collect();
    texts.join("\n")
}

/// The blocks of `value` as they are, each on its own; what is no block of a
/// known kind becomes a line of text.
pub(super) fn native(value: &Value) -> Vec<ContentBlock> {
    let block = |block: &Value| {
        native_block(block).or_else(|| {
            let image = is_image(block)
                .then(|| unavailable(block, "the MCP block is missing its data or media type"));
            image.or_else(|| line(block)).map(ContentBlock::text)
        })
    };
    content_of(value).iter().filter_map(block).collect()
}

pub(super) fn content_of(value: &Value) -> &[Value] {
    value
        .get("content")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Ends a text block, if there is one; one without a letter is none.
fn flush(lines: &mut Vec<String>, blocks: &mut Vec<ContentBlock>) {
    let text = lines.join("\n");
    lines.clear();
    if !text.is_empty() {
        blocks.push(ContentBlock::text(text));
    }
}

/// Structured content alone is told as JSON: a model must not think that there
/// was nothing.
fn nothing_to_see(raw_name: &str, value: &Value) -> String {
    match value.get("structuredContent") {
        Some(structured) => structured.to_string(),
        None => format!("({raw_name} returned no model-visible content)"),
    }
}

/// What a model reads of a block that is no image; nothing of a text block
/// without a text.
fn line(block: &Value) -> Option<String> {
    let Value::Object(_) = block else {
        return Some("[unsupported MCP content block: expected an object]".to_owned());
    };
    let text = |name: &str| block.get(name).and_then(Value::as_str);
    Some(match text("type") {
        Some("text") => return text("text").map(str::to_owned),
        Some("audio") => format!(
            "[audio result unsupported: {}; raw audio data remains available to programmatic callers]",
            media_type(block)
        ),
        Some("resource") => "[embedded resource unsupported; raw resource data remains available \
                             to programmatic callers]"
            .to_owned(),
        Some("resource_link") => match (text("name"), text("uri")) {
            (Some(name), Some(uri)) => format!("Resource link: {name} ({uri})"),
            _ => "[resource link unavailable: the MCP block is missing its name or URI]".to_owned(),
        },
        kind => {
            let kind = printable(kind.unwrap_or("unknown"), LABEL);
            format!("[unsupported MCP content type: {kind}]")
        }
    })
}

/// The text of a resource that stands in an answer.
fn embedded_text(block: &Value) -> Option<&str> {
    let is_resource = block.get("type")? == "resource";
    block
        .get("resource")?
        .get("text")?
        .as_str()
        .filter(|_| is_resource)
}

fn unavailable(block: &Value, reason: &str) -> String {
    format!(
        "[image unavailable: {}; {reason}; raw image data remains available to programmatic callers]",
        media_type(block)
    )
}

fn media_type(block: &Value) -> String {
    let declared = block.get("mimeType").and_then(Value::as_str);
    printable(declared.unwrap_or("unknown media type"), LABEL)
}

fn native_block(block: &Value) -> Option<ContentBlock> {
    let text = |name: &str| block.get(name)?.as_str().map(str::to_owned);
    Some(match block.get("type")?.as_str()? {
        "text" => ContentBlock::text(text("text")?),
        "image" => ContentBlock::Image {
            data: text("data")?,
            mime_type: text("mimeType")?,
        },
        "audio" => ContentBlock::Audio {
            data: text("data")?,
            mime_type: text("mimeType")?,
        },
        "resource_link" => ContentBlock::ResourceLink {
            uri: text("uri")?,
            name: text("name")?,
            mime_type: text("mimeType"),
        },
        "resource" => {
            let resource = block.get("resource")?;
            let text = |name: &str| resource.get(name)?.as_str().map(str::to_owned);
            let contents = text("text").map(ResourceContents::Text);
            ContentBlock::Resource {
                resource: EmbeddedResource {
                    uri: text("uri")?,
                    mime_type: text("mimeType"),
                    contents: contents.or_else(|| text("blob").map(ResourceContents::Blob))?,
                },
            }
        }
        _ => return None,
    })
}
