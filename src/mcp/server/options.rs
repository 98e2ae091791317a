//! What a router over HTTP lets in.

use std::fmt;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// How the server is reached over HTTP. See
/// [`PipelineServer::router`](super::PipelineServer::router).
///
/// By default: loopback `Host`s only, no request of a browser's (one with an
/// `Origin`), no token, bodies of up to 4 MiB, 64 sessions, each of which ends
/// after 5 minutes without a request.
#[derive(Clone)]
pub struct HttpOptions {
    pub(super) path: String,
    pub(super) hosts: Vec<String>,
    pub(super) origins: Vec<String>,
    pub(super) tokens: Vec<String>,
    pub(super) body: usize,
    pub(super) sessions: usize,
    pub(super) idle: Duration,
    pub(super) shutdown: CancellationToken,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl HttpOptions {
    /// The defaults above, at the path `/mcp`.
    pub fn new() -> Self {
        Self {
            path: "/mcp".to_owned(),
            hosts: ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into(),
            origins: Vec::new(),
            tokens: Vec::new(),
            body: 4 << 20,
            sessions: 64,
            idle: Duration::from_secs(300),
            shutdown: CancellationToken::new(),
        }
    }

    /// The path that answers, `/mcp` unless it is said otherwise. A missing
    /// slash at its beginning is added.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        if !self.path.starts_with('/') {
            self.path.insert(0, '/');
        }
        self
    }

    /// Also answers requests for `host`: a name, or a name with a port. What
    /// keeps a page in a browser from reaching a server on loopback under a
    /// name of its own is this list; so it always counts.
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into());
        self
    }

    /// Also answers pages of `origin`: scheme, host and port, as in
    /// `https://app.example.com:443`; `:*` stands for any port.
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
        self
    }

    /// Answers only requests with `Authorization: Bearer TOKEN`; said again,
    /// each of the tokens will do. An empty one is never accepted.
    pub fn bearer_token(mut self, token: impl Into<String>) -> Self {
        self.tokens.push(token.into());
        self
    }

    /// The largest body of a request, in bytes.
    pub fn max_body(mut self, bytes: usize) -> Self {
        self.body = bytes;
        self
    }

    /// The most sessions at once; whoever would be one more is told to come
    /// back later (status 503).
    pub fn max_sessions(mut self, sessions: usize) -> Self {
        self.sessions = sessions;
        self
    }

    /// Ends a session that sent nothing for so long.
    pub fn idle_timeout(mut self, idle: Duration) -> Self {
        self.idle = idle;
        self
    }

    /// Shuts the server down when the token is cancelled: no new calls, those
    /// in flight get their grace, then every session ends.
    pub fn shutdown(mut self, shutdown: CancellationToken) -> Self {
        self.shutdown = shutdown;
        self
    }
}

/// Tokens are left out.
impl fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpOptions")
            .field("path", &self.path)
            .field("hosts", &self.hosts)
            .field("origins", &self.origins)
            .field("tokens", &self.tokens.len())
            .field("body", &self.body)
            .field("sessions", &self.sessions)
            .field("idle", &self.idle)
            .finish_non_exhaustive()
    }
}
