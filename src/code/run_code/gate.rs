//! Holds the lane while too many copies for the log are not written.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use tower_service::Service;

use crate::tool::Entry;
use crate::{CallRequest, ToolResult};

/// The way into the pipeline, which nothing passes while it is held.
#[derive(Clone)]
pub(super) struct Gate {
    entry: Entry,
    held: Arc<AtomicBool>,
}

impl Gate {
    pub(super) fn new(entry: Entry) -> Self {
        Self {
            entry,
            held: Arc::default(),
        }
    }

    /// Whether to hold the next call: asked of whoever polls the lane.
    pub(super) fn hold(&self, held: bool) {
        self.held.store(held, Ordering::Release);
    }
}

impl Service<CallRequest> for Gate {
    type Response = ToolResult;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<ToolResult, Infallible>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        if self.held.load(Ordering::Acquire) {
            // No waker: the task that opens the gate polls the lane as well.
            return Poll::Pending;
        }
        self.entry.poll_ready(cx)
    }

    fn call(&mut self, request: CallRequest) -> Self::Future {
        self.entry.call(request)
    }
}
