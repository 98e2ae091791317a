//! A server, before anything is started.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use toolfall_layers::printable;

use super::connector::Connector;
use super::events::{Listener, ServerEvent};
use super::http::Http;
use super::reconnect::{Reconnect, ReconnectError};
use super::session::Endpoint;
#[cfg(unix)]
use super::stdio::Stdio;
use crate::mcp::tool::{Definitions, ToolOptions};

/// The longest name of a server, in characters.
const MAX_NAME: usize = 32;
/// How long a connection may take unless it is said.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// A server whose tools are to join a registry, and how.
///
/// Nothing is started before [`load`](Self::load); one value may be loaded
/// many times. See the [module](super) for an example.
#[derive(Clone)]
pub struct McpServer {
    pub(super) name: Arc<str>,
    pub(super) endpoint: Endpoint,
    pub(super) strict: bool,
    pub(super) legacy: bool,
    pub(super) progress_prolongs: bool,
    pub(super) connect_timeout: Duration,
    timeout: Option<Duration>,
    tool_options: ToolOptions,
    pub(super) reconnect: Reconnect,
    pub(super) listeners: Vec<Listener>,
    pub(super) definitions: Option<Definitions>,
}

impl McpServer {
    /// The server that a program is, which reads its standard input and
    /// writes its standard output.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Name`]: the name must be 1 to 32 ASCII letters, digits,
    /// `_` and `-`. It becomes part of what models call.
    #[cfg(unix)]
    pub fn stdio(name: &str, program: Stdio) -> Result<Self, ConfigError> {
        Self::at(name, Endpoint::Wire(Arc::new(program)))
    }

    /// The server at an address.
    ///
    /// # Errors
    ///
    /// As [`stdio`](Self::stdio).
    pub fn http(name: &str, address: Http) -> Result<Self, ConfigError> {
        Self::at(name, Endpoint::Http(address))
    }

    /// The server that `connector` connects to.
    ///
    /// # Errors
    ///
    /// As [`stdio`](Self::stdio).
    pub fn over(name: &str, connector: impl Connector) -> Result<Self, ConfigError> {
        Self::at(name, Endpoint::Wire(Arc::new(connector)))
    }

    fn at(name: &str, endpoint: Endpoint) -> Result<Self, ConfigError> {
        let is_clean = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_clean) {
            let found = printable(name, 64);
            return Err(ConfigError::Name { found });
        }
        Ok(Self {
            name: name.into(),
            endpoint,
            strict: false,
            legacy: false,
            progress_prolongs: false,
            connect_timeout: CONNECT_TIMEOUT,
            timeout: None,
            tool_options: ToolOptions::new(),
            reconnect: Reconnect::new(),
            listeners: Vec::new(),
            definitions: None,
        })
    }

    /// The server's name, as it was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Has [`load`](Self::load) fail if the first connection, its listing or
    /// the registration of the tools does. Else the host goes on without the
    /// server, and further attempts are made.
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Waits so long for the answer to one call, 60 seconds unless it is
    /// said. Wins over the timeout of [`tool_options`](Self::tool_options).
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Waits so long for the server to introduce itself, 30 seconds unless it
    /// is said; and, after that, for each listing of its tools.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// What happens when the connection is lost.
    pub fn reconnect(mut self, reconnect: Reconnect) -> Self {
        self.reconnect = reconnect;
        self
    }

    /// How the tools are taken into the registry.
    pub fn tool_options(mut self, options: ToolOptions) -> Self {
        self.tool_options = options;
        self
    }

    /// Speaks as before 2026 from the first message on, for servers that do
    /// not cope with being asked what they speak.
    pub fn legacy(mut self) -> Self {
        self.legacy = true;
        self
    }

    /// Gives a call its whole time again whenever the server reports progress.
    /// A server can then keep a call open for ever.
    pub fn progress_prolongs(mut self) -> Self {
        self.progress_prolongs = true;
        self
    }

    /// Tells `listener` of what happens to the server, after those added
    /// before. It runs where the server is supervised or its messages are
    /// read, and must not block; a panic in it is logged and nothing else.
    pub fn on_event(mut self, listener: impl Fn(&ServerEvent) + Send + Sync + 'static) -> Self {
        self.listeners.push(Arc::new(listener));
        self
    }

    /// Notes each listing in a ledger, before its tools are registered, and
    /// tells what changed.
    pub fn definitions(mut self, definitions: Definitions) -> Self {
        self.definitions = Some(definitions);
        self
    }

    /// Whether everything can be meant so; asked when the server is loaded.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] for the first thing that cannot.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.connect_timeout.is_zero() {
            return Err(ConfigError::NoTime {
                name: "connect timeout",
            });
        }
        if self.options().call_timeout().is_zero() {
            return Err(ConfigError::NoTime { name: "timeout" });
        }
        Ok(self.reconnect.check()?)
    }

    pub(super) fn options(&self) -> ToolOptions {
        let options = self.tool_options.clone();
        match self.timeout {
            Some(timeout) => options.timeout(timeout),
            None => options,
        }
    }
}

impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer")
            .field("name", &self.name)
            .field("strict", &self.strict)
            .field("reconnect", &self.reconnect)
            .finish_non_exhaustive()
    }
}

/// Why a server cannot be meant so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A name that cannot be part of what models call.
    #[error("serverName must be 1 to 32 of the characters A-Z, a-z, 0-9, _ and -, found {found:?}")]
    Name {
        /// The name, cut.
        found: String,
    },
    /// A limit that nothing can keep.
    #[error("the {name} must be longer than 0 ms")]
    NoTime {
        /// Which one.
        name: &'static str,
    },
    /// What is said of reconnecting.
    #[error(transparent)]
    Reconnect(#[from] ReconnectError),
}
