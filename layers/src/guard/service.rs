use std::fmt;
use std::task::{Context, Poll};

use tower_service::Service;

use super::{Guard, ResponseFuture};
use crate::call::{ClearedCall, DecidedCall};
use crate::error::{BoxError, Part, StageError};
use crate::outcome::{DecidedBy, ToolOutcome};
use crate::panic::catch;

/// Judges each decided call and clears those that pass.
#[derive(Clone)]
pub struct GuardService<S, G> {
    inner: S,
    guard: G,
}

impl<S, G> GuardService<S, G> {
    pub(crate) const fn new(inner: S, guard: G) -> Self {
        Self { inner, guard }
    }
}

impl<S, G> Service<DecidedCall> for GuardService<S, G>
where
    S: Service<ClearedCall, Response = ToolOutcome> + Clone,
    S::Error: Into<BoxError>,
    G: Guard,
{
    type Response = ToolOutcome;
    type Error = BoxError;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, call: DecidedCall) -> Self::Future {
        let view = call.view;
        let refused = match catch(|| self.guard.check(&view)) {
            Ok(Ok(None)) => None,
            Ok(Ok(Some(denial))) => Some(Ok(ToolOutcome::denied(
                denial.reason,
                DecidedBy::guard(denial.by),
            ))),
            Ok(Err(error)) => Some(Err(StageError::new(Part::Guard, error).into())),
            Err(panic) => Some(Err(StageError::new(Part::Guard, panic).into())),
        };
        // Guards come first: their reason is kept when the caller cancelled.
        let refused = refused.or_else(|| {
            view.cancellation()
                .is_cancelled()
                .then(|| Ok(ToolOutcome::aborted(false)))
        });
        if let Some(outcome) = refused {
            // What the inner service reserved for this call goes back.
            let fresh = self.inner.clone();
            drop(std::mem::replace(&mut self.inner, fresh));
            return ResponseFuture::refused(outcome);
        }
        if let Some(turn) = &view.state().turn {
            turn.admit();
        }
        let future = self.inner.call(ClearedCall {
            view: view.clone(),
            replaced: None,
            fused: false,
        });
        ResponseFuture::called(view, future)
    }
}

impl<S: fmt::Debug, G> fmt::Debug for GuardService<S, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardService")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}
