//! One record as one line.

use std::io::Write as _;

use serde_json::Value;

use super::bodies::ResultRecord;
use super::dispatch::DispatchRecord;
use super::error::LogError;
use super::fields::{MAX_DEPTH, shallow};
use super::record::{Body, MAX_NUMBER};

/// Room for `{"seq":…,"at":…,` with the two greatest numbers.
const ROOM: usize = 56;

/// How much longer a closing record may be than what it closes.
const MARGIN: usize = 1024;

/// A line that lacks only its place.
///
/// Everything but `seq` is written before the lock is taken; `seq` goes into
/// the room kept at the front, so the line is still one buffer.
pub(super) struct Draft {
    bytes: Vec<u8>,
    at: Option<u64>,
}

impl Draft {
    /// # Errors
    ///
    /// [`LogError::Unrecordable`] if the line could not be read back.
    pub(super) fn new(body: &Body, at: Option<u64>, max_line: usize) -> Result<Self, LogError> {
        let refuse = |expected: String, found: String| LogError::Unrecordable {
            kind: body.kind().to_owned(),
            expected,
            found,
        };
        check_numbers(body)
            .map_err(|found| refuse(format!("numbers up to {MAX_NUMBER}"), found))?;
        if !values(body).into_iter().flatten().all(shallow) || !other_is_shallow(body) {
            return Err(refuse(
                format!("values nested at most {MAX_DEPTH} deep"),
                "a deeper one".to_owned(),
            ));
        }
        let mut bytes = vec![b' '; ROOM];
        serde_json::to_writer(&mut bytes, body)
            .map_err(|error| refuse("what JSON can hold".to_owned(), error.to_string()))?;
        bytes.push(b'\n');
        let limit = match body {
            // These close what an earlier line of nearly the same length opened.
            Body::Result(ResultRecord {
                interrupted: true, ..
            })
            | Body::Dispatch(DispatchRecord {
                interrupted: true, ..
            })
            | Body::Decided(_) => max_line,
            _ => max_line.saturating_sub(MARGIN),
        };
        if bytes.len() > limit {
            let expected = format!("at most {} bytes", limit.saturating_sub(ROOM));
            return Err(refuse(expected, (bytes.len() - ROOM).to_string()));
        }
        let at = at.filter(|at| *at <= MAX_NUMBER);
        Ok(Self { bytes, at })
    }

    /// The whole line, at place `seq`.
    pub(super) fn line(&mut self, seq: u64) -> &[u8] {
        let mut head = Vec::with_capacity(ROOM);
        // Writing to a vector cannot fail.
        let _ = match self.at {
            Some(at) => write!(head, "{{\"seq\":{seq},\"at\":{at},"),
            None => write!(head, "{{\"seq\":{seq},"),
        };
        // The body begins with its own brace, which the head's replaces.
        let start = ROOM + 1 - head.len();
        self.bytes[start..=ROOM].copy_from_slice(&head);
        &self.bytes[start..]
    }
}

/// The numbers that name calls and places.
pub(super) fn check_numbers(body: &Body) -> Result<(), String> {
    let numbers = match body {
        Body::Call(call) => [Some(call.call), call.root, call.parent],
        Body::Started(started) => [Some(started.call), None, None],
        Body::Result(result) => [Some(result.call), None, None],
        Body::DispatchStart(start) => [Some(start.call), start.root, start.parent],
        Body::Dispatch(end) => [Some(end.call), None, None],
        Body::Asked(asked) => [asked.call, None, None],
        Body::Context(context) => [context.call, None, None],
        _ => [None; 3],
    };
    match numbers.into_iter().flatten().find(|n| *n > MAX_NUMBER) {
        Some(number) => Err(number.to_string()),
        None => Ok(()),
    }
}

/// The values of a body that may hold anything.
fn values(body: &Body) -> [Option<&Value>; 2] {
    match body {
        Body::Result(result) => [result.meta.as_ref(), None],
        Body::Context(context) => [context.source.as_ref(), context.metadata.as_ref()],
        _ => [None; 2],
    }
}

fn other_is_shallow(body: &Body) -> bool {
    match body {
        Body::Other(other) => other.fields.values().all(shallow),
        _ => true,
    }
}
