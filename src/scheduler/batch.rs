//! A batch as its owner sees it.

use std::borrow::Cow;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use futures_util::Stream;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::driver::Driver;
use crate::pipeline::PipelineService;
use crate::{CallId, ContextMessage, ToolResult};

/// A call of a batch with its result.
#[derive(Clone, Debug)]
pub struct Committed {
    /// The call's place in the batch, from 0.
    pub place: usize,
    /// The model's id for the call, exactly as sent.
    pub id: CallId,
    /// The tool's name as the model wrote it.
    pub name: Cow<'static, str>,
    /// What became of it.
    pub result: ToolResult,
}

/// How a batch ended.
#[derive(Clone, Debug, Default)]
pub struct BatchEnd {
    /// Whether the batch was cancelled.
    pub aborted: bool,
    /// Messages to deliver now, after the last result, in model order.
    pub contexts: Vec<ContextMessage>,
    /// Messages of calls that committed after the cancellation: they belong
    /// to the next turn, not to the aborted one.
    pub parked: Vec<ContextMessage>,
    /// Whether a call declared the turn finished, or a person refused one and
    /// ended the turn with that. Either way every call of the batch came to
    /// its own result; a host that wants to stop at once cancels the batch.
    pub concludes: bool,
}

/// What a batch's stream yields: each call in model order, then the end.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum BatchEvent {
    /// A call's result was committed.
    Committed(Committed),
    /// The batch is over.
    Ended(BatchEnd),
}

/// Everything that a batch yielded.
#[derive(Clone, Debug, Default)]
pub struct BatchReport {
    /// The calls in model order.
    pub committed: Vec<Committed>,
    /// How the batch ended.
    pub end: BatchEnd,
}

/// Cancels a batch, or a program's run, and keeps the first cause that was
/// given.
#[derive(Clone, Debug)]
pub struct Cancel {
    token: CancellationToken,
    cause: Arc<OnceLock<Cow<'static, str>>>,
}

impl Cancel {
    /// Cancels `token`; also counts as cancelled when somebody else does that.
    pub fn new(token: CancellationToken) -> Self {
        Self {
            token,
            cause: Arc::default(),
        }
    }

    /// Cancels because of `cause`. Of several causes the first one
    /// counts, and none counts after a cancellation that named none.
    pub fn cancel(&self, cause: impl Into<Cow<'static, str>>) {
        if !self.token.is_cancelled() {
            let _ = self.cause.set(cause.into());
        }
        self.token.cancel();
    }

    /// The cause, if the batch was cancelled with one.
    pub fn cause(&self) -> Option<&str> {
        self.cause.get().map(|cause| &**cause)
    }

    /// The token.
    pub fn token(&self) -> &CancellationToken {
        &self.token
    }
}

/// The running calls of one model reply: a stream of results in model order.
///
/// # Cancel safety
///
/// Dropping a batch cancels its token, and calls that have begun are driven
/// to their end on a task of their own: each still gets its result. Calls
/// that have not begun are answered as such in the journal. That task runs on
/// the runtime of the drop, or on the one that polled the batch.
///
/// # Panics
///
/// Nothing inside a pipeline panics. If a layer around it does, nothing more
/// begins, what has begun comes to its end, and the first such panic goes on
/// in place of [`BatchEvent::Ended`]. A call that it hit has no result.
#[must_use = "a batch does nothing unless polled"]
pub struct Batch<S: PipelineService>
where
    S: Send + 'static,
    S::Future: Send,
{
    driver: Option<Box<Driver<S>>>,
    cancel: Cancel,
}

impl<S> Batch<S>
where
    S: PipelineService + Send + 'static,
    S::Future: Send,
{
    pub(super) fn new(driver: Driver<S>) -> Self {
        Self {
            cancel: Cancel::new(driver.cancellation().clone()),
            driver: Some(Box::new(driver)),
        }
    }

    /// Says that the model's reply was cut off: calls that have not begun
    /// never will, and their answers say `why`.
    pub fn incomplete(mut self, why: impl Into<Cow<'static, str>>) -> Self {
        if let Some(driver) = &mut self.driver {
            driver.cut_off(why.into());
        }
        self
    }

    /// What cancels the batch.
    pub fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }

    /// Drives the batch to its end.
    ///
    /// # Cancel safety
    ///
    /// As dropping the batch.
    pub async fn run(mut self) -> BatchReport {
        let mut report = BatchReport::default();
        while let Some(event) = poll_fn(|cx| Pin::new(&mut self).poll_next(cx)).await {
            match event {
                BatchEvent::Committed(call) => report.committed.push(call),
                BatchEvent::Ended(end) => report.end = end,
            }
        }
        report
    }
}

impl<S> Stream for Batch<S>
where
    S: PipelineService + Send + 'static,
    S::Future: Send,
{
    type Item = BatchEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<BatchEvent>> {
        let Some(driver) = &mut self.driver else {
            return Poll::Ready(None);
        };
        let event = std::task::ready!(driver.poll_event(cx));
        if matches!(event, BatchEvent::Ended(_)) {
            self.driver = None;
        }
        Poll::Ready(Some(event))
    }
}

impl<S> Drop for Batch<S>
where
    S: PipelineService + Send + 'static,
    S::Future: Send,
{
    fn drop(&mut self) {
        let Some(mut driver) = self.driver.take() else {
            return;
        };
        driver.cancellation().cancel();
        driver.close_input();
        if !driver.has_begun() {
            return;
        }
        // Without a runtime the calls end as their futures are dropped.
        let runtime = Handle::try_current().ok();
        if let Some(runtime) = runtime.or_else(|| driver.runtime().cloned()) {
            let rest = async move {
                while let BatchEvent::Committed(_) = poll_fn(|cx| driver.poll_event(cx)).await {}
            };
            runtime.spawn(rest.in_current_span());
        }
    }
}

impl<S> fmt::Debug for Batch<S>
where
    S: PipelineService + Send + 'static,
    S::Future: Send,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").finish_non_exhaustive()
    }
}
