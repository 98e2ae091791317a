//! A client of HTTP that keeps results as they are written.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::http::{HeaderName, HeaderValue};
use futures_util::StreamExt as _;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, RequestId};
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    StreamableHttpResponseLimits,
};

use crate::mcp::client::raw_results::RawResults;

type Failed = StreamableHttpError<reqwest::Error>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// Looks at what comes in before the protocol does: what that makes of a
/// result loses what it does not know.
#[derive(Clone)]
pub(in super::super) struct Seen {
    client: reqwest::Client,
    raw: RawResults,
    renewed: Arc<dyn Fn() + Send + Sync>,
    introduced: Arc<AtomicBool>,
}

impl Seen {
    pub(super) fn new(
        client: reqwest::Client,
        raw: RawResults,
        renewed: Arc<dyn Fn() + Send + Sync>,
    ) -> Self {
        Self {
            client,
            raw,
            renewed,
            introduced: Arc::default(),
        }
    }

    fn look(&self, stream: BoxedSseResponse) -> BoxedSseResponse {
        let raw = self.raw.clone();
        stream
            .map(move |event| {
                let mut event = event?;
                if let Some(instead) = event.data.as_deref().and_then(|data| raw.look(data)) {
                    event.data = Some(instead);
                }
                Ok(event)
            })
            .boxed()
    }
}

/// The request whose result is kept.
fn kept(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    match message {
        JsonRpcMessage::Request(request) => match &request.request {
            ClientRequest::CallToolRequest(_) | ClientRequest::ListToolsRequest(_) => {
                Some(request.id.clone())
            }
            _ => None,
        },
        _ => None,
    }
}

fn introduces(message: &ClientJsonRpcMessage) -> bool {
    matches!(
        message,
        JsonRpcMessage::Request(request)
            if matches!(request.request, ClientRequest::InitializeRequest(_))
    )
}

impl StreamableHttpClient for Seen {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(uri, message, session, auth, headers, limits)
            .await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        auth: Option<String>,
        headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let id = kept(&message);
        // The second time, the server did not know its session any more.
        let renews = introduces(&message) && self.introduced.swap(true, Ordering::Relaxed);
        if let Some(id) = &id {
            self.raw.expect(id.clone());
        }
        let answered = self
            .client
            .post_message_with_response_limits(uri, message, session, auth, headers, limits)
            .await;
        if renews && answered.is_ok() {
            (self.renewed)();
        }
        match answered {
            Ok(StreamableHttpPostResponse::Sse(stream, session)) => {
                let stream = self.look(stream);
                Ok(StreamableHttpPostResponse::Sse(stream, session))
            }
            other => {
                if let Some(id) = &id {
                    self.raw.take(id);
                }
                other
            }
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<(), Failed> {
        self.client
            .delete_session(uri, session, auth, headers)
            .await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<BoxedSseResponse, Failed> {
        let stream = self.client.get_stream(uri, session, last, auth, headers);
        Ok(self.look(stream.await?))
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        auth: Option<String>,
        headers: Headers,
        longest: usize,
    ) -> Result<BoxedSseResponse, Failed> {
        let stream = self
            .client
            .get_stream_with_max_sse_event_size(uri, session, last, auth, headers, longest);
        Ok(self.look(stream.await?))
    }
}
