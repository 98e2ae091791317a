//! Servers behind streamable HTTP.

mod seen;

use std::fmt;
use std::sync::Arc;

use ::http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use toolfall_layers::printable;

use self::seen::Seen;
use super::connector::ConnectError;
use super::raw_results::RawResults;
use crate::mcp::lines::LONGEST;

/// Headers that the protocol sets itself.
const RESERVED: [&str; 9] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "transfer-encoding",
];

/// A server behind streamable HTTP.
///
/// A redirection is followed only to where the server is, so that no header
/// of ours gets to anybody else.
///
/// Results that come as events are kept as they are written. Of one that
/// comes as a body of JSON, members that the protocol does not know are lost,
/// and a `null` as structured content counts as none.
///
/// ```
/// use toolfall::mcp::client::Http;
///
/// let server = Http::new("https://mcp.example.test/mcp")
///     .unwrap()
///     .header("authorization", "Bearer …".replace('…', "token"))
///     .unwrap();
/// assert!(!format!("{server:?}").contains("token"));
/// assert!(Http::new("mcp.example.test").is_err());
/// assert!(server.header("mcp-session-id", "1").is_err());
/// ```
#[derive(Clone)]
pub struct Http {
    url: Arc<str>,
    headers: HeaderMap,
}

/// Why a server cannot be one behind HTTP.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The URL is none, or none of HTTP.
    #[error("expected a URL of http or https, found {0:?}")]
    Url(String),
    /// The text is no name of a header.
    #[error("expected the name of a header, found {0:?}")]
    Name(String),
    /// The protocol sets this header itself.
    #[error("the header {0} is set by the protocol")]
    Reserved(String),
    /// The value of this header holds characters that cannot be sent. The
    /// value is not told: it may be a secret.
    #[error("the value of the header {0} cannot be sent")]
    Value(String),
}

impl Http {
    /// The server at `url`.
    ///
    /// # Errors
    ///
    /// [`HttpError::Url`].
    pub fn new(url: impl AsRef<str>) -> Result<Self, HttpError> {
        let url = url.as_ref();
        let parsed = reqwest::Url::parse(url)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or_else(|| HttpError::Url(printable(url, 200)))?;
        Ok(Self {
            url: Arc::from(parsed.as_str()),
            headers: HeaderMap::new(),
        })
    }

    /// Adds a header to every request; one of the same name is replaced.
    ///
    /// # Errors
    ///
    /// [`HttpError`] if it is no header, or one that the protocol sets.
    pub fn header(
        mut self,
        name: impl AsRef<str>,
        value: impl AsRef<str>,
    ) -> Result<Self, HttpError> {
        let shown = || printable(name.as_ref(), 80);
        let name = HeaderName::from_bytes(name.as_ref().as_bytes())
            .map_err(|_| HttpError::Name(shown()))?;
        if RESERVED.contains(&name.as_str()) {
            return Err(HttpError::Reserved(shown()));
        }
        let mut value =
            HeaderValue::from_str(value.as_ref()).map_err(|_| HttpError::Value(shown()))?;
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(self)
    }

    /// A connection that has sent nothing yet, and where its results are kept
    /// as they are written. `renewed` hears when the server has forgotten the
    /// connection and it is made again: its tools may be others.
    pub(super) fn transport(
        &self,
        renewed: Arc<dyn Fn() + Send + Sync>,
    ) -> Result<(StreamableHttpClientTransport<Seen>, RawResults), ConnectError> {
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            // Another one may have been first; then that one it is.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let client = reqwest::Client::builder()
            .default_headers(self.headers.clone())
            .redirect(at_home())
            .build()
            .map_err(|error| ConnectError::new("no HTTP client can be made").because(error))?;
        let mut config = StreamableHttpClientTransportConfig::with_uri(self.url.clone());
        config.max_sse_event_size = LONGEST;
        config.max_json_response_size = LONGEST;
        let raw = RawResults::default();
        let seen = Seen::new(client, raw.clone(), renewed);
        let transport = StreamableHttpClientTransport::with_client(seen, config);
        Ok((transport, raw))
    }
}

impl fmt::Debug for Http {
    /// Without the values of the headers and what may be secret in the URL.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = reqwest::Url::parse(&self.url).ok();
        let host = url.as_ref().and_then(|url| url.host_str());
        f.debug_struct("Http")
            .field("host", &host)
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// Follows what stays where it began: the headers are meant for nobody else.
fn at_home() -> Policy {
    Policy::custom(|attempt| {
        let home = attempt.previous().first();
        let stays = home.is_some_and(|home| home.origin() == attempt.url().origin());
        if stays && attempt.previous().len() < 5 {
            attempt.follow()
        } else {
            attempt.stop()
        }
    })
}
