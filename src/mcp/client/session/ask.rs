//! One request, until it is answered or given up.

use std::sync::{Arc, OnceLock};

use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientRequest, RequestId, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use rmcp::{ErrorData, RoleClient};
use serde_json::Value;
use toolfall_layers::printable;

use super::Inner;
use crate::mcp::lines::is_unreadable;

/// So much of what a server says of an error is kept, in characters.
const SHOWN: usize = 2_000;

/// Why a request has no result.
pub(super) enum Refused {
    Closed(String),
    Protocol { code: i64, message: String },
    Malformed(String),
}

/// Sends `request` and waits for its result, as the server wrote it.
///
/// Dropped, it tells the server that nobody waits any more.
pub(super) async fn ask(inner: &Arc<Inner>, request: ClientRequest) -> Result<Value, Refused> {
    let mut asked = Asked {
        inner: inner.clone(),
        id: OnceLock::new(),
    };
    let sent = inner
        .peer
        .send_request_with_option(request, PeerRequestOptions::no_options())
        .await;
    let result = match sent {
        Ok(handle) => {
            let _ = asked.id.set(handle.id.clone());
            handle
                .rx
                .await
                .unwrap_or(Err(ServiceError::TransportClosed))
        }
        Err(error) => Err(error),
    };
    asked.id.take();
    match result {
        Ok(ServerResult::CustomResult(result)) => Ok(result.0),
        // Over HTTP, what was not seen as it was written.
        Ok(result) => serde_json::to_value(result)
            .map_err(|error| Refused::Malformed(printable(&error.to_string(), SHOWN))),
        Err(error) => Err(refused(&error)),
    }
}

fn refused(error: &ServiceError) -> Refused {
    match error {
        ServiceError::McpError(error) if is_unreadable(error) => {
            Refused::Malformed(error.message.to_string())
        }
        ServiceError::McpError(error) => Refused::Protocol {
            code: i64::from(error.code.0),
            message: printable(&error.message, SHOWN),
        },
        ServiceError::TransportClosed | ServiceError::Cancelled { .. } => {
            Refused::Closed("it was lost before the answer came".to_owned())
        }
        ServiceError::TransportSend(error) => {
            let (is_answer, what) = unsent(error);
            if is_answer {
                Refused::Malformed(what)
            } else {
                Refused::Closed(what)
            }
        }
        other => Refused::Malformed(printable(&other.to_string(), SHOWN)),
    }
}

/// A server's error, or ours in place of an answer, in one line.
pub(super) fn refusal(error: &ErrorData) -> String {
    let message = printable(&error.message, SHOWN);
    if is_unreadable(error) {
        message
    } else {
        format!("MCP error {}: {message}", error.code.0)
    }
}

/// What went wrong with a message, in one line without the server's address,
/// which may hold secrets; and whether there was an answer, if none to use.
pub(super) fn unsent(error: &DynamicTransportError) -> (bool, String) {
    type Http = StreamableHttpError<reqwest::Error>;

    let error: &(dyn std::error::Error + 'static) = &*error.error;
    match error.downcast_ref::<Http>() {
        Some(Http::AuthRequired(_) | Http::InsufficientScope(_)) => {
            (false, "the server asks for authorization".to_owned())
        }
        Some(Http::Client(error)) => {
            let cause = std::error::Error::source(error);
            let cause = cause.map_or_else(|| "no more is known".to_owned(), whole);
            let status = error.status().map(|status| format!("HTTP {status}, "));
            let status = status.unwrap_or_default();
            (false, format!("the request failed: {status}{cause}"))
        }
        Some(
            error @ (Http::UnexpectedServerResponse(_)
            | Http::UnexpectedContentType(_)
            | Http::ResponseBodyTooLarge { .. }
            | Http::Deserialize(_)),
        ) => (true, whole(error)),
        _ => (false, whole(error)),
    }
}

/// An error and what it comes from, in one line.
pub(super) fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        // Some repeat what they come from.
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        source = error.source();
    }
    printable(&text, SHOWN)
}

/// A request under way.
struct Asked {
    inner: Arc<Inner>,
    id: OnceLock<RequestId>,
}

impl Drop for Asked {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else {
            return;
        };
        let peer = self.inner.peer.clone();
        // Dropped wherever it may be, perhaps where nothing can be waited for.
        self.inner.runtime.spawn(give_up(peer, id));
    }
}

async fn give_up(peer: Peer<RoleClient>, id: RequestId) {
    let notice = CancelledNotification::new(CancelledNotificationParam::new(
        Some(id),
        Some("nobody waits for the answer any more".to_owned()),
    ));
    // Who is not there any more need not be told.
    let _ = peer.send_notification(notice.into()).await;
}
