//! Chat Completions: `choices[0].message.tool_calls`.

use super::{Node, Object, RawArguments, WireBatch, WireError, extras, text_arguments};
use crate::wire::{ApartCall, CallKind, Incomplete, WireCall};

pub(super) fn read(node: &Node<'_>, batch: &mut WireBatch) -> Result<(), WireError> {
    let body = node.object()?;
    let message = if let Some(choices) = body.get("choices")? {
        let elements = choices.elements()?;
        let Some(first) = elements.first() else {
            return Err(WireError::Shape {
                pointer: choices.pointer().to_owned(),
                expected: "an array with a choice in it",
                found: "an empty array",
            });
        };
        let choice = first.object()?;
        if let Some(reason) = choice.string("finish_reason")? {
            batch.incomplete = Incomplete::of_reason(&reason);
        }
        choice.need("message")?.object()?
    } else {
        body
    };
    if let Some(old) = message.present("function_call")? {
        return Err(old.mismatch("\"tool_calls\" in the place of the old \"function_call\""));
    }
    if let Some(calls) = message.present("tool_calls")? {
        for node in calls.elements()? {
            call(&node.object()?, batch)?;
        }
    }
    // The calls end a message, so that the last one is where it broke off.
    if batch.incomplete.is_some()
        && let Some(last) = batch.calls.last_mut()
    {
        last.cut = true;
    }
    Ok(())
}

fn call(object: &Object<'_>, batch: &mut WireBatch) -> Result<(), WireError> {
    let id = object.string("id")?.map(std::borrow::Cow::into_owned);
    if !is_ours(object)? {
        let kind = object.string("type")?.unwrap_or_default().into_owned();
        batch.unsupported.push(ApartCall {
            kind,
            id,
            name: None,
        });
        return Ok(());
    }
    let (kind, name, arguments) = function_part(object)?;
    batch.calls.push(WireCall {
        id,
        name: name.unwrap_or_default(),
        arguments,
        kind,
        cut: false,
        extras: extras(object)?,
    });
    Ok(())
}

/// Whether a call, or a piece of one, is of a type that is handed over.
pub(in crate::wire) fn is_ours(object: &Object<'_>) -> Result<bool, WireError> {
    Ok(object
        .string("type")?
        .is_none_or(|kind| matches!(&*kind, "function" | "custom" | "")))
}

/// Kind, name and text of a call, or of a piece of one.
pub(in crate::wire) fn function_part(
    object: &Object<'_>,
) -> Result<(CallKind, Option<String>, RawArguments), WireError> {
    let (kind, part, text) = match (object.present("function")?, object.present("custom")?) {
        (None, Some(part)) => (CallKind::Custom, Some(part), "input"),
        (part, _) => (CallKind::Function, part, "arguments"),
    };
    let Some(part) = part else {
        return Ok((kind, None, RawArguments::Absent));
    };
    let part = part.object()?;
    let name = part.string("name")?.map(std::borrow::Cow::into_owned);
    Ok((kind, name, text_arguments(part.get(text)?)?))
}
