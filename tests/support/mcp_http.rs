//! Servers behind HTTP: a real one, and one whose answers a test writes.
#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities,
    ServerConfig, SubscriptionFilter, Tool,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, Peer, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Serves until it is dropped.
pub struct Served {
    pub address: SocketAddr,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl Served {
    pub async fn at(address: SocketAddr, router: Router, stop: CancellationToken) -> Self {
        let listener = loop {
            // The port of a server that was just stopped takes a moment.
            match TcpListener::bind(address).await {
                Ok(listener) => break listener,
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
            }
        };
        let address = listener.local_addr().unwrap();
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            let serving = axum::serve(listener, router).into_future();
            tokio::select! {
                served = serving => served.unwrap(),
                () = stopped.cancelled() => {}
            }
        });
        Self {
            address,
            stop,
            task,
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub async fn stop(mut self) {
        self.stop.cancel();
        let _ = (&mut self.task).await;
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.cancel();
        self.task.abort();
    }
}

pub fn anywhere() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// What a real server keeps of what happened.
#[derive(Clone, Default)]
pub struct Real {
    /// The tools, by name.
    pub tools: Arc<Mutex<Vec<&'static str>>>,
    pub changed: Arc<Notify>,
    /// Told when a call of the tool `never` was cancelled.
    pub cancelled: Arc<Notify>,
    pub peer: Arc<Mutex<Option<Peer<RoleServer>>>>,
    /// Every request: its method and its headers.
    pub requests: Arc<Mutex<Vec<(Method, HeaderMap)>>>,
    /// Every request is refused with this.
    pub refuse: Arc<Mutex<Option<StatusCode>>>,
}

impl Real {
    pub fn new(tools: &[&'static str]) -> Self {
        let real = Self::default();
        *real.tools.lock().unwrap() = tools.to_vec();
        real
    }

    pub async fn serve(&self, address: SocketAddr) -> Served {
        let stop = CancellationToken::new();
        let mut config = StreamableHttpServerConfig::default();
        config.cancellation_token = stop.child_token();
        let real = self.clone();
        let service: StreamableHttpService<Real, LocalSessionManager> =
            StreamableHttpService::new(move || Ok(real.clone()), Arc::default(), config);
        let router = Router::new()
            .nest_service("/mcp", service)
            .layer(middleware::from_fn_with_state(self.clone(), note));
        Served::at(address, router, stop).await
    }

    /// Other tools from now on; says so to everybody who listens.
    pub async fn change(&self, tools: &[&'static str]) {
        *self.tools.lock().unwrap() = tools.to_vec();
        self.changed.notify_waiters();
        let peer = self.peer.lock().unwrap().clone();
        if let Some(peer) = peer {
            let _ = peer.notify_tool_list_changed().await;
        }
    }
}

async fn note(State(real): State<Real>, request: Request, next: Next) -> Response {
    let noted = (request.method().clone(), request.headers().clone());
    real.requests.lock().unwrap().push(noted);
    let refuse = *real.refuse.lock().unwrap();
    match refuse {
        None => next.run(request).await,
        Some(status) => {
            let asks = [("www-authenticate", "Bearer realm=\"here\"")];
            (status, asks, "no").into_response()
        }
    }
}

impl ServerHandler for Real {
    fn get_info(&self) -> ServerConfig {
        let tools = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        ServerConfig::new(tools)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let any = JsonObject::from_iter([("type".to_owned(), json!("object"))]);
        let tools = self.tools.lock().unwrap().clone();
        let tools = tools
            .into_iter()
            .map(|name| Tool::new(name, "", any.clone()));
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        *self.peer.lock().unwrap() = Some(context.peer.clone());
        if call.name == "slow" {
            let token = context
                .meta
                .get_progress_token()
                .expect("a token of progress");
            for step in 1..=3 {
                let step = ProgressNotificationParam::new(token.clone(), f64::from(step));
                let _ = context.peer.notify_progress(step).await;
            }
        }
        if call.name == "never" {
            context.ct.cancelled().await;
            self.cancelled.notify_one();
        }
        let text = serde_json::to_string(&call.arguments).unwrap();
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }

    fn accepted_subscription_filter(
        &self,
        asked: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(asked.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = self.changed.notified() => {
                    let _ = context.sink().notify_tool_list_changed().await;
                }
            }
        }
    }
}

/// How a scripted server answers a call.
#[derive(Clone)]
pub enum Says {
    /// As one body of JSON.
    Json(String),
    /// As events; each text is the data of one.
    Events(Vec<String>),
    Status(StatusCode),
    /// Elsewhere.
    Redirect(String),
}

/// A server that answers each call of its one tool `work` with what a test
/// wrote: `ID` in it stands for the id of the request.
#[derive(Clone, Default)]
pub struct Scripted {
    pub says: Arc<Mutex<Option<Says>>>,
    pub messages: Arc<Mutex<Vec<Value>>>,
    pub headers: Arc<Mutex<Vec<HeaderMap>>>,
}

impl Scripted {
    pub async fn serve(&self) -> Served {
        let router = Router::new()
            .route("/mcp", axum::routing::any(scripted))
            .route("/other", axum::routing::any(scripted))
            .with_state(self.clone());
        Served::at(anywhere(), router, CancellationToken::new()).await
    }

    pub fn say(&self, says: Says) {
        *self.says.lock().unwrap() = Some(says);
    }
}

async fn scripted(
    State(script): State<Scripted>,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    script.headers.lock().unwrap().push(headers);
    if method != Method::POST {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let message: Value = serde_json::from_slice(&body).unwrap();
    script.messages.lock().unwrap().push(message.clone());
    let id = &message["id"];
    let says = match message["method"].as_str() {
        _ if id.is_null() => Says::Status(StatusCode::ACCEPTED),
        Some("initialize") => result(&json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "script", "version": "1"},
        })),
        Some("tools/list") => result(&json!({
            "tools": [{"name": "work", "inputSchema": {"type": "object"}, "x-more": 1}],
        })),
        Some("tools/call") => script.says.lock().unwrap().clone().unwrap(),
        _ => Says::Json(
            r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"Method not found"}}"#
                .to_owned(),
        ),
    };
    let whole = |text: String| text.replace("ID", &id.to_string());
    match says {
        Says::Json(text) => ([("content-type", "application/json")], whole(text)).into_response(),
        Says::Events(data) => {
            let mut events = String::new();
            for data in data {
                events.push_str("event: message\ndata: ");
                events.push_str(&whole(data));
                events.push_str("\n\n");
            }
            ([("content-type", "text/event-stream")], Body::from(events)).into_response()
        }
        Says::Status(status) => status.into_response(),
        Says::Redirect(to) => (StatusCode::TEMPORARY_REDIRECT, [("location", to)]).into_response(),
    }
}

fn result(result: &Value) -> Says {
    Says::Json(format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{result}}}"
    ))
}
