//! The sessions over HTTP.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;
use pin_project_lite::pin_project;
use rmcp::model::{
    ClientJsonRpcMessage, GetExtensions, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::WorkerTransport;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, LocalSessionWorker,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};

use super::{HttpOptions, Life, Shared};
use crate::mcp::server::state::{Refused, State};
use crate::mcp::server::transport::{Admitted, Watched, is_call};

/// The protocol library's sessions, bounded and watched.
pub(super) struct Sessions {
    local: LocalSessionManager,
    shared: Arc<Shared>,
    life: Life,
    most: usize,
    idle: Duration,
    states: Mutex<HashMap<SessionId, Arc<State>>>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum SessionsError {
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
    #[error("expected fewer sessions")]
    Full,
    #[error("expected a request id that is not in use")]
    Repeated,
    #[error("expected fewer requests at once")]
    TooMany,
}

type Wire = WorkerTransport<LocalSessionWorker>;

impl Sessions {
    pub(super) fn new(shared: Arc<Shared>, life: Life, options: &HttpOptions) -> Self {
        let mut local = LocalSessionManager::default();
        // A session that has a call under way is not idle: we know better.
        local.session_config.keep_alive = None;
        Self {
            local,
            shared,
            life,
            most: options.sessions,
            idle: options.idle,
            states: Mutex::default(),
        }
    }

    fn states(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<State>>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self, id: &SessionId) -> Option<Arc<State>> {
        self.states().get(id).cloned()
    }

    pub(super) fn is_full(&self) -> bool {
        self.states().len() >= self.most
    }

    pub(super) fn is_unanswered(&self, session: &str, id: &RequestId) -> bool {
        let state = self.states().get(session).cloned();
        state.is_some_and(|state| state.is_unanswered(id))
    }

    /// A stream that counts as somebody who reads.
    fn read<S>(&self, id: &SessionId, inner: S) -> Reading<S> {
        let reader = self.state(id).map(Reader::new);
        Reading { inner, reader }
    }
}

impl SessionManager for Sessions {
    type Error = SessionsError;
    type Transport = Watched<Wire>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        if self.is_full() {
            return Err(SessionsError::Full);
        }
        let (id, wire) = self.local.create_session().await?;
        let state = State::new(&self.shared, &self.life);
        let grace = self.shared.limits.grace;
        let transport = Watched::new(wire, state.clone(), grace, Some(self.idle));
        self.states().insert(id.clone(), state);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        Ok(self.local.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        Ok(self.local.has_session(id).await?)
    }

    /// The client is gone, or says so: nobody hears what its calls come to.
    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        let state = self.states().remove(id);
        if let Some(state) = state {
            state.token.cancel();
        }
        Ok(self.local.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        // Before the message is routed: a repeated id would take the stream
        // of the request that came first.
        if let (Some(state), JsonRpcMessage::Request(request)) = (self.state(id), &mut message) {
            let is_call = is_call(&request.request);
            state
                .begin(&request.id, is_call)
                .map_err(|refused| match refused {
                    Refused::Repeated => SessionsError::Repeated,
                    Refused::TooMany => SessionsError::TooMany,
                })?;
            request.request.extensions_mut().insert(Admitted);
        }
        let request = match &message {
            JsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let stream = self.local.create_stream(id, message).await;
        if let (Err(_), Some(request), Some(state)) = (&stream, request, self.state(id)) {
            state.answered(&request);
        }
        Ok(self.read(id, stream?))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        Ok(self.local.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.local.create_standalone_stream(id).await?;
        Ok(self.read(id, stream))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.local.resume(id, last_event_id).await?;
        Ok(self.read(id, stream))
    }
}

/// Counts while it lives.
struct Reader(Arc<State>);

impl Reader {
    fn new(state: Arc<State>) -> Self {
        state.readers.fetch_add(1, Ordering::AcqRel);
        Self(state)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.readers.fetch_sub(1, Ordering::AcqRel);
    }
}

pin_project! {
    struct Reading<S> {
        #[pin]
        inner: S,
        reader: Option<Reader>,
    }
}

impl<S: Stream> Stream for Reading<S> {
    type Item = S::Item;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        let this = self.project();
        let polled = this.inner.poll_next(cx);
        if matches!(polled, Poll::Ready(None)) {
            *this.reader = None;
        }
        polled
    }
}
