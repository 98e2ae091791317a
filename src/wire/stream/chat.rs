//! Chat Completions: `choices[0].delta.tool_calls[]`, by `index`.

use super::{OpenCall, StreamAssembler, WireError};
use crate::wire::{
    ApartCall, Incomplete, WireCall,
    raw::Object,
    read::{chat_is_ours, extras, function_part},
};

pub(super) fn push(stream: &mut StreamAssembler, event: &Object<'_>) -> Result<(), WireError> {
    let Some(choices) = event.present("choices")? else {
        return Ok(());
    };
    for node in choices.elements()? {
        let choice = node.object()?;
        // Of several choices the first is read, as in a whole reply.
        if let Some(index) = choice.present("index")?
            && index.index()? != 0
        {
            continue;
        }
        if let Some(delta) = choice.present("delta")? {
            let delta = delta.object()?;
            if let Some(old) = delta.present("function_call")? {
                return Err(
                    old.mismatch("\"tool_calls\" in the place of the old \"function_call\"")
                );
            }
            if let Some(pieces) = delta.present("tool_calls")? {
                for node in pieces.elements()? {
                    piece(stream, &node.object()?)?;
                }
            }
        }
        if let Some(reason) = choice.string("finish_reason")?
            && !reason.is_empty()
        {
            stream.end(Incomplete::of_reason(&reason));
        }
    }
    Ok(())
}

fn piece(stream: &mut StreamAssembler, object: &Object<'_>) -> Result<(), WireError> {
    let place = object
        .present("index")?
        .map(|node| node.index())
        .transpose()?;
    let id = object.string("id")?.map(std::borrow::Cow::into_owned);
    if !chat_is_ours(object)? {
        let kind = object.string("type")?.unwrap_or_default().into_owned();
        return stream.apart(
            ApartCall {
                kind,
                id,
                name: None,
            },
            false,
        );
    }
    let (kind, name, arguments) = function_part(object)?;
    let name = name.unwrap_or_default();
    let open = stream.calls.iter().rposition(|call| call.place == place);
    let opened = match open {
        Some(opened) if continues(&stream.calls[opened], id.as_deref(), &name) => {
            let call = &mut stream.calls[opened].start;
            let mut gained = 0;
            if call.id.as_deref().unwrap_or_default().is_empty() && id.is_some() {
                gained += id.as_ref().map_or(0, String::len);
                call.id = id;
            }
            if call.name.is_empty() {
                gained += name.len();
                call.name = name;
            }
            stream.spend(gained)?;
            opened
        }
        _ => {
            let start = WireCall {
                id,
                name,
                kind,
                extras: extras(object)?,
                ..WireCall::default()
            };
            stream.open(OpenCall {
                place,
                start,
                ..OpenCall::default()
            })?
        }
    };
    match arguments.as_text() {
        Some(text) => stream.append(opened, text),
        None => Ok(()),
    }
}

/// Whether a piece belongs to `open`, the latest call at its index. Some
/// servers say id and name with every piece; others send every call at one
/// index, and joining those would make one call of many.
fn continues(open: &OpenCall, id: Option<&str>, name: &str) -> bool {
    let id = id.unwrap_or_default();
    let open_id = open.start.id.as_deref().unwrap_or_default();
    if !id.is_empty() && !open_id.is_empty() {
        return id == open_id;
    }
    if name.is_empty() || open.start.name.is_empty() {
        return true;
    }
    name == open.start.name && !open.is_object()
}
