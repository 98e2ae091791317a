//! Messages: `content[]`, one block a call.

use super::{Node, Object, RawArguments, WireBatch, WireError, extras};
use crate::wire::{ApartCall, CallKind, Incomplete, WireCall};

pub(super) fn read(node: &Node<'_>, batch: &mut WireBatch) -> Result<(), WireError> {
    let blocks = if node.is_array() {
        node.elements()?
    } else {
        let body = node.object()?;
        if let Some(reason) = body.string("stop_reason")? {
            batch.incomplete = Incomplete::of_reason(&reason);
        }
        let content = body.need("content")?;
        // A message of plain text may have it as a string.
        if content.is_string() {
            return Ok(());
        }
        content.elements()?
    };
    let last = blocks.len().saturating_sub(1);
    for (place, node) in blocks.iter().enumerate() {
        match block(&node.object()?)? {
            Block::Ours(mut call) => {
                call.cut = batch.incomplete.is_some() && place == last;
                batch.calls.push(call);
            }
            Block::Provider(apart) => batch.provider_ran.push(apart),
            Block::Other => {}
        }
    }
    Ok(())
}

/// What one content block is to the host.
pub(in crate::wire) enum Block {
    Ours(WireCall),
    Provider(ApartCall),
    Other,
}

pub(in crate::wire) fn block(object: &Object<'_>) -> Result<Block, WireError> {
    let kind = object.string("type")?.unwrap_or_default();
    if !matches!(&*kind, "tool_use" | "server_tool_use" | "mcp_tool_use") {
        return Ok(Block::Other);
    }
    let id = object.string("id")?.map(std::borrow::Cow::into_owned);
    let name = object.string("name")?.map(std::borrow::Cow::into_owned);
    if kind != "tool_use" {
        return Ok(Block::Provider(ApartCall {
            kind: kind.into_owned(),
            id,
            name,
        }));
    }
    let arguments = match object.get("input")? {
        None => RawArguments::Absent,
        Some(input) => RawArguments::Text(input.text().to_owned()),
    };
    Ok(Block::Ours(WireCall {
        id,
        name: name.unwrap_or_default(),
        arguments,
        kind: CallKind::Function,
        cut: false,
        extras: extras(object)?,
    }))
}
