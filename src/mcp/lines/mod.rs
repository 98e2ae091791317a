//! Messages as lines over a pipe, of either role, read with care.
//!
//! A line that is too long, is no message or does not hold what it should is
//! reported, and where it names a request, that request is answered. None
//! ends the connection.

mod decode;
mod input;
mod output;
mod role;
mod scan;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{ErrorCode, JsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite};

use self::decode::Decoded;
use self::input::{Input, Read};
use self::output::{Frame, Output};
pub(crate) use self::role::LineRole;
#[cfg(feature = "mcp-client")]
pub(crate) use self::role::number;
#[cfg(feature = "mcp-server")]
pub(crate) use self::role::{RawArguments, raw_arguments};

/// So long a line may be, in bytes, unless it is said otherwise.
pub(crate) const LONGEST: usize = 64 << 20;
/// So many strange lines of one connection are reported; a peer that writes
/// nothing else floods no log.
const REPORTED: u32 = 100;

/// Hears of lines that are no messages, or none that can be used.
pub(crate) type Report = Arc<dyn Fn(String) + Send + Sync>;

/// A connection of lines.
///
/// Receiving is cancel safe. A message that was handed over is written whole
/// even if nobody waits for it; messages are written in the order of the
/// calls to [`send`](Transport::send).
pub(crate) struct Lines<R: LineRole> {
    input: Input,
    output: Output,
    sent: R::Sent,
    ready: VecDeque<RxJsonRpcMessage<R>>,
    /// An answer to a request that could not be read, until it is handed over.
    owed: Option<Vec<u8>>,
    report: Report,
    reported: u32,
}

impl<R: LineRole> Lines<R> {
    /// A connection with lines of up to `longest` bytes coming in.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub(crate) fn new<In, Out>(input: In, output: Out, longest: usize, report: Report) -> Self
    where
        In: AsyncRead + Send + 'static,
        Out: AsyncWrite + Send + 'static,
    {
        Self {
            input: Input::new(Box::pin(input), longest),
            output: Output::start(Box::pin(output)),
            sent: R::Sent::default(),
            ready: VecDeque::new(),
            owed: None,
            report,
            reported: 0,
        }
    }

    fn tell(&mut self, what: String) {
        if self.reported < REPORTED {
            self.reported += 1;
            tracing::warn!("an MCP peer's line is not used: {what}");
            (self.report)(what);
        }
    }

    /// Takes what one line holds.
    fn take(&mut self, decoded: Decoded<R>) {
        match decoded {
            Decoded::Message(message) => self.ready.push_back(message),
            Decoded::Garbage(what) => self.tell(what),
            Decoded::Answered(id, what) => {
                self.ready
                    .push_back(JsonRpcMessage::error(unreadable(&what), Some(id)));
                self.tell(what);
            }
            Decoded::Asked(id, code, what) => {
                let error = ErrorData::new(code, what.clone(), None);
                let answer = TxJsonRpcMessage::<R>::error(error, id);
                self.owed = output::line(&answer).ok();
                self.tell(what);
            }
        }
    }
}

/// The error that stands for an answer that could not be read.
fn unreadable(what: &str) -> ErrorData {
    ErrorData::new(
        ErrorCode::PARSE_ERROR,
        what.to_owned(),
        Some(serde_json::Value::from(UNREADABLE)),
    )
}

/// What such an error carries.
const UNREADABLE: &str = "toolfall: the answer could not be read";

/// Whether this side made the error, for an answer that it could not read.
#[cfg(feature = "mcp-client")]
pub(crate) fn is_unreadable(error: &ErrorData) -> bool {
    error.data.as_ref().and_then(serde_json::Value::as_str) == Some(UNREADABLE)
}

/// A message that did not come in a line, read as if it had.
#[cfg(feature = "mcp-client")]
pub(crate) enum Reread {
    /// The result of one of the requests expected, as it was written.
    Result(rmcp::model::RequestId, serde_json::Value),
    /// A text in place of an answer that cannot be read: an error for its
    /// request.
    Unreadable(String),
    /// Anything else.
    Other,
}

/// Reads `text`, which may answer one of the requests `expected`.
#[cfg(feature = "mcp-client")]
pub(crate) fn reread(
    expected: &mut std::collections::HashSet<rmcp::model::RequestId>,
    text: &[u8],
) -> Reread {
    use rmcp::RoleClient;
    use rmcp::model::ServerResult;

    match decode::line::<RoleClient>(expected, text) {
        Some(Decoded::Message(JsonRpcMessage::Response(response))) => match response.result {
            ServerResult::CustomResult(result) => Reread::Result(response.id, result.0),
            _ => Reread::Other,
        },
        Some(Decoded::Answered(id, what)) => {
            let error = RxJsonRpcMessage::<RoleClient>::error(unreadable(&what), Some(id));
            serde_json::to_string(&error).map_or(Reread::Other, Reread::Unreadable)
        }
        _ => Reread::Other,
    }
}

impl<R: LineRole> Transport<R> for Lines<R> {
    type Error = std::io::Error;

    fn name() -> Cow<'static, str> {
        "lines".into()
    }

    fn send(
        &mut self,
        item: TxJsonRpcMessage<R>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        R::sent(&mut self.sent, &item);
        self.output.hand_over(output::line(&item))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<R>> {
        loop {
            if self.owed.is_some() {
                let room = self.output.room().await?;
                if let Some(answer) = self.owed.take() {
                    room.send(Frame::unattended(answer));
                }
            }
            if let Some(message) = self.ready.pop_front() {
                return Some(message);
            }
            let read = tokio::select! {
                biased;
                read = self.input.line() => read,
                // Who does not read us any more need not be heard either.
                () = self.output.broken() => return None,
            };
            let decoded = match read {
                Read::Line(line) => decode::line::<R>(&mut self.sent, line),
                Read::TooLong(scan, longest) => Some(decode::too_long(&scan, longest)),
                Read::Failed(error) => Some(Decoded::Garbage(format!("reading failed: {error}"))),
                Read::End => return None,
            };
            if let Some(decoded) = decoded {
                self.take(decoded);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.output.close().await;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
