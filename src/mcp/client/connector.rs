//! How a connection to a server is made.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::BoxError;

/// Makes connections to one server, a new one each time.
///
/// Over such a connection go the messages of the protocol, one to a line.
///
/// ```
/// use futures_util::future::BoxFuture;
/// use toolfall::mcp::client::{ConnectError, Connector, Wire};
///
/// /// A server in this process.
/// struct Inside;
///
/// impl Connector for Inside {
///     fn connect(&self) -> BoxFuture<'static, Result<Wire, ConnectError>> {
///         Box::pin(async {
///             let (ours, theirs) = tokio::io::duplex(4096);
///             tokio::spawn(async move { drop(theirs) });
///             let (reader, writer) = tokio::io::split(ours);
///             Ok(Wire::new(reader, writer))
///         })
///     }
/// }
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// assert!(Inside.connect().await.is_ok());
/// # }
/// ```
pub trait Connector: Send + Sync + 'static {
    /// Makes a connection.
    ///
    /// # Errors
    ///
    /// [`ConnectError`] if there is none. A peer that is still ending is told
    /// by it.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future must leave nothing behind: it is dropped when the
    /// time for connecting is over.
    fn connect(&self) -> BoxFuture<'static, Result<Wire, ConnectError>>;
}

/// A connection, and the hold on who is at its other end.
pub struct Wire {
    pub(super) reader: Pin<Box<dyn AsyncRead + Send>>,
    pub(super) writer: Pin<Box<dyn AsyncWrite + Send>>,
    pub(super) gone: Option<Gone>,
    pub(super) stop: Stop,
}

impl Wire {
    /// A connection whose peer needs no ending: it is gone when both
    /// directions are closed.
    pub fn new(
        reader: impl AsyncRead + Send + 'static,
        writer: impl AsyncWrite + Send + 'static,
    ) -> Self {
        Self {
            reader: Box::pin(reader),
            writer: Box::pin(writer),
            gone: None,
            stop: Stop::nothing(),
        }
    }

    /// Says when the peer is really gone: `gone` is ready once nothing of it
    /// is left. The connection is lost then, and no new one is made before.
    pub fn gone(mut self, gone: impl Future<Output = ()> + Send + 'static) -> Self {
        self.gone = Some(Gone::new(gone));
        self
    }

    /// Says how the peer is made to go: `stop` is called once, after both
    /// directions were closed or dropped, whether the peer is still there or
    /// not. It must not block.
    pub fn stop(mut self, stop: impl FnOnce() + Send + 'static) -> Self {
        self.stop = Stop(Some(Box::new(stop)));
        self
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").finish_non_exhaustive()
    }
}

/// Makes the peer go, at the latest when it is dropped.
pub(super) struct Stop(Option<Box<dyn FnOnce() + Send>>);

impl Stop {
    pub(super) fn nothing() -> Self {
        Self(None)
    }

    pub(super) fn now(&mut self) {
        if let Some(stop) = self.0.take() {
            stop();
        }
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.now();
    }
}

/// Ready when a peer is gone.
#[derive(Clone)]
pub(super) struct Gone(Shared<BoxFuture<'static, ()>>);

impl Gone {
    pub(super) fn new(gone: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(gone.boxed().shared())
    }

    pub(super) async fn wait(self) {
        self.0.await;
    }
}

/// Why there is no connection.
///
/// ```
/// use toolfall::mcp::client::ConnectError;
///
/// let error = ConnectError::new("the socket is not there");
/// assert_eq!(error.to_string(), "the socket is not there");
/// ```
pub struct ConnectError {
    message: String,
    source: Option<BoxError>,
    gone: Option<Gone>,
}

impl ConnectError {
    /// An error that says what was expected and found.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            source: None,
            gone: None,
        }
    }

    /// Adds what it comes from.
    pub fn because(mut self, source: impl Into<BoxError>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Adds that a peer is still ending: `gone` is ready when it has.
    pub fn until(mut self, gone: impl Future<Output = ()> + Send + 'static) -> Self {
        self.gone = Some(Gone::new(gone));
        self
    }

    /// Ready when nothing of the failed attempt is left; at once, if nothing
    /// was said of that.
    pub fn gone(&self) -> BoxFuture<'static, ()> {
        match self.gone.clone() {
            Some(gone) => gone.wait().boxed(),
            None => std::future::ready(()).boxed(),
        }
    }
}

impl fmt::Debug for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectError")
            .field("message", &self.message)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConnectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source
            .as_ref()
            .map(|source| &**source as &(dyn std::error::Error + 'static))
    }
}
