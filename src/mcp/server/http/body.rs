//! What the body of a request holds, as far as it matters before the protocol
//! reads it.

use std::borrow::Cow;

use rmcp::model::RequestId;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::mcp::lines::{RawArguments, raw_arguments};

/// What there is in a body.
pub(super) enum Checked {
    /// Several messages: no protocol version that counts has them.
    Batch,
    /// A request, other than a call.
    Request {
        id: Option<RequestId>,
        initializes: bool,
    },
    /// A call: its arguments as they were written, and the rest with none in
    /// their place, so that nothing is lost where the rest is read.
    Call {
        id: Option<RequestId>,
        arguments: Option<RawArguments>,
        rest: Vec<u8>,
    },
    /// Something else, or nothing that can be read: for the protocol to judge.
    Other,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

/// Looks at `body`. With `keeps`, arguments that can be read stay where they
/// are, for the protocol to compare with headers.
pub(super) fn check(body: &[u8], keeps: bool) -> Checked {
    let start = body.trim_ascii_start();
    if start.first() == Some(&b'[') {
        return Checked::Batch;
    }
    let Ok(message) = serde_json::from_slice::<Message<'_>>(body) else {
        return Checked::Other;
    };
    let id = message
        .id
        .and_then(|id| serde_json::from_str(id.get()).ok());
    if message.method != "tools/call" {
        return Checked::Request {
            id,
            initializes: message.method == "initialize",
        };
    }
    let params = message.params.map(RawValue::get).unwrap_or_default();
    let written = serde_json::from_str::<Params<'_>>(params)
        .ok()
        .and_then(|params| params.arguments);
    let (arguments, rest) = match written {
        Some(written) if keeps && is_plain(written.get()) => (raw_arguments(body), body.to_vec()),
        Some(written) => (raw_arguments(body), without(body, written.get())),
        None => (None, body.to_vec()),
    };
    Checked::Call {
        id,
        arguments,
        rest,
    }
}

/// Whether the protocol can read arguments, however much it loses.
fn is_plain(arguments: &str) -> bool {
    serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(arguments).is_ok()
}

/// `body` with `{}` in the place of `part`, which is a part of it.
fn without(body: &[u8], part: &str) -> Vec<u8> {
    let Some(at) = (part.as_ptr() as usize).checked_sub(body.as_ptr() as usize) else {
        return body.to_vec();
    };
    let (Some(before), Some(after)) = (body.get(..at), body.get(at + part.len()..)) else {
        return body.to_vec();
    };
    [before, b"{}", after].concat()
}
