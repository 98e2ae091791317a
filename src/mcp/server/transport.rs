//! Stands between a transport and the protocol, and keeps account.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::BoxFuture;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, ErrorData, GetExtensions,
    GetMeta, JsonRpcMessage, ProtocolVersion, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use rmcp::{RoleServer, service::RxJsonRpcMessage};
use tokio::time::{Instant, Sleep, sleep_until};

use super::state::{Refused, State, Within};

/// What is said where a request is one too many.
pub(super) const TOO_MANY: ErrorCode = ErrorCode(-32029);
/// How long is waited for the answers of calls that were cancelled.
const CANCELLED: Duration = Duration::from_secs(1);

/// Answers what must not reach the protocol: requests whose id is taken, and
/// those that are too many. Ends a session in order: no new requests, a grace
/// for those that are there, then their cancellation.
pub(super) struct Watched<T> {
    inner: T,
    state: Arc<State>,
    grace: Duration,
    idle: Option<Duration>,
    /// An answer of our own, until it is handed over.
    owed: Option<BoxFuture<'static, ()>>,
    /// Whether the client sent a request that begins a session.
    begun: bool,
    /// When the session became idle last, over HTTP.
    quiet: Pin<Box<Sleep>>,
    ending: Option<Ending>,
}

#[derive(Clone, Copy)]
struct Ending {
    /// When what still runs is cancelled.
    cancel: Instant,
    /// When nothing is waited for any more.
    end: Instant,
}

/// Has the transport take a message as one that is accounted for.
#[derive(Clone, Copy)]
pub(super) struct Admitted;

impl<T: Transport<RoleServer>> Watched<T> {
    pub(super) fn new(
        inner: T,
        state: Arc<State>,
        grace: Duration,
        idle: Option<Duration>,
    ) -> Self {
        let quiet = Box::pin(sleep_until(Instant::now() + idle.unwrap_or_default()));
        Self {
            inner,
            state,
            grace,
            idle,
            owed: None,
            begun: false,
            quiet,
            ending: None,
        }
    }

    fn end(&mut self, grace: Duration) {
        if self.ending.is_none() {
            let cancel = Instant::now() + grace;
            self.ending = Some(Ending {
                cancel,
                end: cancel + CANCELLED,
            });
        }
    }

    fn owe(&mut self, error: ErrorData, id: Option<RequestId>) {
        let send = self.inner.send(JsonRpcMessage::error(error, id));
        self.owed = Some(Box::pin(async move {
            if let Err(error) = send.await {
                tracing::debug!("an answer to an MCP client could not be sent: {error}");
            }
        }));
    }

    /// What of a message goes on to the protocol.
    fn admit(&mut self, message: ClientJsonRpcMessage) -> Option<ClientJsonRpcMessage> {
        match message {
            JsonRpcMessage::Request(mut request) => {
                self.begun |= begins(&request.request);
                let extensions = request.request.extensions_mut();
                let is_admitted = extensions.remove::<Admitted>().is_some();
                extensions.insert(Within(self.state.clone()));
                if !is_admitted {
                    let is_call = is_call(&request.request);
                    if let Err(refused) = self.state.begin(&request.id, is_call) {
                        let (error, id) = refusal(refused, request.id);
                        self.owe(error, id);
                        return None;
                    }
                }
                Some(JsonRpcMessage::Request(request))
            }
            // The protocol ends a session that begins with anything else.
            _ if !self.begun => None,
            JsonRpcMessage::Notification(mut notification) => {
                let extensions = notification.notification.extensions_mut();
                extensions.insert(Within(self.state.clone()));
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // It will have no answer.
                    self.state.cancelled(id);
                }
                Some(JsonRpcMessage::Notification(notification))
            }
            other => Some(other),
        }
    }
}

/// Waits for what is under way, but not for ever.
async fn drain(state: &State, ending: Ending) {
    let settled = async {
        tokio::select! {
            biased;
            () = state.wait_settled() => return,
            () = sleep_until(ending.cancel) => state.token.cancel(),
        }
        let _ = tokio::time::timeout_at(ending.end, state.wait_settled()).await;
    };
    settled.await;
    // Also what nobody waits for, such as a call that waits for an answer.
    state.token.cancel();
}

/// Whether the protocol takes it for the beginning, not only for a question
/// before that.
fn begins(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::DiscoverRequest(_) | ClientRequest::PingRequest(_) => false,
        other => {
            let missing = other
                .get_meta()
                .missing_required_keys(&ProtocolVersion::V_2026_07_28);
            missing.is_empty()
        }
    }
}

pub(super) fn is_call(request: &ClientRequest) -> bool {
    matches!(request, ClientRequest::CallToolRequest(_))
}

/// A repeated id is told in words: an error under that id would be taken for
/// the answer to the request that came first.
pub(super) fn refusal(refused: Refused, id: RequestId) -> (ErrorData, Option<RequestId>) {
    match refused {
        Refused::Repeated => {
            let shown = toolfall_layers::printable(&id.to_string(), 100);
            let message =
                format!("expected a request id that is not in use, found {shown} once more");
            (
                ErrorData::new(ErrorCode::INVALID_REQUEST, message, None),
                None,
            )
        }
        Refused::TooMany => {
            let message = "expected fewer requests at once: wait for answers";
            (ErrorData::new(TOO_MANY, message, None), Some(id))
        }
    }
}

impl<T: Transport<RoleServer> + 'static> Transport<RoleServer> for Watched<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answered = match &item {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        let state = self.state.clone();
        let sending = self.inner.send(item);
        async move {
            let sent = sending.await;
            if let Some(id) = &answered {
                state.answered(id);
            }
            if sent.is_err() {
                // Nobody hears what the calls come to.
                state.token.cancel();
                state.stop.cancel();
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(owed) = &mut self.owed {
                owed.await;
                self.owed = None;
            }
            if let Some(ending) = &self.ending {
                drain(&self.state, *ending).await;
                return None;
            }
            let watches = self.idle.is_some();
            tokio::select! {
                biased;
                () = self.state.stop.cancelled() => self.end(self.grace),
                message = self.inner.receive() => match message {
                    None => self.end(self.grace),
                    Some(message) => {
                        if let Some(idle) = self.idle {
                            self.quiet.as_mut().reset(Instant::now() + idle);
                        }
                        if let Some(message) = self.admit(message) {
                            return Some(message);
                        }
                    }
                },
                () = self.quiet.as_mut(), if watches => {
                    // Somebody who reads is there, though silent.
                    if self.state.readers.load(Ordering::Acquire) == 0 {
                        self.end(Duration::ZERO);
                    } else if let Some(idle) = self.idle {
                        self.quiet.as_mut().reset(Instant::now() + idle);
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.state.token.cancel();
        self.inner.close().await
    }
}
