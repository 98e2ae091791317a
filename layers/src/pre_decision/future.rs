use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use tower_service::Service;

use super::{Decision, Reason};
use crate::call::ToolCall;
use crate::error::BoxError;
use crate::outcome::{DecidedBy, ToolOutcome};
use crate::policy::Asking;
use crate::ready::ReadyCall;

pin_project! {
    /// The future of [`PreDecision`](super::PreDecision).
    pub struct ResponseFuture<S, F>
    where
        S: Service<ToolCall>,
    {
        #[pin]
        state: State<S, F>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<S, F>
    where
        S: Service<ToolCall>,
    {
        Asking {
            #[pin]
            asking: Asking<Decision, F>,
            next: Option<(ToolCall, S)>,
        },
        Calling {
            #[pin]
            calling: ReadyCall<S, ToolCall>,
        },
    }
}

impl<S: Service<ToolCall>, F> ResponseFuture<S, F> {
    pub(super) const fn new(asking: Asking<Decision, F>, call: ToolCall, inner: S) -> Self {
        Self {
            state: State::Asking {
                asking,
                next: Some((call, inner)),
            },
        }
    }
}

impl<S, F> Future for ResponseFuture<S, F>
where
    S: Service<ToolCall, Response = ToolOutcome>,
    S::Error: Into<BoxError>,
    F: Future<Output = Result<Decision, BoxError>>,
{
    type Output = Result<ToolOutcome, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            match state.as_mut().project() {
                StateProj::Asking { asking, next } => {
                    let decision = ready!(asking.poll(cx))?;
                    let (mut call, inner) = next.take().expect("polled after completion");
                    if let Decision::Deny(reason) = decision {
                        return Poll::Ready(Ok(denial(reason)));
                    }
                    call.decisions.tighten(decision);
                    state.set(State::Calling {
                        calling: ReadyCall::new(inner, call),
                    });
                }
                StateProj::Calling { calling } => return calling.poll(cx).map_err(Into::into),
            }
        }
    }
}

fn denial(reason: Reason) -> ToolOutcome {
    let Reason { text, rule } = reason;
    ToolOutcome::denied(text.unwrap_or_default(), DecidedBy::policy(rule))
}
