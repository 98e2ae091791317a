//! Messages: `content_block_start`, `_delta` and `_stop`, by `index`.

use super::{OpenCall, StreamAssembler, WireError};
use crate::wire::{
    Incomplete,
    raw::{Node, Object},
    read::messages::{Block, block},
};

pub(super) fn push(stream: &mut StreamAssembler, event: &Object<'_>) -> Result<(), WireError> {
    match event.string("type")?.as_deref().unwrap_or_default() {
        "content_block_start" => {
            let place = Some(event.need("index")?.index()?);
            stream.at_place(place);
            match block(&event.need("content_block")?.object()?)? {
                Block::Ours(start) => {
                    let call = OpenCall {
                        place,
                        start,
                        closes: true,
                        ..OpenCall::default()
                    };
                    stream.open(call)?;
                }
                Block::Provider(apart) => stream.apart(apart, true)?,
                Block::Other => {}
            }
        }
        "content_block_delta" => {
            let delta = event.need("delta")?.object()?;
            if delta.string("type")?.as_deref() == Some("input_json_delta")
                && let Some(opened) = opened(stream, &event.need("index")?)?
                && let Some(piece) = delta.string("partial_json")?
            {
                stream.append(opened, &piece)?;
            }
        }
        "content_block_stop" => {
            if let Some(opened) = opened(stream, &event.need("index")?)? {
                stream.calls[opened].closed = true;
            }
        }
        "message_delta" => {
            let delta = event.need("delta")?.object()?;
            if let Some(reason) = delta.string("stop_reason")? {
                stream.end(Incomplete::of_reason(&reason));
            }
        }
        "message_stop" => stream.end(None),
        _ => {}
    }
    Ok(())
}

/// The call at an index; none if the block there is not ours.
fn opened(stream: &StreamAssembler, index: &Node<'_>) -> Result<Option<usize>, WireError> {
    let place = Some(index.index()?);
    Ok(stream.calls.iter().rposition(|call| call.place == place))
}
