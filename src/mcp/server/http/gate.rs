//! What a request must pass before the protocol sees it.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::response::Response;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use http::{HeaderMap, Method, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ErrorData, JsonRpcMessage, RequestId};

use super::body::{self, Checked};
use super::sessions::Sessions;
use super::{HttpOptions, Life, refusal};
use crate::mcp::server::state::Refused;
use crate::mcp::server::transport;

/// How long a body may take to arrive.
const ARRIVAL: Duration = Duration::from_secs(30);

pub(super) struct Gate {
    tokens: Vec<String>,
    needs_token: bool,
    limit: usize,
    life: Life,
    sessions: Arc<Sessions>,
}

#[expect(
    clippy::result_large_err,
    reason = "an answer goes out as it is, and no request asks often"
)]
impl Gate {
    pub(super) fn new(options: &HttpOptions, life: Life, sessions: Arc<Sessions>) -> Self {
        let mut tokens = options.tokens.clone();
        // An empty token is no protection; said by mistake, it lets nobody in.
        tokens.retain(|token| !token.is_empty());
        Self {
            tokens,
            needs_token: !options.tokens.is_empty(),
            limit: options.body,
            life,
            sessions,
        }
    }

    /// The request as the protocol is to see it, or the answer to it.
    pub(super) async fn pass(&self, request: Request) -> Result<Request, Response> {
        if self.life.stop.is_cancelled() {
            let text = "Service Unavailable: the server shuts down";
            return Err(refusal(StatusCode::SERVICE_UNAVAILABLE, text));
        }
        if self.needs_token && !self.has_token(request.headers()) {
            let text = "Unauthorized: expected a valid bearer token";
            let mut response = refusal(StatusCode::UNAUTHORIZED, text);
            let challenge = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
            return Err(response);
        }
        if request.method() == Method::POST {
            self.pass_post(request).await
        } else {
            Ok(request)
        }
    }

    async fn pass_post(&self, request: Request) -> Result<Request, Response> {
        let (mut parts, body) = request.into_parts();
        let body = self.read(body).await?;
        let checked = body::check(&body, compares(&parts.headers));
        let body = match checked {
            Checked::Batch => {
                let message = "expected one message, found a batch";
                return Err(error(ErrorData::invalid_request(message, None), None));
            }
            Checked::Other => body,
            Checked::Request { id, initializes } => {
                self.admit(&parts.headers, id, initializes)?;
                body
            }
            Checked::Call {
                id,
                arguments,
                rest,
            } => {
                self.admit(&parts.headers, id, false)?;
                if let Some(arguments) = arguments {
                    parts.extensions.insert(arguments);
                }
                Bytes::from(rest)
            }
        };
        parts.headers.remove(CONTENT_LENGTH);
        Ok(Request::from_parts(parts, Body::from(body)))
    }

    async fn read(&self, body: Body) -> Result<Bytes, Response> {
        let read = tokio::time::timeout(ARRIVAL, to_bytes(body, self.limit)).await;
        match read {
            Ok(Ok(body)) => Ok(body),
            Ok(Err(_)) => {
                let text = "Payload Too Large: expected a smaller body, or a whole one";
                Err(refusal(StatusCode::PAYLOAD_TOO_LARGE, text))
            }
            Err(_) => {
                let text = "Request Timeout: the body did not arrive in time";
                Err(refusal(StatusCode::REQUEST_TIMEOUT, text))
            }
        }
    }

    /// Refuses what the sessions have no room for, and ids in use.
    fn admit(
        &self,
        headers: &HeaderMap,
        id: Option<RequestId>,
        initializes: bool,
    ) -> Result<(), Response> {
        let session = headers
            .get("mcp-session-id")
            .and_then(|session| session.to_str().ok());
        match (session, id) {
            (None, _) if initializes && self.sessions.is_full() => {
                let text = "Service Unavailable: expected fewer sessions, come back later";
                Err(refusal(StatusCode::SERVICE_UNAVAILABLE, text))
            }
            (Some(session), Some(id)) if self.sessions.is_unanswered(session, &id) => {
                let (error_data, id) = transport::refusal(Refused::Repeated, id);
                Err(error(error_data, id))
            }
            _ => Ok(()),
        }
    }

    fn has_token(&self, headers: &HeaderMap) -> bool {
        let mut given = headers.get_all(AUTHORIZATION).iter();
        let (Some(header), None) = (given.next(), given.next()) else {
            return false;
        };
        let bytes = header.as_bytes();
        let Some((scheme, token)) = bytes.split_at_checked(7) else {
            return false;
        };
        if !scheme.eq_ignore_ascii_case(b"bearer ") {
            return false;
        }
        // All of them are looked at, however soon one fits.
        let fits = self
            .tokens
            .iter()
            .fold(false, |fits, known| is_same(known.as_bytes(), token) | fits);
        black_box(fits)
    }
}

/// Whether the client's protocol version has headers that repeat arguments.
/// For others they are taken out of what the protocol library reads, which
/// would write them to its log.
fn compares(headers: &HeaderMap) -> bool {
    let version = headers.get("mcp-protocol-version");
    version.is_some_and(|version| version.as_bytes() >= b"2026-07-28".as_slice())
}

/// Takes as long for a token that is nearly right as for any other of its
/// length.
fn is_same(known: &[u8], given: &[u8]) -> bool {
    let mut difference = known.len() ^ given.len();
    for (at, byte) in given.iter().enumerate() {
        let other = known.get(at).copied().unwrap_or(0);
        difference |= usize::from(black_box(byte ^ other));
    }
    black_box(difference) == 0
}

/// A JSON-RPC error as the answer to a request that goes no further.
fn error(error: ErrorData, id: Option<RequestId>) -> Response {
    type Answer = JsonRpcMessage<ClientJsonRpcMessage, (), ()>;
    let answer: Answer = JsonRpcMessage::error(error, id);
    let body = match &answer {
        JsonRpcMessage::Error(error) => serde_json::to_vec(error).unwrap_or_default(),
        _ => Vec::new(),
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}
