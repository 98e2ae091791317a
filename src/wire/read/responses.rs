//! Responses: `output[]`, one item a call.

use super::{Node, Object, WireBatch, WireError, extras, text_arguments};
use crate::wire::{ApartCall, CallKind, Incomplete, WireCall};

pub(super) fn read(node: &Node<'_>, batch: &mut WireBatch) -> Result<(), WireError> {
    let items = if node.is_array() {
        node.elements()?
    } else {
        let body = node.object()?;
        if body.has("output") {
            batch.incomplete = incomplete(&body)?;
            body.need("output")?.elements()?
        } else if body.has("type") {
            vec![node.clone()]
        } else {
            return Err(node.mismatch("an object with \"output\", or an output item"));
        }
    };
    let last = items.len().saturating_sub(1);
    for (place, node) in items.iter().enumerate() {
        match item(&node.object()?)? {
            Item::Ours(mut call) => {
                call.cut |= batch.incomplete.is_some() && place == last;
                batch.calls.push(call);
            }
            Item::Provider(apart) => batch.provider_ran.push(apart),
            Item::Unsupported(apart) => batch.unsupported.push(apart),
            Item::Other => {}
        }
    }
    Ok(())
}

/// Why the response is not whole, by its status.
pub(in crate::wire) fn incomplete(body: &Object<'_>) -> Result<Option<Incomplete>, WireError> {
    let Some(status) = body.string("status")? else {
        return Ok(None);
    };
    if status == "incomplete"
        && let Some(details) = body.present("incomplete_details")?
        && let Some(reason) = details.object()?.string("reason")?
    {
        return Ok(Incomplete::of_reason(&reason).or(Some(Incomplete::Unfinished)));
    }
    Ok(Incomplete::of_reason(&status))
}

/// What one output item is to the host.
pub(in crate::wire) enum Item {
    Ours(WireCall),
    Provider(ApartCall),
    Unsupported(ApartCall),
    Other,
}

pub(in crate::wire) fn item(object: &Object<'_>) -> Result<Item, WireError> {
    let kind = object.string("type")?.unwrap_or_default();
    let id =
        |name: &str| Ok::<_, WireError>(object.string(name)?.map(std::borrow::Cow::into_owned));
    let (call_kind, text) = match &*kind {
        "function_call" => (CallKind::Function, "arguments"),
        "custom_tool_call" => (CallKind::Custom, "input"),
        other => {
            let host = match other {
                "computer_call"
                | "local_shell_call"
                | "shell_call"
                | "apply_patch_call"
                | "mcp_approval_request" => true,
                "tool_search_call" => {
                    matches!(object.string("execution")?.as_deref(), Some("client"))
                }
                other if other.ends_with("_call") => false,
                _ => return Ok(Item::Other),
            };
            let id = id("call_id")?.or(id("id")?);
            let apart = ApartCall {
                kind: other.to_owned(),
                id,
                name: self::name(object)?,
            };
            return Ok(if host {
                Item::Unsupported(apart)
            } else {
                Item::Provider(apart)
            });
        }
    };
    Ok(Item::Ours(WireCall {
        id: id("call_id")?,
        name: name(object)?.unwrap_or_default(),
        arguments: text_arguments(object.get(text)?)?,
        kind: call_kind,
        cut: matches!(object.string("status")?.as_deref(), Some("incomplete")),
        extras: extras(object)?,
    }))
}

fn name(object: &Object<'_>) -> Result<Option<String>, WireError> {
    Ok(object.string("name")?.map(std::borrow::Cow::into_owned))
}
