//! What passes between the protocol and the wire, seen in order.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::RoleClient;
use rmcp::model::{
    ClientNotification, ClientRequest, CustomResult, GetMeta as _, JsonRpcMessage, NumberOrString,
    ProgressNotificationParam, ProgressToken, RequestId, ServerNotification, ServerResult,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::Notify;

use super::SessionEvent;
use crate::mcp::client::raw_results::RawResults;
use crate::mcp::lines::number;
use crate::mcp::tool::RawProgress;

pub(super) type Events = Arc<dyn Fn(SessionEvent) + Send + Sync>;

/// Where the progress of one call goes; rides in its request's extensions.
#[derive(Clone)]
pub(super) struct Sink(Arc<SinkState>);

struct SinkState {
    progress: Box<dyn Fn(RawProgress) + Send + Sync>,
    over: AtomicBool,
    step: Notify,
}

impl Sink {
    pub(super) fn new(progress: Box<dyn Fn(RawProgress) + Send + Sync>) -> Self {
        Self(Arc::new(SinkState {
            progress,
            over: AtomicBool::new(false),
            step: Notify::new(),
        }))
    }

    /// Nothing is told from here on.
    pub(super) fn close(&self) {
        self.0.over.store(true, Ordering::Release);
    }

    /// Ready after each step.
    pub(super) async fn step(&self) {
        self.0.step.notified().await;
    }

    fn tell(&self, step: ProgressNotificationParam) {
        if self.0.over.load(Ordering::Acquire) {
            return;
        }
        let step = RawProgress {
            progress: step.progress,
            total: step.total,
            message: step.message,
        };
        // Who listens is not ours, and others are called on this connection.
        if catch_unwind(AssertUnwindSafe(|| (self.0.progress)(step))).is_err() {
            tracing::warn!("a listener to the progress of an MCP call panicked");
            self.close();
        }
        self.0.step.notify_one();
    }
}

/// A transport whose traffic is seen: progress reaches its call before the
/// answer does, answers to nothing are dropped.
pub(super) struct Watched<T> {
    inner: T,
    pending: HashMap<RequestId, Option<ProgressToken>>,
    sinks: HashMap<ProgressToken, Sink>,
    /// The number of the newest request.
    newest: i64,
    raw: Option<RawResults>,
    events: Events,
}

impl<T> Watched<T> {
    pub(super) fn new(inner: T, raw: Option<RawResults>, events: Events) -> Self {
        Self {
            inner,
            pending: HashMap::new(),
            sinks: HashMap::new(),
            newest: -1,
            raw,
            events,
        }
    }

    fn sending(&mut self, message: &TxJsonRpcMessage<RoleClient>) {
        match message {
            JsonRpcMessage::Request(request) => {
                let id = request.id.clone();
                if let NumberOrString::Number(number) = id {
                    self.newest = self.newest.max(number);
                }
                let mut token = None;
                match &request.request {
                    // Who begins anew waits for no answer from before.
                    ClientRequest::InitializeRequest(_) | ClientRequest::DiscoverRequest(_) => {
                        self.pending.clear();
                    }
                    ClientRequest::CallToolRequest(call) => {
                        let asked = request.request.get_meta().get_progress_token();
                        if let (Some(asked), Some(sink)) = (asked, call.extensions.get::<Sink>()) {
                            self.sinks.insert(asked.clone(), sink.clone());
                            token = Some(asked);
                        }
                    }
                    _ => {}
                }
                self.pending.insert(id, token);
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.settle(id);
                    self.take_raw(id);
                }
            }
            _ => {}
        }
    }

    /// Whether an answer to `id` was waited for; it no longer is.
    fn settle(&mut self, id: &RequestId) -> bool {
        let found = self.pending.remove(id);
        let found = found.or_else(|| self.pending.remove(&number(id)?));
        if let Some(Some(token)) = &found {
            self.sinks.remove(token);
        }
        if found.is_some() {
            return true;
        }
        let known = match number(id).as_ref().unwrap_or(id) {
            NumberOrString::Number(number) => (0..=self.newest).contains(number),
            NumberOrString::String(_) => false,
        };
        if known {
            tracing::debug!(%id, "an MCP server answered late, or once more");
        } else {
            (self.events)(SessionEvent::Garbage(format!(
                "an answer to a request that there never was: {}",
                toolfall_layers::printable(&id.to_string(), 80)
            )));
        }
        false
    }

    fn take_raw(&self, id: &RequestId) -> Option<Value> {
        self.raw.as_ref()?.take(id)
    }

    /// What is to go on to the protocol.
    fn received(
        &mut self,
        message: RxJsonRpcMessage<RoleClient>,
    ) -> Option<RxJsonRpcMessage<RoleClient>> {
        match message {
            JsonRpcMessage::Notification(notification) => match notification.notification {
                ServerNotification::ProgressNotification(step) => {
                    if let Some(sink) = self.sinks.get(&step.params.progress_token) {
                        sink.tell(step.params);
                    }
                    None
                }
                ServerNotification::ToolListChangedNotification(_) => {
                    (self.events)(SessionEvent::ToolsChanged);
                    None
                }
                kept @ (ServerNotification::CancelledNotification(_)
                | ServerNotification::SubscriptionsAcknowledgedNotification(_)) => {
                    Some(JsonRpcMessage::notification(kept))
                }
                _ => None,
            },
            JsonRpcMessage::Response(mut response) => {
                if !self.settle(&response.id) {
                    self.take_raw(&response.id);
                    return None;
                }
                if let Some(raw) = self.take_raw(&response.id) {
                    response.result = ServerResult::CustomResult(CustomResult::new(raw));
                }
                Some(JsonRpcMessage::Response(response))
            }
            JsonRpcMessage::Error(error) => {
                if let Some(id) = &error.id {
                    return self.settle(id).then_some(JsonRpcMessage::Error(error));
                }
                let message = toolfall_layers::printable(&error.error.message, 200);
                (self.events)(SessionEvent::Garbage(format!(
                    "an error for no request: {message} ({})",
                    error.error.code.0
                )));
                Some(JsonRpcMessage::Error(error))
            }
            request @ JsonRpcMessage::Request(_) => Some(request),
        }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Watched<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.sending(&item);
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = self.inner.receive().await?;
            if let Some(message) = self.received(message) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
