//! Batches that are a provider's own replies.

use toolfall::wire::{CallKind, WireError, read_reply};

use super::{Apart, Batch, Call};

/// Reads a reply of any dialect.
pub(super) fn read(text: &str) -> Result<Batch, WireError> {
    let reply = read_reply(None, text)?;
    let cut = reply.calls.iter().any(|call| call.cut);
    let incomplete = match reply.incomplete {
        Some(why) => Some(why.to_string()),
        None => cut.then(|| "the reply broke off in a call".to_owned()),
    };
    let calls = reply.calls.into_iter().map(|call| Call {
        arguments: call.arguments.as_text().unwrap_or_default().to_owned(),
        id: call.id,
        name: call.name,
        free_text: call.kind == CallKind::Custom,
        recorded: None,
    });
    let apart = reply.provider_ran.into_iter().chain(reply.unsupported);
    let apart = apart.map(|call| Apart {
        kind: call.kind,
        id: call.id,
        name: call.name,
    });
    Ok(Batch {
        calls: calls.collect(),
        incomplete,
        apart: apart.collect(),
        ..Batch::default()
    })
}
