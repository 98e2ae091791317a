//! What the protocol asks of the server.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorCode, ErrorData, Implementation,
    InitializeRequestParams, InitializeResult, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, SubscriptionFilter, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use tokio_util::sync::CancellationToken;

use super::shared::Shared;
use super::state::{Life, State, Within};
use super::transport::TOO_MANY;
use super::{calls, listing, notices};
use crate::Scope;

/// Answers one session, or one request that has none.
pub(super) struct Handler {
    pub(super) shared: Arc<Shared>,
    pub(super) life: Life,
}

impl Handler {
    /// The session that a request came in, and whether that is more than the
    /// request itself.
    fn state(&self, context: &RequestContext<RoleServer>) -> (Arc<State>, bool) {
        match context.extensions.get::<Within>() {
            Some(Within(state)) => (state.clone(), true),
            None => (State::new(&self.shared, &self.life), false),
        }
    }

    fn scope(
        &self,
        state: &State,
        context: &RequestContext<RoleServer>,
    ) -> Result<Scope, ErrorData> {
        let scope = state.scope(&self.shared, context);
        scope.ok_or_else(|| ErrorData::internal_error("the session has no scope", None))
    }

    async fn tell(
        &self,
        state: &State,
        scope: Scope,
        context: SubscriptionContext,
    ) -> Result<(), ErrorData> {
        let end = CancellationToken::new();
        let _end = end.clone().drop_guard();
        let mut watch = notices::Watch::new(&self.shared, scope);
        loop {
            tokio::select! {
                biased;
                () = context.cancelled() => return Ok(()),
                () = state.stop.cancelled() => return Ok(()),
                more = watch.changed(&end) => {
                    if !more || context.sink().notify_tool_list_changed().await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }
}

pub(super) fn too_many() -> ErrorData {
    let message = "expected fewer calls at once: wait for results";
    ErrorData::new(TOO_MANY, message, None)
}

pub(super) fn stopping() -> ErrorData {
    ErrorData::new(ErrorCode::INTERNAL_ERROR, "the server shuts down", None)
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let identity = &self.shared.identity;
        let mut server = Implementation::new(&*identity.name, &*identity.version);
        server.title.clone_from(&identity.title);
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        let mut info = ServerConfig::new(capabilities).with_server_info(server);
        info.instructions.clone_from(&identity.instructions);
        info
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let answer = self.negotiate_initialize(&request)?;
        let mut info = request;
        info.protocol_version = answer.protocol_version.clone();
        context.peer.set_peer_info(info);
        let (state, _) = self.state(&context);
        self.scope(&state, &context)?;
        Ok(answer)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let Some(Within(state)) = context.extensions.get::<Within>().cloned() else {
            return;
        };
        let Some(scope) = state.known_scope() else {
            return;
        };
        if !state.watch_once() {
            return;
        }
        let end = state.token.clone();
        let mut watch = notices::Watch::new(&self.shared, scope);
        tokio::spawn(async move {
            while watch.changed(&end).await {
                if context.peer.notify_tool_list_changed().await.is_err() {
                    break;
                }
            }
        });
    }

    fn accepted_subscription_filter(&self, _: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut filter = SubscriptionFilter::default();
        filter.tools_list_changed = Some(true);
        Some(filter)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let (state, _) = self.state(context.request_context());
        let scope = self.scope(&state, context.request_context())?;
        let _permit = self.shared.listener().ok_or_else(too_many)?;
        self.tell(&state, scope, context).await
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let (state, _) = self.state(&context);
        let scope = self.scope(&state, &context)?;
        let cursor = request.and_then(|request| request.cursor);
        listing::page(
            &self.shared.served().registry,
            &scope,
            cursor.as_deref(),
            self.shared.limits.page,
            self.shared.structured,
        )
    }

    /// For headers that repeat arguments: a hidden tool has none.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        let def = self.shared.served().registry.get(name, None)?;
        let schema = def.parameters().as_object()?.clone();
        Some(Tool::new(name.to_owned(), "", schema))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (state, is_session) = self.state(&context);
        let _answering = state.call(context.id.clone());
        if state.stop.is_cancelled() {
            return Err(stopping());
        }
        let scope = self.scope(&state, &context)?;
        let caller = calls::Caller {
            shared: &self.shared,
            state: &state,
            is_session,
            scope,
        };
        caller.call(request, context).await
    }
}
