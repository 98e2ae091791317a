//! What one line holds.

use std::borrow::Cow;

use rmcp::model::{ErrorCode, ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::RxJsonRpcMessage;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use toolfall_layers::printable;

use super::LineRole;
use super::scan::Scan;

/// So much of a strange line is shown, in characters.
const SHOWN: usize = 200;

pub(super) enum Decoded<R: LineRole> {
    Message(RxJsonRpcMessage<R>),
    /// No message, or one that asks for nothing.
    Garbage(String),
    /// An answer to this request that cannot be read.
    Answered(RequestId, String),
    /// A request that cannot be read.
    Asked(Option<RequestId>, ErrorCode, String),
}

/// The members of a message, unread.
#[derive(Deserialize)]
pub(super) struct Envelope<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) method: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// A member that is there, `null` or not.
pub(super) fn present<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

/// Reads a line; nothing if it is empty.
pub(super) fn line<R: LineRole>(sent: &mut R::Sent, line: &[u8]) -> Option<Decoded<R>> {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    let line = line.trim_ascii();
    if line.is_empty() {
        return None;
    }
    Some(match serde_json::from_slice::<Envelope<'_>>(line) {
        Ok(envelope) => message(sent, line, &envelope),
        Err(error) => unread(&Scan::of(line), || {
            format!(
                "expected a JSON-RPC message, found {} ({error})",
                shown(line)
            )
        }),
    })
}

/// The beginning of a line, for people.
fn shown(line: &[u8]) -> String {
    let begin = String::from_utf8_lossy(&line[..line.len().min(4 * SHOWN)]);
    printable(&begin, SHOWN)
}

pub(super) fn too_long<R: LineRole>(scan: &Scan, longest: usize) -> Decoded<R> {
    unread(scan, || {
        format!("expected a message of at most {longest} bytes, found a longer one")
    })
}

fn unread<R: LineRole>(scan: &Scan, what: impl FnOnce() -> String) -> Decoded<R> {
    match scan.id() {
        Some(id) if scan.answer && !scan.method => Decoded::Answered(id, what()),
        id @ Some(_) if scan.method && !scan.answer => {
            Decoded::Asked(id, ErrorCode::PARSE_ERROR, what())
        }
        _ => Decoded::Garbage(what()),
    }
}

fn message<R: LineRole>(sent: &mut R::Sent, line: &[u8], envelope: &Envelope<'_>) -> Decoded<R> {
    let id = envelope.id.map(|id| {
        serde_json::from_str::<RequestId>(id.get()).map_err(|_| {
            let found = printable(id.get(), SHOWN);
            format!("expected an id that is an integer or a string, found {found}")
        })
    });
    let version = envelope.jsonrpc.as_deref();
    let invalid = match (version, &envelope.method, envelope.result, envelope.error) {
        (Some("2.0"), Some(_), None, None)
        | (Some("2.0"), None, Some(_), None)
        | (Some("2.0"), None, None, Some(_)) => None,
        (Some("2.0"), ..) => Some("expected one of method, result and error".to_owned()),
        _ => Some("expected \"jsonrpc\": \"2.0\"".to_owned()),
    };
    if let Some(what) = invalid {
        return match (id, &envelope.method) {
            (Some(id), Some(_)) => Decoded::Asked(id.ok(), ErrorCode::INVALID_REQUEST, what),
            (Some(Ok(id)), None) => Decoded::Answered(id, what),
            _ => Decoded::Garbage(format!("{what}, found {}", shown(line))),
        };
    }
    if let Some(method) = &envelope.method {
        return match id {
            Some(Ok(id)) => request(line, method, envelope.params, id),
            Some(Err(what)) => Decoded::Asked(None, ErrorCode::INVALID_REQUEST, what),
            None => notification(line, method),
        };
    }
    let Some(Ok(id)) = id else {
        return without_id(envelope.error);
    };
    if let Some(error) = envelope.error {
        return match serde_json::from_str::<ErrorData>(error.get()) {
            Ok(error) => Decoded::Message(JsonRpcMessage::error(error, Some(id))),
            Err(error) => Decoded::Answered(id, format!("the error cannot be read: {error}")),
        };
    }
    // One of the two is there, as was seen above.
    let text = envelope.result.map_or("null", RawValue::get);
    match R::result(sent, &id, text) {
        Ok(result) => Decoded::Message(JsonRpcMessage::response(result, id)),
        Err(error) => Decoded::Answered(id, format!("the result cannot be read: {error}")),
    }
}

fn request<R: LineRole>(
    line: &[u8],
    method: &str,
    params: Option<&RawValue>,
    id: RequestId,
) -> Decoded<R> {
    match R::request(method, line, params) {
        Ok(request) => Decoded::Message(JsonRpcMessage::request(request, id)),
        Err(error) => {
            let method = printable(method, SHOWN);
            let what = format!("the request {method} cannot be read: {error}");
            Decoded::Asked(Some(id), ErrorCode::INVALID_PARAMS, what)
        }
    }
}

fn notification<R: LineRole>(line: &[u8], method: &str) -> Decoded<R> {
    match serde_json::from_slice::<R::PeerNot>(line) {
        Ok(notification) => Decoded::Message(JsonRpcMessage::notification(notification)),
        Err(error) => {
            let method = printable(method, SHOWN);
            Decoded::Garbage(format!("the notification {method} cannot be read: {error}"))
        }
    }
}

/// An answer to nobody. A peer that could not read a request may send an
/// error in this way; before anything else was sent, it is clear to which.
fn without_id<R: LineRole>(error: Option<&RawValue>) -> Decoded<R> {
    match error.map(|error| serde_json::from_str::<ErrorData>(error.get())) {
        Some(Ok(error)) => Decoded::Message(JsonRpcMessage::error(error, None)),
        _ => Decoded::Garbage("an answer to no request".to_owned()),
    }
}
