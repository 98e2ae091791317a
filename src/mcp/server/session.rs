//! Who is connected, as far as a host may ask.

use std::fmt;
use std::sync::Arc;

use http::HeaderMap;

/// One client's connection, for whoever chooses its scope.
///
/// Over HTTP a client of protocol 2026-07-28 or later has no session: each of
/// its requests is one of its own here.
#[derive(Clone)]
pub struct Session(Arc<Inner>);

struct Inner {
    id: String,
    client: Option<(String, String)>,
    protocol: Option<String>,
    headers: Option<HeaderMap>,
}

impl Session {
    pub(super) fn new(
        id: String,
        client: Option<(String, String)>,
        protocol: Option<String>,
        headers: Option<HeaderMap>,
    ) -> Self {
        Self(Arc::new(Inner {
            id,
            client,
            protocol,
            headers,
        }))
    }

    /// The server's own name for the session, unique in the process: not the
    /// id that travels over HTTP, which is a secret between two.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// What the client calls itself, if it said so. Nothing proves it.
    pub fn client_name(&self) -> Option<&str> {
        self.0.client.as_ref().map(|(name, _)| name.as_str())
    }

    /// The client's version, as it says.
    pub fn client_version(&self) -> Option<&str> {
        self.0.client.as_ref().map(|(_, version)| version.as_str())
    }

    /// The protocol version that was agreed on, `2025-11-25` for instance.
    pub fn protocol_version(&self) -> Option<&str> {
        self.0.protocol.as_deref()
    }

    /// Whether the client came over HTTP.
    pub fn is_http(&self) -> bool {
        self.0.headers.is_some()
    }

    /// A header of the request that began the session, over HTTP: to tell
    /// callers apart that a proxy or the bearer token names. None if it is no
    /// text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.0.headers.as_ref()?.get(name)?.to_str().ok()
    }
}

/// Headers may hold secrets and are left out.
impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.0.id)
            .field("client", &self.0.client)
            .field("protocol", &self.0.protocol)
            .finish_non_exhaustive()
    }
}
