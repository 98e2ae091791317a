//! A whole reply, read into a batch.

mod chat;
pub(super) mod messages;
pub(super) mod responses;

use serde_json::{Map, Value};

use super::{
    Dialect, RawArguments, WireBatch, WireError,
    arguments::echo,
    raw::{Node, Object},
};

pub(super) use self::chat::{function_part, is_ours as chat_is_ours};

/// Reads the calls of one reply.
///
/// `text` is the response's whole body, or its assistant message alone, or
/// the list of its output items or content blocks. Only a body can say that
/// the reply was cut off. Of several choices the first is read. Without a
/// `dialect` the text has to show its own; one that holds plain text and no
/// call may not.
///
/// # Errors
///
/// When the frame around the calls is not what the dialect says, with a
/// pointer to where; when the body is the provider's error. Odd ids, names
/// and arguments are no errors: they are passed on as sent.
pub fn read_reply(dialect: Option<Dialect>, text: &str) -> Result<WireBatch, WireError> {
    let node = Node::root(text)?;
    if !node.is_array() {
        refuse_error(&node.object()?)?;
    }
    let dialect = dialect
        .or_else(|| Dialect::detect_node(&node))
        .ok_or(WireError::UnknownDialect)?;
    let mut batch = WireBatch::new(dialect);
    match dialect {
        Dialect::ChatCompletions => chat::read(&node, &mut batch)?,
        Dialect::Responses => responses::read(&node, &mut batch)?,
        Dialect::Messages => messages::read(&node, &mut batch)?,
    }
    Ok(batch)
}

/// Turns a provider's error body into an error.
pub(super) fn refuse_error(object: &Object<'_>) -> Result<(), WireError> {
    let Some(error) = object.present("error")? else {
        return Ok(());
    };
    let message = match error.object() {
        Ok(fields) => match fields.string("message")? {
            Some(message) => echo(&message),
            None => echo(error.text()),
        },
        Err(_) => echo(error.text()),
    };
    Err(WireError::Provider {
        pointer: error.pointer().to_owned(),
        message,
    })
}

/// Text inside a string, or the exact text of any other value that some
/// servers send in its place.
pub(super) fn text_arguments(node: Option<Node<'_>>) -> Result<RawArguments, WireError> {
    Ok(match node {
        None => RawArguments::Absent,
        Some(node) if node.is_string() => RawArguments::Text(node.string()?.into_owned()),
        Some(node) => RawArguments::Text(node.text().to_owned()),
    })
}

/// The members that the provider wants back with the call.
pub(super) fn extras(object: &Object<'_>) -> Result<Map<String, Value>, WireError> {
    let mut kept = Map::new();
    for name in ["caller", "namespace", "extra_content"] {
        if let Some(node) = object.present(name)? {
            let value = serde_json::from_str(node.text())
                .map_err(|_| node.mismatch("a value that can be sent again"))?;
            kept.insert(name.to_owned(), value);
        }
    }
    Ok(kept)
}
