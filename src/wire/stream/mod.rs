//! A streamed reply, put together from its pieces.

mod chat;
mod messages;
mod open;
mod responses;
mod sse;

use super::{ApartCall, Dialect, Incomplete, WireBatch, WireError, raw::Node, read::refuse_error};

use self::open::OpenCall;
pub use self::sse::SseDecoder;

/// How many bytes of calls a stream may hold unless told otherwise: 16 MiB.
pub const DEFAULT_STREAM_LIMIT: usize = 16 << 20;

/// What one call costs of the bound beside its text, so that calls without
/// any text are bounded too.
const CALL_COST: usize = 64;

/// Puts one streamed reply together.
///
/// Pieces of a call's text are joined in the order they come; pieces of
/// several calls may take turns. What is kept is bounded.
///
/// ```
/// use toolfall::wire::{Dialect, StreamAssembler};
///
/// let mut stream = StreamAssembler::new(Dialect::ChatCompletions);
/// for event in [
///     r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":""}}]}}]}"#,
///     r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"pa"}}]}}]}"#,
///     r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"th\":1}"}}]}}]}"#,
///     r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
///     "[DONE]",
/// ] {
///     stream.push(event)?;
/// }
/// let batch = stream.finish();
/// assert_eq!(batch.calls[0].arguments.as_text(), Some(r#"{"path":1}"#));
/// assert!(batch.may_run(0));
/// # Ok::<(), toolfall::wire::WireError>(())
/// ```
#[derive(Debug)]
pub struct StreamAssembler {
    dialect: Dialect,
    limit: usize,
    used: usize,
    calls: Vec<OpenCall>,
    provider_ran: Vec<ApartCall>,
    unsupported: Vec<ApartCall>,
    /// The highest place of any block or item so far.
    last_place: Option<u64>,
    /// The call that the last piece went to.
    touched: Option<usize>,
    incomplete: Option<Incomplete>,
    ended: bool,
    broken: bool,
}

impl StreamAssembler {
    /// An assembler that keeps at most [`DEFAULT_STREAM_LIMIT`] bytes.
    pub const fn new(dialect: Dialect) -> Self {
        Self::with_limit(dialect, DEFAULT_STREAM_LIMIT)
    }

    /// An assembler that keeps at most `limit` bytes of ids, names and texts,
    /// and some 64 for each call.
    pub const fn with_limit(dialect: Dialect, limit: usize) -> Self {
        Self {
            dialect,
            limit,
            used: 0,
            calls: Vec::new(),
            provider_ran: Vec::new(),
            unsupported: Vec::new(),
            last_place: None,
            touched: None,
            incomplete: None,
            ended: false,
            broken: false,
        }
    }

    /// The dialect that events are read in.
    pub const fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Takes one event: the text after `data:`, without the line's end.
    /// Events that say nothing of calls, and `[DONE]`, are passed over.
    ///
    /// # Errors
    ///
    /// When the event is not what the dialect says, when the provider reports
    /// an error, or past the bound. A piece is then lost, so every later event
    /// is refused, and the batch is marked as failed.
    pub fn push(&mut self, payload: &str) -> Result<(), WireError> {
        if self.broken {
            return Err(WireError::Broken);
        }
        let payload = payload.trim_ascii();
        if payload.is_empty() || payload == "[DONE]" {
            return Ok(());
        }
        let taken = self.take(payload);
        self.broken = taken.is_err();
        taken
    }

    fn take(&mut self, payload: &str) -> Result<(), WireError> {
        let event = Node::root(payload)?.object()?;
        refuse_error(&event)?;
        match self.dialect {
            Dialect::ChatCompletions => chat::push(self, &event),
            Dialect::Responses => responses::push(self, &event),
            Dialect::Messages => messages::push(self, &event),
        }
    }

    /// The batch, once the stream has ended, in whatever way. A stream that
    /// did not say its end gives an incomplete batch.
    pub fn finish(self) -> WireBatch {
        let incomplete = if self.broken {
            Some(Incomplete::Failed)
        } else if self.ended {
            self.incomplete
        } else {
            self.incomplete.or(Some(Incomplete::Unfinished))
        };
        self.into_batch(incomplete)
    }

    /// The batch of a stream that the host stopped reading: a call that is
    /// only half written is dropped whole, and none of the others may run.
    pub fn cancel(self) -> WireBatch {
        let mut batch = self.into_batch(Some(Incomplete::Cancelled));
        batch.calls.retain(|call| !call.cut);
        batch
    }

    fn into_batch(self, incomplete: Option<Incomplete>) -> WireBatch {
        let mut batch = WireBatch::new(self.dialect);
        let (last_place, touched) = (self.last_place, self.touched);
        let mut calls: Vec<_> = self.calls.into_iter().enumerate().collect();
        calls.sort_by_key(|(_, call)| call.place);
        let whole_reply = incomplete.is_none();
        let ended = self.ended;
        batch.calls = calls
            .into_iter()
            .map(|(opened, call)| {
                let last = call.place == last_place || (!call.closes && Some(opened) == touched);
                call.into_call(whole_reply, ended, last)
            })
            .collect();
        batch.incomplete = incomplete;
        batch.provider_ran = self.provider_ran;
        batch.unsupported = self.unsupported;
        batch
    }

    /// Notes how the stream ended.
    fn end(&mut self, incomplete: Option<Incomplete>) {
        self.ended = true;
        self.incomplete = self.incomplete.or(incomplete);
    }

    fn at_place(&mut self, place: Option<u64>) {
        self.last_place = self.last_place.max(place);
    }

    /// Counts what is about to be kept.
    fn spend(&mut self, bytes: usize) -> Result<(), WireError> {
        self.used = self.used.saturating_add(bytes);
        if self.used > self.limit {
            return Err(WireError::TooLarge { limit: self.limit });
        }
        Ok(())
    }

    fn open(&mut self, call: OpenCall) -> Result<usize, WireError> {
        self.spend(CALL_COST + call.size())?;
        self.at_place(call.place);
        self.calls.push(call);
        let opened = self.calls.len() - 1;
        self.touched = Some(opened);
        Ok(opened)
    }

    fn append(&mut self, opened: usize, piece: &str) -> Result<(), WireError> {
        self.spend(piece.len())?;
        self.calls[opened].append(piece);
        self.touched = Some(opened);
        Ok(())
    }

    fn apart(&mut self, call: ApartCall, provider: bool) -> Result<(), WireError> {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        self.spend(CALL_COST + call.kind.len() + text(&call.id) + text(&call.name))?;
        if provider {
            self.provider_ran.push(call);
        } else {
            self.unsupported.push(call);
        }
        Ok(())
    }
}
