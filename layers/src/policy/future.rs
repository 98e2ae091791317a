//! The futures of policies.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::{Answer, Asked, IntoAnswer, Policy};
use crate::error::{BoxError, Part, StageError};
use crate::panic::catch;
use crate::span::StageSpan;

pin_project! {
    /// Turns what a closure's or a service's future returns into an answer.
    pub struct IntoAnswerFuture<F, Out> {
        #[pin]
        future: F,
        out: PhantomData<fn() -> Out>,
    }
}

impl<F, Out> IntoAnswerFuture<F, Out> {
    pub(super) const fn new(future: F) -> Self {
        Self {
            future,
            out: PhantomData,
        }
    }
}

impl<F, R, Out> Future for IntoAnswerFuture<F, Out>
where
    F: Future<Output = R>,
    R: IntoAnswer<Out>,
{
    type Output = Result<Out, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().future.poll(cx).map(IntoAnswer::into_answer)
    }
}

pin_project! {
    /// A question to a policy on its way to an answer; failures and panics
    /// come out wrapped, so that they are never taken for the tool's.
    pub(crate) struct Asking<Out, F> {
        #[pin]
        state: State<Out, F>,
        part: Part,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<Out, F> {
        Now { answer: Option<Result<Out, BoxError>> },
        Later { #[pin] future: F, span: StageSpan },
    }
}

impl<Out, F> Asking<Out, F> {
    /// Asks `policy` now.
    pub(crate) fn new<P, Req>(policy: &P, request: &Req, part: Part) -> Self
    where
        P: Policy<Req, Out, Future = F>,
    {
        let asked: Asked<Out, F> = match catch(|| policy.ask(request)) {
            Ok(asked) => asked,
            Err(panic) => Answer::Now(Err(panic.into())),
        };
        let state = match asked {
            Answer::Now(answer) => State::Now {
                answer: Some(answer),
            },
            Answer::Later(future) => State::Later {
                future,
                span: match part {
                    Part::Approver => StageSpan::approval(),
                    Part::PostPolicy => StageSpan::post_execute(),
                    _ => StageSpan::policy(),
                },
            },
        };
        Self { state, part }
    }
}

impl<Out, F> Future for Asking<Out, F>
where
    F: Future<Output = Result<Out, BoxError>>,
{
    type Output = Result<Out, StageError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let answer = match this.state.project() {
            StateProj::Now { answer } => answer.take().expect("polled after completion"),
            StateProj::Later { future, span } => {
                match catch(|| span.in_scope(|| future.poll(cx))) {
                    Ok(poll) => ready!(poll),
                    Err(panic) => Err(panic.into()),
                }
            }
        };
        Poll::Ready(answer.map_err(|error| StageError::new(*this.part, error)))
    }
}
