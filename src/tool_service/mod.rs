//! The leaf of the stack: runs a cleared call's body.
//!
//! At the body boundary, and in this order: the tokens are checked, the tool
//! is resolved as the caller's scope sees it now, the arguments are judged
//! and decoded, the body is entered. What it returns is validated against
//! the output schema and rendered. A panic is the body's failure.
//!
//! ```
//! use tokio_util::sync::CancellationToken;
//! use tower::{ServiceBuilder, ServiceExt};
//! use toolfall::*;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BoxError> {
//! let registry = Registry::new();
//! registry.register(tool_fn("now", "Tells the hour", |_: serde_json::Value, _: ToolContext| async {
//!     Ok::<_, BoxError>("noon".to_owned())
//! }))?.keep();
//! let stack = ServiceBuilder::new()
//!     .layer(ResultNotifyLayer::new().catalog(registry.catalog()))
//!     .layer(ApprovalLayer::unavailable())
//!     .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
//!     .service(ToolService::new(registry));
//! let call = CallRequest::new("1", "now", "{}", CancellationToken::new());
//! assert_eq!(stack.oneshot(call).await?.text(), "noon");
//! # Ok(()) }
//! ```

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use toolfall_layers::{BodyFuture, Call as _, Catalog as _, ClearedCall, Definition, ToolOutcome};
use tower_service::Service;

use crate::registry::{Registry, entry_of};
use crate::tool::{Barred, Reentry, ToolContext};

/// Runs the bodies of the tools in a [`Registry`]. Always ready.
#[derive(Clone)]
// Shared as a whole: every stage that waits clones what is inside it.
pub struct ToolService(Arc<Inner>);

struct Inner {
    registry: Registry,
    reentry: Weak<Reentry>,
}

impl ToolService {
    /// A leaf over `registry`, whose composite tools have no way back into a
    /// pipeline; [`Pipeline`](crate::Pipeline) gives them one.
    pub fn new(registry: Registry) -> Self {
        Self(Arc::new(Inner {
            registry,
            reentry: Weak::new(),
        }))
    }

    pub(crate) fn with_reentry(registry: Registry, reentry: &Arc<Reentry>) -> Self {
        Self(Arc::new(Inner {
            registry,
            reentry: Arc::downgrade(reentry),
        }))
    }

    fn start(&self, call: ClearedCall) -> BodyFuture {
        let Inner { registry, reentry } = &*self.0;
        call.enter_with(|body| {
            // The catalog that minted the call may remember the tool; a leaf
            // under another catalog looks for itself.
            let entry = body.definition().and_then(entry_of);
            let entry = entry.or_else(|| registry.find(body.name(), body.scope()));
            let Some(entry) = entry else {
                return Err(registry.unknown(body.call()));
            };
            // Decided about a harmless tool, or about none, and then replaced.
            if let Some(refusal) = Barred::refusal(body.call(), &*entry) {
                return Err(refusal);
            }
            // The one that runs may have more to hide than the one decided about.
            if let Some(redaction) = entry.redaction() {
                body.call().redact(redaction);
            }
            let body = entry.prepare(ToolContext::new(body, reentry.clone()))?;
            Ok((entry as Arc<dyn Definition>, body))
        })
    }
}

impl Service<ClearedCall> for ToolService {
    type Response = ToolOutcome;
    type Error = Infallible;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: ClearedCall) -> ResponseFuture {
        ResponseFuture(self.start(call))
    }
}

impl fmt::Debug for ToolService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolService")
            .field("registry", &self.0.registry)
            .finish_non_exhaustive()
    }
}

/// The future of [`ToolService`].
///
/// # Cancel safety
///
/// Dropping it never abandons a body that has begun: the body is cancelled
/// through its own token and driven to its end on a drain task.
#[must_use = "futures do nothing unless polled"]
pub struct ResponseFuture(BodyFuture);

impl Future for ResponseFuture {
    type Output = Result<ToolOutcome, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map(Ok)
    }
}

impl fmt::Debug for ResponseFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
