//! Calls for tests of custom layers, made by driving the real stages.
//!
//! Nothing is forged: a decided call has passed an approval stage, a cleared
//! one a guard stage, and both belong to a result stage that waits for their
//! outcome in a [`Rest`].
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! use tokio_util::sync::CancellationToken;
//! use toolfall_layers::{Call, CallRequest, ToolOutcome, testing};
//!
//! let request = CallRequest::new("1", "echo", "{}", CancellationToken::new());
//! let (call, rest) = testing::cleared_call(request);
//! assert_eq!(call.name(), "echo");
//!
//! let result = rest.finish(ToolOutcome::failure("as the test says")).await;
//! assert_eq!(result.text(), "Error: as the test says");
//! # }
//! ```

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use tower_layer::Layer as _;
use tower_service::Service;

use crate::approval::ApprovalLayer;
use crate::call::{CallRequest, CallView, ClearedCall, DecidedCall, ToolCall};
use crate::error::BoxError;
use crate::guard::{Denial, GuardLayer};
use crate::outcome::{ToolOutcome, ToolResult};
use crate::result_notify::ResultNotifyLayer;

/// A call as the decision stages see it.
pub fn tool_call(request: CallRequest) -> (ToolCall, Rest) {
    capture(request, &ResultNotifyLayer::new(), |catch| catch)
}

/// A call as the guard stage sees it.
pub fn decided_call(request: CallRequest) -> (DecidedCall, Rest) {
    decided_call_in(&ResultNotifyLayer::new(), request)
}

/// As [`decided_call`], minted by a result stage with a catalog or observers.
pub fn decided_call_in(stage: &ResultNotifyLayer, request: CallRequest) -> (DecidedCall, Rest) {
    capture(request, stage, |catch| {
        ApprovalLayer::unavailable().layer(catch)
    })
}

/// A call as the around stages and the body see it.
pub fn cleared_call(request: CallRequest) -> (ClearedCall, Rest) {
    cleared_call_in(&ResultNotifyLayer::new(), request)
}

/// As [`cleared_call`], minted by a result stage with a catalog or observers.
pub fn cleared_call_in(stage: &ResultNotifyLayer, request: CallRequest) -> (ClearedCall, Rest) {
    capture(request, stage, |catch| {
        let guard = GuardLayer::new(|_: &CallView| None::<Denial>);
        ApprovalLayer::unavailable().layer(guard.layer(catch))
    })
}

/// The rest of a call's way: its result stage, waiting for the outcome.
///
/// Dropping it ends the call as dropping the caller's future does.
pub struct Rest {
    answer: Arc<Mutex<Option<ToolOutcome>>>,
    future: Pin<Box<dyn Future<Output = Result<ToolResult, Infallible>> + Send>>,
}

impl Rest {
    /// Answers the call with `outcome` and drives it to its result.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the rest: see [`Rest`].
    pub async fn finish(self, outcome: ToolOutcome) -> ToolResult {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        match self.future.await {
            Ok(result) => result,
            Err(never) => match never {},
        }
    }
}

impl fmt::Debug for Rest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rest").finish_non_exhaustive()
    }
}

fn capture<C, S, F>(
    request: CallRequest,
    stage: &ResultNotifyLayer,
    stack: impl FnOnce(Capture<C>) -> S,
) -> (C, Rest)
where
    C: Send + 'static,
    S: Service<ToolCall, Response = ToolOutcome, Future = F> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    F: Future<Output = Result<ToolOutcome, S::Error>> + Send + 'static,
{
    let caught = Arc::new(Mutex::new(None));
    let answer = Arc::new(Mutex::new(None));
    let catch = Capture {
        caught: caught.clone(),
        answer: answer.clone(),
    };
    let mut future = Box::pin(stage.layer(stack(catch)).call(request));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(
        future.as_mut().poll(&mut cx).is_pending(),
        "the call ended before it reached the test: its token is cancelled, or its arguments \
         cannot be kept"
    );
    let call = caught
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take()
        .expect("the stages above wait for nothing");
    (call, Rest { answer, future })
}

/// Takes the call out of the stack and answers with what the test says.
struct Capture<C> {
    caught: Arc<Mutex<Option<C>>>,
    answer: Arc<Mutex<Option<ToolOutcome>>>,
}

impl<C> Clone for Capture<C> {
    fn clone(&self) -> Self {
        Self {
            caught: self.caught.clone(),
            answer: self.answer.clone(),
        }
    }
}

impl<C> Service<C> for Capture<C> {
    type Response = ToolOutcome;
    type Error = BoxError;
    type Future = Answer;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: C) -> Answer {
        *self.caught.lock().unwrap_or_else(PoisonError::into_inner) = Some(call);
        Answer(self.answer.clone())
    }
}

struct Answer(Arc<Mutex<Option<ToolOutcome>>>);

impl Future for Answer {
    type Output = Result<ToolOutcome, BoxError>;

    /// Polled by [`Rest::finish`] only once the outcome is there.
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let outcome = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        outcome.map_or(Poll::Pending, |outcome| Poll::Ready(Ok(outcome)))
    }
}
