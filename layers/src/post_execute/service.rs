use std::fmt;
use std::task::{Context, Poll};

use tower_service::Service;

use super::{PostDecision, PostRequest, ResponseFuture};
use crate::call::ToolCall;
use crate::error::BoxError;
use crate::outcome::ToolOutcome;
use crate::policy::Policy;

/// Asks a policy about each outcome.
#[derive(Clone)]
pub struct PostExecute<S, P> {
    inner: S,
    policy: P,
}

impl<S, P> PostExecute<S, P> {
    pub(crate) const fn new(inner: S, policy: P) -> Self {
        Self { inner, policy }
    }
}

impl<S, P> Service<ToolCall> for PostExecute<S, P>
where
    S: Service<ToolCall, Response = ToolOutcome>,
    S::Error: Into<BoxError>,
    P: Policy<PostRequest, PostDecision> + Clone,
{
    type Response = ToolOutcome;
    type Error = BoxError;
    type Future = ResponseFuture<S::Future, P, P::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, call: ToolCall) -> Self::Future {
        let view = call.view.clone();
        ResponseFuture::new(self.inner.call(call), self.policy.clone(), view)
    }
}

impl<S: fmt::Debug, P> fmt::Debug for PostExecute<S, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostExecute")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}
