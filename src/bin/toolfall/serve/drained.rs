//! Knowing when the last call of a pipeline has ended.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolfall::pipeline::BoxPipeline;
use toolfall::{CallRequest, ToolResult};
use tower::Service;

/// A pipeline whose token is cancelled when it is dropped and none of its
/// calls runs any more.
#[derive(Clone)]
pub(super) struct Drained {
    inner: BoxPipeline,
    held: Arc<DropGuard>,
}

impl Drained {
    pub(super) fn new(inner: BoxPipeline, token: CancellationToken) -> Self {
        Self {
            inner,
            held: Arc::new(token.drop_guard()),
        }
    }
}

impl Service<CallRequest> for Drained {
    type Response = ToolResult;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<ToolResult, Infallible>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Service::poll_ready(&mut self.inner, cx)
    }

    fn call(&mut self, request: CallRequest) -> Self::Future {
        let call = Service::call(&mut self.inner, request);
        let held = self.held.clone();
        Box::pin(async move {
            let result = call.await;
            drop(held);
            result
        })
    }
}
