use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use tower_service::Service;

use super::{Host, ResponseFuture};
use crate::call::{CallRequest, ToolCall};
use crate::error::BoxError;
use crate::outcome::{ToolOutcome, ToolResult};
use crate::panic::catch;

/// Mints calls and publishes their results.
#[derive(Clone)]
pub struct ResultNotify<S> {
    inner: S,
    host: Arc<Host>,
}

impl<S> ResultNotify<S> {
    pub(crate) const fn new(inner: S, host: Arc<Host>) -> Self {
        Self { inner, host }
    }
}

impl<S> Service<CallRequest> for ResultNotify<S>
where
    S: Service<ToolCall, Response = ToolOutcome> + Clone,
    S::Error: Into<BoxError>,
{
    type Response = ToolResult;
    type Error = Infallible;
    type Future = ResponseFuture<S>;

    /// Always ready: the inner stack is readied once the call is recorded,
    /// and what it fails with becomes the call's result.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: CallRequest) -> Self::Future {
        // Caught, because a panic here would kill the worker of a buffer.
        let service = catch(|| self.inner.clone());
        ResponseFuture::new(service, self.host.clone(), request)
    }
}

impl<S: fmt::Debug> fmt::Debug for ResultNotify<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResultNotify")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}
