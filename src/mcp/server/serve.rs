//! The server's handle.

use std::fmt;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::service::{QuitReason, ServerInitializeError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tower::util::BoxCloneSyncService;

use super::HttpOptions;
use super::builder::PipelineServerBuilder;
use super::handler::Handler;
use super::shared::{Served, Shared};
use super::state::{Life, State};
use super::transport::Watched;
use crate::mcp::lines::Lines;
use crate::pipeline::PipelineService;
use crate::registry::Registry;

/// A pipeline that MCP clients can call. See the [module docs](super).
///
/// Cheap to clone; clones are the same server.
#[derive(Clone)]
pub struct PipelineServer {
    shared: Arc<Shared>,
}

impl PipelineServer {
    /// Starts to build a server that runs calls on `pipeline` and lists the
    /// tools of `registry`, which should be the pipeline's own.
    pub fn builder<S>(pipeline: S, registry: Registry) -> PipelineServerBuilder
    where
        S: PipelineService + Send + Sync + 'static,
        S::Future: Send + 'static,
    {
        PipelineServerBuilder::new(BoxCloneSyncService::new(pipeline), registry)
    }

    pub(super) fn new(shared: Shared) -> Self {
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Runs new calls on `pipeline` and lists the tools of `registry` from now
    /// on, for every session, and tells clients if that changes what they see.
    /// Calls in flight end on the pipeline that they began on.
    pub fn replace<S>(&self, pipeline: S, registry: Registry)
    where
        S: PipelineService + Send + Sync + 'static,
        S::Future: Send + 'static,
    {
        self.shared.replace(Served {
            pipeline: BoxCloneSyncService::new(pipeline),
            registry,
        });
    }

    /// Serves one client whose lines come from `reader` and whose answers go
    /// to `writer`, standard input and output for instance, until the input
    /// ends or `shutdown` is cancelled. Either way calls in flight get their
    /// [grace](PipelineServerBuilder::grace); what then still runs is
    /// cancelled and answered as such.
    ///
    /// # Errors
    ///
    /// [`ServeError`] if the client never began a session as the protocol
    /// says, or the connection broke.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the session at once and cancels its calls.
    pub async fn serve<R, W>(
        &self,
        reader: R,
        writer: W,
        shutdown: CancellationToken,
    ) -> Result<(), ServeError>
    where
        R: AsyncRead + Send + 'static,
        W: AsyncWrite + Send + 'static,
    {
        let life = Life {
            stop: shutdown.child_token(),
            end: self.shared.end.child_token(),
        };
        // However this ends, no call goes on.
        let _end = life.end.clone().drop_guard();
        let state = State::new(&self.shared, &life);
        let limits = self.shared.limits;
        let lines = Lines::<RoleServer>::new(reader, writer, limits.line, Arc::new(|_| {}));
        let transport = Watched::new(lines, state.clone(), limits.grace, None);
        let end = life.end.clone();
        let handler = Handler {
            shared: self.shared.clone(),
            life,
        };
        match rmcp::service::serve_server_with_ct(handler, transport, end).await {
            Ok(running) => match running.waiting().await {
                Ok(QuitReason::JoinError(error)) | Err(error) => {
                    Err(ServeError::Broken(error.to_string()))
                }
                Ok(_) => Ok(()),
            },
            Err(_) if state.stop.is_cancelled() => Ok(()),
            Err(error) => Err(ServeError::NotBegun(match error {
                ServerInitializeError::ConnectionClosed(_) => "its input ended".to_owned(),
                other => toolfall_layers::printable(&other.to_string(), 500),
            })),
        }
    }

    /// The server over HTTP ("streamable HTTP"), for axum to serve.
    ///
    /// ```no_run
    /// # async fn serve(server: toolfall::mcp::server::PipelineServer) -> std::io::Result<()> {
    /// use toolfall::mcp::server::HttpOptions;
    ///
    /// let router = server.router(HttpOptions::new().bearer_token("secret"));
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    /// axum::serve(listener, router).await
    /// # }
    /// ```
    pub fn router(&self, options: HttpOptions) -> axum::Router {
        super::http::router(self.shared.clone(), options)
    }
}

impl fmt::Debug for PipelineServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PipelineServer")
            .field("name", &self.shared.identity.name)
            .finish_non_exhaustive()
    }
}

/// Why a session over a pipe ended before it was over.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The client did not begin as the protocol says.
    #[error("expected a client that begins an MCP session: {0}")]
    NotBegun(String),
    /// The connection could not be used any more.
    #[error("the connection to the MCP client broke: {0}")]
    Broken(String),
}
