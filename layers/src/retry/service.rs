use std::task::{Context, Poll};

use tower_service::Service;

use super::{ResponseFuture, RetryLayer};
use crate::call::{Call as _, ClearedCall};
use crate::outcome::ToolOutcome;

/// Dispatches failed calls of repeatable tools again.
#[derive(Clone, Debug)]
pub struct Retry<S> {
    inner: S,
    config: RetryLayer,
}

impl<S> Retry<S> {
    pub(crate) const fn new(inner: S, config: RetryLayer) -> Self {
        Self { inner, config }
    }
}

impl<S> Service<ClearedCall> for Retry<S>
where
    S: Service<ClearedCall, Response = ToolOutcome> + Clone,
{
    type Response = ToolOutcome;
    type Error = S::Error;
    type Future = ResponseFuture<S>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: ClearedCall) -> Self::Future {
        let repeatable = call
            .view()
            .definition()
            .is_some_and(|tool| tool.is_repeatable());
        let spare = repeatable.then(|| (self.inner.clone(), call.reissue()));
        ResponseFuture::new(self.inner.call(call), spare, self.config)
    }
}
