//! An open question, and the ways it ends.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use toolfall_layers::panic::{catch, display};
use toolfall_layers::{ApprovalAnswer, ApprovalOutcome, ApprovalRequest, BoxError};

use super::answerers::Answerer;
use super::audit::Trail;
use crate::policy::{Contained, Heard};

type Answering = Pin<Box<dyn Future<Output = Result<Option<ApprovalAnswer>, BoxError>> + Send>>;

/// Asks one answerer after the other, until one answers, the caller cancels,
/// the answerers are closed, or the deadline passes.
pub struct Question {
    open: Option<Open>,
}

struct Open {
    trail: Trail,
    rest: Heard<Answerer>,
    answering: Option<Contained<Answering>>,
    cancelled: Pin<Box<WaitForCancellationFutureOwned>>,
    closed: Pin<Box<WaitForCancellationFutureOwned>>,
    deadline: Option<Deadline>,
}

/// The end of the wait.
struct Deadline {
    after: Duration,
    /// `None` where the clock does not reach so far.
    at: Option<Instant>,
    /// Made when there is something to wait for.
    timer: Option<Pin<Box<Sleep>>>,
}

impl Deadline {
    fn new(after: Duration) -> Self {
        Self {
            after,
            at: Instant::now().checked_add(after),
            timer: None,
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<ApprovalAnswer> {
        let Some(at) = self.at else {
            return Poll::Pending;
        };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(at)));
        let expired = ApprovalAnswer::expired(self.after);
        timer.as_mut().poll(cx).map(|()| expired)
    }
}

impl Question {
    pub(super) fn new(
        trail: Trail,
        rest: Heard<Answerer>,
        closed: CancellationToken,
        deadline: Option<Duration>,
    ) -> Self {
        let cancelled = trail.request().cancellation().clone();
        Self {
            open: Some(Open {
                trail,
                rest,
                answering: None,
                cancelled: Box::pin(cancelled.cancelled_owned()),
                closed: Box::pin(closed.cancelled_owned()),
                deadline: deadline.map(Deadline::new),
            }),
        }
    }
}

impl Open {
    /// Of what comes in the same poll an answer counts first, then a
    /// cancellation, then the deadline.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<ApprovalAnswer> {
        if let Poll::Ready(answer) = self.poll_answer(cx) {
            return Poll::Ready(answer);
        }
        if self.cancelled.as_mut().poll(cx).is_ready() || self.closed.as_mut().poll(cx).is_ready() {
            return Poll::Ready(ApprovalOutcome::Cancelled.into());
        }
        match &mut self.deadline {
            Some(deadline) => deadline.poll(cx),
            None => Poll::Pending,
        }
    }

    fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<ApprovalAnswer> {
        loop {
            let Some(answering) = &mut self.answering else {
                let request = self.trail.request();
                let Some(answerer) = self.rest.next(request.call()) else {
                    return Poll::Ready(ApprovalOutcome::Unavailable.into());
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
                Ok(Some(answer)) => return Poll::Ready(answer),
                Err(error) => return Poll::Ready(failed(self.trail.request(), &error)),
            }
        }
    }
}

/// Whoever fails has granted nothing, and nobody behind him is asked.
fn failed(request: &ApprovalRequest, error: &dyn std::fmt::Display) -> ApprovalAnswer {
    // Outside the macro, which has a `display` of its own.
    let error = display(error);
    let error = request.call().shown_text(&error);
    tracing::warn!(
        "tool \"{}\" ({}): an answerer failed: {error}",
        request.tool(),
        request.call_id(),
    );
    ApprovalOutcome::Unavailable.into()
}

impl Future for Question {
    type Output = Result<ApprovalAnswer, BoxError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let open = self.open.as_mut().expect("polled after completion");
        let Poll::Ready(answer) = open.poll(cx) else {
            return Poll::Pending;
        };
        let Open {
            trail, answering, ..
        } = self.open.take().expect("seen above");
        // Whoever is still thinking is let go of before the answer is told.
        let _ = catch(|| drop(answering));
        Poll::Ready(trail.end(answer))
    }
}

impl std::fmt::Debug for Question {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Question").finish_non_exhaustive()
    }
}
