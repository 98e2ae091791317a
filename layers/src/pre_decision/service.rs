use std::fmt;
use std::task::{Context, Poll};

use tower_service::Service;

use super::{Decision, ResponseFuture};
use crate::call::{CallView, ToolCall};
use crate::error::{BoxError, Part};
use crate::outcome::ToolOutcome;
use crate::policy::{Asking, Policy};

/// Asks a policy about each call before it goes on.
#[derive(Clone)]
pub struct PreDecision<S, P> {
    inner: S,
    policy: P,
}

impl<S, P> PreDecision<S, P> {
    pub(crate) const fn new(inner: S, policy: P) -> Self {
        Self { inner, policy }
    }
}

impl<S, P> Service<ToolCall> for PreDecision<S, P>
where
    S: Service<ToolCall, Response = ToolOutcome> + Clone,
    S::Error: Into<BoxError>,
    P: Policy<CallView, Decision>,
{
    type Response = ToolOutcome;
    type Error = BoxError;
    type Future = ResponseFuture<S, P::Future>;

    /// Ready at once: the inner service is readied after the policy has
    /// answered, so that no permit is held while it thinks.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: ToolCall) -> Self::Future {
        let asking = Asking::new(&self.policy, &call.view, Part::Policy);
        ResponseFuture::new(asking, call, self.inner.clone())
    }
}

impl<S: fmt::Debug, P> fmt::Debug for PreDecision<S, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreDecision")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}
