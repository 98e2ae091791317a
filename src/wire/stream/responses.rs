//! Responses: `response.output_item.added`, deltas, `.done`, by
//! `output_index` or item id.

use super::{OpenCall, StreamAssembler, WireError};
use crate::wire::{
    Incomplete,
    raw::{Node, Object},
    read::responses::{Item, incomplete, item},
};

pub(super) fn push(stream: &mut StreamAssembler, event: &Object<'_>) -> Result<(), WireError> {
    match event.string("type")?.as_deref().unwrap_or_default() {
        "response.output_item.added" => {
            let place = place(event)?;
            add(stream, place, &event.need("item")?, false)?;
        }
        "response.output_item.done" => {
            let node = event.need("item")?;
            let place = place(event)?;
            match find(stream, event, Some(&node.object()?))? {
                Some(opened) => close(stream, opened, &node.object()?)?,
                None => add(stream, place, &node, true)?,
            }
        }
        "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
            let piece = event.need("delta")?.string()?;
            let opened = need(stream, event)?;
            stream.append(opened, &piece)?;
        }
        "response.function_call_arguments.done" => last(stream, event, "arguments")?,
        "response.custom_tool_call_input.done" => last(stream, event, "input")?,
        kind @ ("response.completed"
        | "response.incomplete"
        | "response.failed"
        | "response.cancelled") => {
            let response = event.need("response")?.object()?;
            let mut why = incomplete(&response)?;
            if kind != "response.completed" && why.is_none() {
                why = Some(Incomplete::Failed);
            }
            // Some servers tell the items here alone.
            if stream.last_place.is_none()
                && let Some(output) = response.present("output")?
            {
                for (place, node) in (0..).zip(output.elements()?) {
                    add(stream, Some(place), &node, true)?;
                }
            }
            stream.end(why);
        }
        "error" => stream.end(Some(Incomplete::Failed)),
        _ => {}
    }
    Ok(())
}

fn place(event: &Object<'_>) -> Result<Option<u64>, WireError> {
    event
        .present("output_index")?
        .map(|node| node.index())
        .transpose()
}

/// Keeps a new item. Items that are not ours are listed when they are done,
/// because only then all that they have is known to have come.
fn add(
    stream: &mut StreamAssembler,
    place: Option<u64>,
    node: &Node<'_>,
    done: bool,
) -> Result<(), WireError> {
    let object = node.object()?;
    // Without an index the items' order is their order of coming.
    let place = place.or_else(|| Some(stream.last_place.map_or(0, |last| last + 1)));
    stream.at_place(place);
    match item(&object)? {
        Item::Ours(mut start) => {
            // Until it is done, its status says no more than that.
            start.cut &= done;
            let item = object.string("id")?.map(std::borrow::Cow::into_owned);
            let call = OpenCall {
                place,
                item,
                start,
                closed: done,
                closes: true,
                ..OpenCall::default()
            };
            stream.open(call)?;
        }
        Item::Provider(apart) if done => stream.apart(apart, true)?,
        Item::Unsupported(apart) if done => stream.apart(apart, false)?,
        _ => {}
    }
    Ok(())
}

/// The item as it is at its end: its text is the whole one, unless it is
/// left out here.
fn close(
    stream: &mut StreamAssembler,
    opened: usize,
    object: &Object<'_>,
) -> Result<(), WireError> {
    let Item::Ours(done) = item(object)? else {
        return Ok(());
    };
    if let Some(text) = done.arguments.as_text() {
        set_last(stream, opened, text)?;
    }
    let call = &mut stream.calls[opened];
    call.closed = true;
    call.start.cut |= done.cut;
    Ok(())
}

fn last(stream: &mut StreamAssembler, event: &Object<'_>, name: &str) -> Result<(), WireError> {
    let opened = need(stream, event)?;
    match event.string(name)? {
        Some(text) => set_last(stream, opened, &text),
        None => Ok(()),
    }
}

/// Keeps a whole text that was said once more, unless it is empty where
/// pieces came, or the same as they are.
fn set_last(stream: &mut StreamAssembler, opened: usize, text: &str) -> Result<(), WireError> {
    stream.touched = Some(opened);
    let call = &mut stream.calls[opened];
    if text.is_empty() || call.last.as_deref() == Some(text) {
        return Ok(());
    }
    if call.joined.as_deref() == Some(text) {
        // The pieces are the whole text: kept once.
        call.last = call.joined.take();
        return Ok(());
    }
    stream.spend(text.len())?;
    stream.calls[opened].last = Some(text.to_owned());
    Ok(())
}

fn find(
    stream: &StreamAssembler,
    event: &Object<'_>,
    item: Option<&Object<'_>>,
) -> Result<Option<usize>, WireError> {
    if let Some(place) = place(event)? {
        return Ok(stream
            .calls
            .iter()
            .rposition(|call| call.place == Some(place)));
    }
    let id = match item {
        Some(item) => item.string("id")?,
        None => event.string("item_id")?,
    };
    let Some(id) = id else { return Ok(None) };
    Ok(stream
        .calls
        .iter()
        .rposition(|call| call.item.as_deref() == Some(&*id)))
}

/// The call that a piece belongs to. A piece of nothing is a lost call.
fn need(stream: &StreamAssembler, event: &Object<'_>) -> Result<usize, WireError> {
    find(stream, event, None)?.ok_or_else(|| WireError::Shape {
        pointer: "/output_index".to_owned(),
        expected: "the index or id of an item that was added before",
        found: "one of none",
    })
}
