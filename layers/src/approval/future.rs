use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use tokio_util::sync::WaitForCancellationFutureOwned;
use tower_service::Service;

use super::{ApprovalAnswer, ApprovalOutcome, ApprovalRequest};
use crate::call::{CallView, DecidedCall};
use crate::error::{BoxError, Part, StageError};
use crate::outcome::{DecidedBy, ToolOutcome};
use crate::policy::{Asking, Policy};
use crate::ready::ReadyCall;

pin_project! {
    /// The future of [`Approval`](super::Approval).
    pub struct ResponseFuture<S, F>
    where
        S: Service<DecidedCall>,
    {
        #[pin]
        state: State<S, F>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<S, F>
    where
        S: Service<DecidedCall>,
    {
        // Boxed: asking is rare and waits for a person, and unboxed it would
        // be carried by every call that is not asked about.
        Asking { asking: Pin<Box<Question<F>>>, inner: Option<S> },
        // Answered with a grant while other calls took the slot.
        Returning { next: Option<(DecidedCall, S)> },
        Calling { #[pin] calling: ReadyCall<S, DecidedCall> },
        Refused { outcome: Option<Result<ToolOutcome, BoxError>> },
    }
}

impl<S: Service<DecidedCall>, F> ResponseFuture<S, F> {
    pub(super) const fn calling(inner: S, call: DecidedCall) -> Self {
        Self {
            state: State::Calling {
                calling: ReadyCall::new(inner, call),
            },
        }
    }

    pub(super) const fn refused(outcome: ToolOutcome) -> Self {
        Self {
            state: State::Refused {
                outcome: Some(Ok(outcome)),
            },
        }
    }

    pub(super) const fn failed(error: BoxError) -> Self {
        Self {
            state: State::Refused {
                outcome: Some(Err(error)),
            },
        }
    }

    pub(super) fn asking(question: Question<F>, inner: S) -> Self {
        Self {
            state: State::Asking {
                asking: Box::pin(question),
                inner: Some(inner),
            },
        }
    }
}

impl<S, F> Future for ResponseFuture<S, F>
where
    S: Service<DecidedCall, Response = ToolOutcome>,
    S::Error: Into<BoxError>,
    F: Future<Output = Result<ApprovalAnswer, BoxError>>,
{
    type Output = Result<ToolOutcome, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            match state.as_mut().project() {
                StateProj::Asking { asking, inner } => {
                    let view = asking.as_ref().get_ref().request.call().clone();
                    let answer = ready!(asking.as_mut().poll(cx))?;
                    if let Some(turn) = &view.state().turn
                        && asking.as_ref().get_ref().parked
                    {
                        turn.unpark();
                    }
                    if let Some(refusal) = refusal(&view, &answer) {
                        return Poll::Ready(Ok(refusal));
                    }
                    view.state().mark_approved();
                    let parked = asking.as_ref().get_ref().parked;
                    let inner = inner.take().expect("polled after completion");
                    let call = DecidedCall { view };
                    if parked {
                        state.set(State::Returning {
                            next: Some((call, inner)),
                        });
                    } else {
                        state.set(State::Calling {
                            calling: ReadyCall::new(inner, call),
                        });
                    }
                }
                StateProj::Returning { next } => {
                    if let Some((call, _)) = &*next
                        && let Some(turn) = &call.view.state().turn
                    {
                        ready!(turn.poll_slot(cx));
                    }
                    let (call, inner) = next.take().expect("polled after completion");
                    state.set(State::Calling {
                        calling: ReadyCall::new(inner, call),
                    });
                }
                StateProj::Calling { calling } => return calling.poll(cx).map_err(Into::into),
                StateProj::Refused { outcome } => {
                    return Poll::Ready(outcome.take().expect("polled after completion"));
                }
            }
        }
    }
}

/// What an answer that is no grant makes of the call.
fn refusal(view: &CallView, answer: &ApprovalAnswer) -> Option<ToolOutcome> {
    let name = view.name();
    if let Some(waited) = answer.waited() {
        return Some(ToolOutcome::unanswered(name, waited));
    }
    Some(match answer.outcome() {
        ApprovalOutcome::AllowedOnce => return None,
        ApprovalOutcome::Rejected => {
            if answer.ends_turn() {
                view.state().mark_ends_turn();
            }
            let why = match answer.message() {
                Some(message) => format!("the user rejected tool \"{name}\": {message}"),
                None => format!("the user rejected tool \"{name}\""),
            };
            ToolOutcome::denied(why, DecidedBy::Approver)
        }
        ApprovalOutcome::Cancelled if view.cancellation().is_cancelled() => {
            ToolOutcome::aborted(false)
        }
        ApprovalOutcome::Cancelled => ToolOutcome::denied(
            format!("approval for tool \"{name}\" was cancelled"),
            DecidedBy::Approver,
        ),
        ApprovalOutcome::Unavailable => ToolOutcome::denied(
            format!("tool \"{name}\" requires approval, but no approval channel is available"),
            DecidedBy::Nobody,
        ),
    })
}

pin_project! {
    /// An open question: the answer, or the caller's cancellation.
    pub(super) struct Question<F> {
        #[pin]
        asking: Asking<ApprovalAnswer, F>,
        request: ApprovalRequest,
        cancelled: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
        parked: bool,
    }
}

impl<F> Question<F> {
    pub(super) fn new<A>(approver: &A, request: ApprovalRequest) -> Self
    where
        A: Policy<ApprovalRequest, ApprovalAnswer, Future = F>,
    {
        Self {
            asking: Asking::new(approver, &request, Part::Approver),
            request,
            cancelled: None,
            parked: false,
        }
    }
}

impl<F> Future for Question<F>
where
    F: Future<Output = Result<ApprovalAnswer, BoxError>>,
{
    type Output = Result<ApprovalAnswer, StageError>;

    /// An answer and a cancellation in the same poll: the answer counts.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(answer) = this.asking.poll(cx) {
            return Poll::Ready(answer);
        }
        let token = this.request.cancellation();
        let cancelled = this
            .cancelled
            .get_or_insert_with(|| Box::pin(token.clone().cancelled_owned()));
        if cancelled.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Ok(ApprovalOutcome::Cancelled.into()));
        }
        if !*this.parked
            && let Some(turn) = &this.request.call().state().turn
        {
            turn.park();
            *this.parked = true;
        }
        Poll::Pending
    }
}
