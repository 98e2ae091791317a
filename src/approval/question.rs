//! An open question, and the ways it ends.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use toolfall_layers::panic::{catch, display};
use toolfall_layers::{ApprovalOutcome, ApprovalRequest, BoxError};

use super::answerers::Answerer;
use super::audit::Trail;
use crate::policy::{Contained, Heard};

type Answering = Pin<Box<dyn Future<Output = Result<Option<ApprovalOutcome>, BoxError>> + Send>>;

/// Asks one answerer after the other, until one answers, the caller cancels
/// or the answerers are closed.
pub struct Question {
    open: Option<Open>,
}

struct Open {
    trail: Trail,
    rest: Heard<Answerer>,
    answering: Option<Contained<Answering>>,
    cancelled: Pin<Box<WaitForCancellationFutureOwned>>,
    closed: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Question {
    pub(super) fn new(trail: Trail, rest: Heard<Answerer>, closed: CancellationToken) -> Self {
        let cancelled = trail.request().cancellation().clone();
        Self {
            open: Some(Open {
                trail,
                rest,
                answering: None,
                cancelled: Box::pin(cancelled.cancelled_owned()),
                closed: Box::pin(closed.cancelled_owned()),
            }),
        }
    }
}

impl Open {
    /// An answer and a cancellation in the same poll: the answer counts.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<ApprovalOutcome> {
        if let Poll::Ready(answer) = self.poll_answer(cx) {
            return Poll::Ready(answer);
        }
        if self.cancelled.as_mut().poll(cx).is_ready() || self.closed.as_mut().poll(cx).is_ready() {
            return Poll::Ready(ApprovalOutcome::Cancelled);
        }
        Poll::Pending
    }

    fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<ApprovalOutcome> {
        loop {
            let Some(answering) = &mut self.answering else {
                let request = self.trail.request();
                let Some(answerer) = self.rest.next(request.call()) else {
                    return Poll::Ready(ApprovalOutcome::Unavailable);
                };
                match catch(|| answerer(request.clone())) {
                    Ok(answering) => self.answering = Some(Contained::new(answering)),
                    Err(panic) => return Poll::Ready(failed(request, &panic)),
                }
                continue;
            };
            let answer = match Pin::new(answering).poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(answer) => answer.unwrap_or_else(|panic| Err(panic.into())),
            };
            // The answerer's own drop is user code, too.
            let answering = self.answering.take();
            let _ = catch(|| drop(answering));
            match answer {
                Ok(None) => {}
                Ok(Some(outcome)) => return Poll::Ready(outcome),
                Err(error) => return Poll::Ready(failed(self.trail.request(), &error)),
            }
        }
    }
}

/// Whoever fails has granted nothing, and nobody behind him is asked.
fn failed(request: &ApprovalRequest, error: &dyn std::fmt::Display) -> ApprovalOutcome {
    // Outside the macro, which has a `display` of its own.
    let error = display(error);
    tracing::warn!(
        "tool \"{}\" ({}): an answerer failed: {error}",
        request.tool(),
        request.call_id(),
    );
    ApprovalOutcome::Unavailable
}

impl Future for Question {
    type Output = Result<ApprovalOutcome, BoxError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let open = self.open.as_mut().expect("polled after completion");
        let Poll::Ready(outcome) = open.poll(cx) else {
            return Poll::Pending;
        };
        let Open {
            trail, answering, ..
        } = self.open.take().expect("seen above");
        // Whoever is still thinking is let go of before the outcome is told.
        let _ = catch(|| drop(answering));
        Poll::Ready(trail.end(outcome))
    }
}

impl std::fmt::Debug for Question {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Question").finish_non_exhaustive()
    }
}
