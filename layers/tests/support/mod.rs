//! A tool, a catalog and a leaf for the tests of the stages.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test binary uses its own part"
)]

pub mod chaos;
pub mod data;

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolfall_layers::*;
use tower_service::Service;

/// A call of `name` that nobody cancels, made by an agent.
pub fn request(name: &'static str) -> CallRequest {
    request_with(name, &CancellationToken::new())
}

/// A call of `name` that `token` cancels, made by an agent.
pub fn request_with(name: &'static str, token: &CancellationToken) -> CallRequest {
    CallRequest::new("call_1", name, r#"{"a":1}"#, token.clone()).with_scope(Scope::new("agent"))
}

/// A context with `text`, from the plugin `test`.
pub fn context(text: &str) -> ContextMessage {
    ContextMessage::text("plugin", "test", text)
}

/// The texts of contexts, in order.
pub fn texts(contexts: &[ContextMessage]) -> Vec<String> {
    let text = |message: &ContextMessage| message.content[0].as_text().unwrap_or("").to_owned();
    contexts.iter().map(text).collect()
}

/// Waits for `polls` polls, waking itself each time.
pub async fn polls(polls: usize) {
    let mut left = polls;
    poll_fn(move |cx| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Panics, and lets the compiler believe that it may return.
pub fn bug(text: &'static str) {
    panic!("{text}");
}

/// Lets everything that can run on the paused runtime run.
pub async fn settle() {
    tokio::time::sleep(Duration::from_secs(3_600)).await;
}

/// An ordered list of what happened.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub fn add(&self, entry: impl Into<String>) {
        self.0.lock().unwrap().push(entry.into());
    }

    pub fn entries(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub fn count(&self, entry: &str) -> usize {
        let entries = self.0.lock().unwrap();
        entries.iter().filter(|known| *known == entry).count()
    }
}

type Render = dyn Fn(&Value) -> Result<String, String> + Send + Sync;
type Finalize = dyn Fn(&ToolOutcome) -> Result<Option<Vec<ContentBlock>>, BoxError> + Send + Sync;
type Check = dyn Fn() -> Result<(), ToolOutcome> + Send + Sync;

/// A tool whose parts a test chooses. It renders `value: <json>`.
#[derive(Default)]
pub struct Tool {
    pub budget: Option<Duration>,
    pub repeatable: bool,
    pub render: Option<Box<Render>>,
    pub finalize: Option<Box<Finalize>>,
    pub check: Option<Box<Check>>,
}

impl Definition for Tool {
    fn budget(&self) -> Option<Duration> {
        self.budget
    }

    fn is_repeatable(&self) -> bool {
        self.repeatable
    }

    fn check_arguments(&self, _: &CallView, _: &Arguments) -> Result<(), ToolOutcome> {
        self.check.as_ref().map_or(Ok(()), |check| check())
    }

    fn render(&self, call: &CallView, value: Value) -> Result<Rendered, ToolOutcome> {
        let text = match &self.render {
            None => format!("value: {value}"),
            Some(render) => render(&value)
                .map_err(|violation| ToolOutcome::invalid_output(call.name(), &[violation]))?,
        };
        Ok(Rendered {
            value,
            content: vec![ContentBlock::text(text)],
            meta: Some(json!({"shown": true})),
        })
    }

    fn has_finalizer(&self) -> bool {
        self.finalize.is_some()
    }

    fn finalize(
        &self,
        _: &CallView,
        outcome: &ToolOutcome,
    ) -> Result<Option<Vec<ContentBlock>>, BoxError> {
        self.finalize
            .as_ref()
            .map_or(Ok(None), |finalize| finalize(outcome))
    }
}

/// A catalog in which every name is the one tool, which may go and come.
#[derive(Clone, Default)]
pub struct Shelf(Arc<(Place, AtomicU64)>);

type Place = Mutex<Option<Arc<dyn Definition>>>;

impl Shelf {
    pub fn of(tool: Tool) -> Self {
        let shelf = Self::default();
        shelf.put(Some(Arc::new(tool)));
        shelf
    }

    pub fn put(&self, tool: Option<Arc<dyn Definition>>) {
        *self.0.0.lock().unwrap() = tool;
        self.0.1.fetch_add(1, Ordering::SeqCst);
    }

    /// A result stage that looks tools up here.
    pub fn stage(&self) -> ResultNotifyLayer {
        ResultNotifyLayer::new().catalog(Arc::new(self.clone()))
    }
}

impl Catalog for Shelf {
    fn resolve(&self, _: &CallView) -> Option<Arc<dyn Definition>> {
        self.0.0.lock().unwrap().clone()
    }

    fn generation(&self) -> u64 {
        self.0.1.load(Ordering::SeqCst)
    }
}

/// The end of a stack: enters a body for the tool that the catalog knows.
#[derive(Clone)]
pub struct Leaf(Arc<dyn Fn(BodyContext) -> BoxBody + Send + Sync>);

impl Leaf {
    pub fn new<F, Fut>(body: F) -> Self
    where
        F: Fn(BodyContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, BoxError>> + Send + 'static,
    {
        Self(Arc::new(move |context| Box::pin(body(context))))
    }

    /// A body that returns `value` at once.
    pub fn returning(value: impl Into<Value>) -> Self {
        let value = value.into();
        Self::new(move |_| std::future::ready(Ok(value.clone())))
    }

    /// A body made by a function that may itself panic.
    pub fn made_by(body: impl Fn(BodyContext) -> BoxBody + Send + Sync + 'static) -> Self {
        Self(Arc::new(body))
    }

    /// Enters the body now.
    pub fn enter(&self, call: ClearedCall) -> BodyFuture {
        if call.is_cancelled() {
            return BodyFuture::refused(ToolOutcome::aborted(call.view().was_entered()));
        }
        match call.view().definition() {
            None => BodyFuture::refused(ToolOutcome::unknown_tool(call.name())),
            Some(definition) => {
                let body = self.0.clone();
                call.enter(definition, move |context| body(context))
            }
        }
    }
}

pub type Answered = Result<ToolOutcome, BoxError>;

impl Service<ClearedCall> for Leaf {
    type Response = ToolOutcome;
    type Error = BoxError;
    type Future = futures_util::future::Map<BodyFuture, fn(ToolOutcome) -> Answered>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: ClearedCall) -> Self::Future {
        self.enter(call).map(Ok)
    }
}

/// A stack from the result stage over `shelf` down to `leaf`, without
/// policies.
pub fn bare(shelf: &Shelf, leaf: Leaf) -> impl CallService {
    tower::ServiceBuilder::new()
        .layer(shelf.stage())
        .layer(ApprovalLayer::unavailable())
        .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
        .service(leaf)
}

/// As [`bare`], with around layers between the guard and the leaf.
pub fn around<L>(shelf: &Shelf, layer: L, leaf: Leaf) -> impl CallService
where
    L: tower_layer::Layer<Leaf>,
    L::Service: Service<ClearedCall, Response = ToolOutcome> + Clone + Send + Sync + 'static,
    <L::Service as Service<ClearedCall>>::Error: Into<BoxError>,
    <L::Service as Service<ClearedCall>>::Future: Send + 'static,
{
    tower::ServiceBuilder::new()
        .layer(shelf.stage())
        .layer(ApprovalLayer::unavailable())
        .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
        .service(layer.layer(leaf))
}

/// What a whole stack is to its caller.
pub trait CallService:
    Service<
        CallRequest,
        Response = ToolResult,
        Error = std::convert::Infallible,
        Future: Send + 'static,
    > + Clone
    + Send
    + Sync
    + 'static
{
    /// Calls and waits for the result.
    fn run(&self, request: CallRequest) -> impl Future<Output = ToolResult> + Send {
        let mut stack = self.clone();
        async move {
            poll_fn(|cx| stack.poll_ready(cx)).await.unwrap();
            stack.call(request).await.unwrap()
        }
    }
}

impl<S> CallService for S where
    S: Service<
            CallRequest,
            Response = ToolResult,
            Error = std::convert::Infallible,
            Future: Send + 'static,
        > + Clone
        + Send
        + Sync
        + 'static
{
}

/// An around layer made of a function that gets the inner service and the
/// call, and owns both.
#[derive(Clone)]
pub struct Around<F>(pub F);

impl<S, F: Clone> tower_layer::Layer<S> for Around<F> {
    type Service = AroundService<S, F>;

    fn layer(&self, inner: S) -> Self::Service {
        AroundService {
            inner,
            f: self.0.clone(),
        }
    }
}

#[derive(Clone)]
pub struct AroundService<S, F> {
    inner: S,
    f: F,
}

impl<S, F, Fut> Service<ClearedCall> for AroundService<S, F>
where
    S: Service<ClearedCall, Response = ToolOutcome, Error = BoxError> + Clone,
    F: Fn(S, ClearedCall) -> Fut,
    Fut: Future<Output = Answered> + Send + 'static,
{
    type Response = ToolOutcome;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Answered> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: ClearedCall) -> Self::Future {
        let fresh = self.inner.clone();
        let ready = std::mem::replace(&mut self.inner, fresh);
        Box::pin((self.f)(ready, call))
    }
}

/// Asserts that a service can be shared as a tower service is.
pub fn assert_shareable<T: Clone + Send + Sync>(_: &T) {}

/// Asserts that a future may be spawned.
pub fn assert_send<T: Send>(_: &T) {}
