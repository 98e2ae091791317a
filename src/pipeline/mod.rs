//! The standard stack, assembled.
//!
//! [`Pipeline::builder`] puts the stages in their one order and keeps the
//! concrete types, so that nothing is boxed on the way of a call:
//!
//! ```text
//! result notify → post-execute → pre-decision → approval → guard → around … → tool
//! ```
//!
//! ```
//! use tokio_util::sync::CancellationToken;
//! use toolfall::*;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BoxError> {
//! let registry = Registry::new();
//! registry.register(tool_fn("greet", "Greets", |_: serde_json::Value, _: ToolContext| async {
//!     Ok::<_, BoxError>("hello".to_owned())
//! }))?.keep();
//!
//! let pipeline = Pipeline::builder(registry)
//!     .pre_decision(|call: &CallView| match call.name() {
//!         "greet" => Decision::Allow,
//!         _ => Decision::ask("not on the list"),
//!     })
//!     .guard(|_: &CallView| None::<Denial>)
//!     .build();
//!
//! let result = pipeline.call("call_1", "greet", "{}", CancellationToken::new()).await;
//! assert_eq!(result.text(), "hello");
//! # Ok(()) }
//! ```
//!
//! # By hand
//!
//! The same stack, written with [`ServiceBuilder`](tower::ServiceBuilder),
//! with tower's own layers where they fit. The types enforce the order of the
//! decision stages and of what wraps the dispatch; that post-execute stands
//! outside the decisions is up to you:
//!
//! ```
//! use std::time::Duration;
//! use tokio_util::sync::CancellationToken;
//! use toolfall::*;
//! use tower::{ServiceBuilder, ServiceExt};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BoxError> {
//! let registry = Registry::new();
//! let stack = ServiceBuilder::new()
//!     .layer(ResultNotifyLayer::new().catalog(registry.catalog()))
//!     .layer(PostExecuteLayer::new(|_: &PostRequest| PostDecision::accept()))
//!     .layer(PreDecisionLayer::new(|_: &CallView| Decision::Allow))
//!     .layer(ApprovalLayer::unavailable())
//!     .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
//!     .concurrency_limit(64)
//!     .layer(TimeoutLayer::new(Duration::from_secs(30)))
//!     .service(ToolService::new(registry));
//! let call = CallRequest::new("1", "nope", "{}", CancellationToken::new());
//! let result = stack.oneshot(call).await?;
//! assert_eq!(result.text(), "Error: unknown tool \"nope\"");
//! # Ok(()) }
//! ```
//!
//! A limit like the one above is shared with the calls that tools make
//! through [`ToolContext::call_tool`](crate::ToolContext::call_tool): a parent
//! holds its permit while it waits for its child, so a limit can deadlock
//! there. The limit of a [`Scheduler`] does not.

mod builder;

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio_util::sync::CancellationToken;
use tower::util::{BoxCloneSyncService, ServiceExt as _};
use tower_service::Service;

pub use self::builder::{Fresh, Guarded, NoGuard, PipelineBuilder};
use crate::registry::Registry;
use crate::scheduler::Scheduler;
use crate::tool::Reentry;
use crate::{CallId, CallRequest, IntoArguments, ToolResult};

/// What every pipeline is: it takes a request, gives a result, cannot fail.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no pipeline",
    label = "expected a `tower::Service<CallRequest, Response = ToolResult, Error = Infallible>`",
    note = "only `ResultNotifyLayer` turns a stack into one; a bare tool or leaf service cannot be scheduled"
)]
pub trait PipelineService:
    Service<CallRequest, Response = ToolResult, Error = Infallible> + Clone
{
}

impl<S> PipelineService for S where
    S: Service<CallRequest, Response = ToolResult, Error = Infallible> + Clone
{
}

/// A pipeline whose type has a short name.
pub type BoxPipeline = Pipeline<BoxCloneSyncService<CallRequest, ToolResult, Infallible>>;

/// An assembled stack with its registry. See the [module docs](self).
#[derive(Clone)]
pub struct Pipeline<S> {
    service: S,
    registry: Registry,
    /// Kept so that composite tools find back in while any clone lives.
    reentry: Arc<Reentry>,
}

impl Pipeline<()> {
    /// Starts a standard stack over the tools in `registry`.
    pub fn builder(registry: Registry) -> Fresh {
        builder::fresh(registry)
    }
}

impl<S> Pipeline<S> {
    /// The registry whose tools the pipeline runs.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }
}

impl<S: PipelineService> Pipeline<S> {
    /// Makes one call and waits for its result.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the call; its result is still recorded and
    /// observers are still notified.
    pub async fn call(
        &self,
        id: impl Into<CallId>,
        name: impl Into<Cow<'static, str>>,
        arguments: impl IntoArguments,
        cancellation: CancellationToken,
    ) -> ToolResult {
        self.run(CallRequest::new(id, name, arguments, cancellation))
            .await
    }

    /// Runs one request and waits for its result.
    ///
    /// # Cancel safety
    ///
    /// As [`call`](Self::call).
    pub async fn run(&self, request: CallRequest) -> ToolResult {
        match self.service.clone().oneshot(request).await {
            Ok(result) => result,
            Err(never) => match never {},
        }
    }
}

impl<S: PipelineService> Pipeline<S> {
    /// A scheduler of batches over this pipeline.
    pub fn scheduler(&self) -> Scheduler<Self> {
        Scheduler::new(self.clone(), self.registry.clone())
    }
}

impl<S> Pipeline<S>
where
    S: PipelineService + Send + Sync + 'static,
    S::Future: Send,
{
    /// The same pipeline under a short type, at the price of one box a call.
    pub fn boxed(self) -> BoxPipeline {
        Pipeline {
            service: BoxCloneSyncService::new(self.service),
            registry: self.registry,
            reentry: self.reentry,
        }
    }
}

impl<S: PipelineService> Service<CallRequest> for Pipeline<S> {
    type Response = ToolResult;
    type Error = Infallible;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, request: CallRequest) -> S::Future {
        self.service.call(request)
    }
}

impl<S> fmt::Debug for Pipeline<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipeline")
            .field("registry", &self.registry)
            .finish_non_exhaustive()
    }
}
