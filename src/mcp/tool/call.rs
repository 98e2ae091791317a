//! One call of a server's tool, as the connection sees it.

use std::fmt;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

/// What is sent to a server, and how long an answer is waited for.
///
/// ```
/// use std::time::Duration;
/// use tokio_util::sync::CancellationToken;
/// use toolfall::mcp::tool::{RawCall, RawProgress};
///
/// let call = RawCall {
///     name: "admin.reset".to_owned(),
///     arguments: serde_json::Map::new(),
///     timeout: Duration::from_secs(60),
///     cancellation: CancellationToken::new(),
///     progress: Box::new(|step: RawProgress| assert_eq!(step.progress, 0.5)),
/// };
/// (call.progress)(RawProgress { progress: 0.5, total: None, message: None });
/// ```
pub struct RawCall {
    /// The tool's name as the server gave it.
    pub name: String,
    /// The arguments: always an object.
    pub arguments: Map<String, Value>,
    /// How long an answer is waited for.
    pub timeout: Duration,
    /// Cancelled when nobody wants the answer any more.
    pub cancellation: CancellationToken,
    /// Told of every step that the server reports. Must not block.
    pub progress: Box<dyn Fn(RawProgress) + Send + Sync>,
}

impl fmt::Debug for RawCall {
    /// Without the arguments, which may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawCall")
            .field("name", &self.name)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// One step that a server reports of a call under way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawProgress {
    /// How much is done, in a unit of the server's own.
    pub progress: f64,
    /// How much there is, if the server knows.
    pub total: Option<f64>,
    /// One line for people.
    pub message: Option<String>,
}

/// Carries calls to a server and their answers back.
///
/// ```
/// use futures_util::future::BoxFuture;
/// use serde_json::{Value, json};
/// use toolfall::mcp::tool::{CallFailure, Caller, RawCall};
///
/// struct Echo;
///
/// impl Caller for Echo {
///     fn call(&self, call: RawCall) -> BoxFuture<'static, Result<Value, CallFailure>> {
///         let text = Value::Object(call.arguments).to_string();
///         Box::pin(async move { Ok(json!({"content": [{"type": "text", "text": text}]})) })
///     }
/// }
/// # let _ = Echo;
/// ```
pub trait Caller: Send + Sync + 'static {
    /// Sends `call` and waits for the answer: the object of a
    /// `CallToolResult`, as the server wrote it.
    ///
    /// # Errors
    ///
    /// [`CallFailure`] where there is no such object.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives the call up and tells the server so. The
    /// server may have done the work all the same.
    fn call(&self, call: RawCall) -> BoxFuture<'static, Result<Value, CallFailure>>;
}

impl<C: Caller + ?Sized> Caller for std::sync::Arc<C> {
    fn call(&self, call: RawCall) -> BoxFuture<'static, Result<Value, CallFailure>> {
        (**self).call(call)
    }
}

/// Why a call has no answer of the tool's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallFailure {
    /// The call was cancelled; the server has been told.
    #[error("tool call aborted")]
    Aborted,
    /// No answer came in this time; the server has been told.
    #[error("expected an answer of the MCP server within {} ms, found none", .0.as_millis())]
    TimedOut(Duration),
    /// The connection was lost under the call; the text says how. The work
    /// may have been done.
    #[error("the connection to the MCP server closed: {0}")]
    Closed(String),
    /// The server refused with a JSON-RPC error. Its data is left out: it may
    /// hold internals of the server.
    #[error("MCP error {code}: {message}")]
    Protocol {
        /// The code of JSON-RPC.
        code: i64,
        /// The server's words.
        message: String,
    },
    /// An answer came that is none; the text says what was expected and found.
    #[error("the MCP server's answer is unusable: {0}")]
    Malformed(String),
    /// There is no connection, so nothing was sent.
    #[error("the MCP server is not connected")]
    NotConnected,
}
