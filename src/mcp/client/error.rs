//! Why a server is not there.

use toolfall_layers::printable;

use super::connector::ConnectError;
use super::server_config::ConfigError;
use super::session::SessionError;
use crate::RegisterError;

/// Why a server was not loaded. Nothing of it is left then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The server cannot be meant so.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A server of that name is loaded on the registry.
    #[error("serverName \"{server}\" is already in use")]
    InUse {
        /// The name.
        server: String,
    },
    /// The server is strict, and could not be started; or the scope that its
    /// tools were for is disposed.
    #[error("mcp-client({server}): initial connection or tool synchronization failed")]
    Start {
        /// The server's name.
        server: String,
        /// Why.
        #[source]
        error: StartError,
    },
    /// There is no tokio runtime to supervise the server on.
    #[error("mcp-client({server}): expected to be loaded on a tokio runtime, found none")]
    NoRuntime {
        /// The server's name.
        server: String,
    },
    /// The runtime shut down meanwhile.
    #[error("mcp-client({server}): the runtime shut down")]
    Stopped {
        /// The server's name.
        server: String,
    },
}

/// Why a connection did not come to be one with tools.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// There is no connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The connection was lost before the tools were listed.
    #[error("the connection was lost before the tools were listed")]
    Lost,
    /// The tools could not be listed; the text says why.
    #[error("{0}")]
    Listing(String),
    /// The listing has a tool twice, so none can be told from the other.
    #[error("listed tool \"{tool}\" more than once")]
    Duplicate {
        /// The tool's name as the server gave it, fit to be printed.
        tool: String,
    },
    /// A tool cannot be registered.
    #[error(transparent)]
    Register(#[from] RegisterError),
}

impl StartError {
    pub(super) fn duplicate(tool: &str) -> Self {
        let tool = printable(tool, 120);
        Self::Duplicate { tool }
    }
}

impl From<SessionError> for StartError {
    fn from(error: SessionError) -> Self {
        Self::Listing(printable(&error.to_string(), 500))
    }
}
