//! One connection to a server, from its first message to its last.

mod ask;
mod call;
mod handler;
mod list;
mod open;
mod owner;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::service::Peer;
use serde_json::Value;
use tokio_util::sync::{CancellationToken, DropGuard};

use self::list::Budget;
use super::connector::{ConnectError, Connector, Gone};
use super::http::Http;
use crate::mcp::tool::{CallFailure, RawCall};

/// Where a server is.
#[derive(Clone)]
pub(super) enum Endpoint {
    /// Behind lines of text: a child process, or anything else.
    Wire(Arc<dyn Connector>),
    /// Behind streamable HTTP.
    Http(Http),
}

/// What happens on a connection that no call asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SessionEvent {
    /// The server says that its tools are others.
    ToolsChanged,
    /// The server wrote something that is no message, or none that can be
    /// used; the text says what.
    Garbage(String),
}

/// How a connection is made.
#[derive(Clone)]
pub(super) struct SessionOptions {
    /// The server's name, in all that is traced.
    pub(super) server: String,
    /// How long the connection may take until the server has introduced
    /// itself.
    pub(super) connect_timeout: Duration,
    /// How long one listing of the tools may take, all pages together.
    pub(super) list_timeout: Duration,
    /// Whether to speak as before 2026 from the first message on.
    pub(super) legacy: bool,
    /// Whether progress of the server's gives a call its time again.
    pub(super) progress_prolongs: bool,
    /// Hears of events. Called where messages are read: it must neither
    /// block nor panic.
    pub(super) events: Arc<dyn Fn(SessionEvent) + Send + Sync>,
}

impl SessionOptions {
    pub(super) fn new(
        server: impl Into<String>,
        events: impl Fn(SessionEvent) + Send + Sync + 'static,
    ) -> Self {
        Self {
            server: server.into(),
            connect_timeout: Duration::from_secs(30),
            list_timeout: Duration::from_secs(60),
            legacy: false,
            progress_prolongs: false,
            events: Arc::new(events),
        }
    }
}

/// Why the tools of a server are not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(super) enum SessionError {
    #[error("the connection to the MCP server closed: {0}")]
    Closed(String),
    #[error("expected the list of tools within {} ms, found none", .0.as_millis())]
    TimedOut(Duration),
    #[error("MCP error {code}: {message}")]
    Protocol { code: i64, message: String },
    #[error("the MCP server's list of tools is unusable: {0}")]
    Malformed(String),
}

/// A connection that the server has answered on. Clones are the same one; it
/// ends when the last is dropped, if not before.
#[derive(Clone)]
pub(super) struct Session {
    inner: Arc<Inner>,
}

struct Inner {
    peer: Peer<RoleClient>,
    options: SessionOptions,
    runtime: tokio::runtime::Handle,
    /// Cancelled when the connection is lost, whether the peer is gone or not.
    lost: CancellationToken,
    /// Ready when the connection is lost and the peer gone.
    gone: Gone,
    /// Closes the connection.
    closing: CancellationToken,
    _last: DropGuard,
}

impl Session {
    /// Makes a connection and waits until the server has introduced itself.
    /// Takes as long as the options allow, and no longer.
    ///
    /// Cancel safe: dropped, the connection is closed in the background.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub(super) async fn open(
        endpoint: &Endpoint,
        options: &SessionOptions,
    ) -> Result<Self, ConnectError> {
        open::open(endpoint, options).await
    }

    /// The definitions of all tools, as the server wrote them, each an object
    /// or not. All pages are read, up to a bound.
    ///
    /// Cancel safe: dropped, the server is told.
    pub(super) async fn list_tools(&self) -> Result<Vec<Value>, SessionError> {
        list::list(&self.inner, Budget::default()).await
    }

    /// Sends a call and waits for the answer: an object, as the server wrote
    /// it.
    ///
    /// Cancel safe: dropped, the server is told.
    pub(super) async fn call(&self, call: RawCall) -> Result<Value, CallFailure> {
        call::call(&self.inner, call).await
    }

    /// Ready when the connection is lost, or closed; what is at its other end
    /// may still be there.
    pub(super) async fn lost(&self) {
        self.inner.lost.cancelled().await;
    }

    /// Ready when the connection is lost, or closed, and the peer is gone.
    pub(super) async fn closed(&self) {
        self.inner.gone.clone().wait().await;
    }

    /// Closes the connection, then makes the peer go. Ready when it is gone;
    /// that may be never, of a peer that is no process of ours.
    ///
    /// Cancel safe: the connection closes all the same.
    pub(super) async fn close(&self) {
        self.inner.closing.cancel();
        self.closed().await;
    }
}
