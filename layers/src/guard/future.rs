use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use serde_json::Value;

use crate::body::Settled;
use crate::call::CallView;
use crate::catalog::{Rendered, render};
use crate::error::BoxError;
use crate::outcome::ToolOutcome;
use crate::panic::{PanicError, catch};
use crate::result_notify::Final;

pin_project! {
    /// The future of [`GuardService`](super::GuardService).
    pub struct ResponseFuture<F> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F> {
        Refused {
            outcome: Option<Result<ToolOutcome, BoxError>>,
        },
        Called {
            view: Option<CallView>,
            #[pin]
            future: F,
        },
        // The inner future is gone by now: it may hold a permit, or a body.
        Settling {
            settled: Settled,
            answer: Option<(CallView, Result<ToolOutcome, BoxError>)>,
        },
    }
}

impl<F> ResponseFuture<F> {
    pub(super) const fn refused(outcome: Result<ToolOutcome, BoxError>) -> Self {
        Self {
            state: State::Refused {
                outcome: Some(outcome),
            },
        }
    }

    pub(super) const fn called(view: CallView, future: F) -> Self {
        Self {
            state: State::Called {
                view: Some(view),
                future,
            },
        }
    }
}

impl<F, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<ToolOutcome, E>>,
    E: Into<BoxError>,
{
    type Output = Result<ToolOutcome, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            match state.as_mut().project() {
                StateProj::Refused { outcome } => {
                    return Poll::Ready(outcome.take().expect("polled after completion"));
                }
                StateProj::Called { view, future } => {
                    let answer = ready!(future.poll(cx)).map_err(Into::into);
                    let view = view.take().expect("polled after completion");
                    state.set(State::Refused { outcome: None });
                    match Settled::wait(&view) {
                        None => return Poll::Ready(way_back(&view, answer)),
                        Some(settled) => state.set(State::Settling {
                            settled,
                            answer: Some((view, answer)),
                        }),
                    }
                }
                StateProj::Settling { settled, answer } => {
                    ready!(Pin::new(settled).poll(cx));
                    let (view, answer) = answer.take().expect("polled after completion");
                    return Poll::Ready(way_back(&view, answer));
                }
            }
        }
    }
}

/// What the around stages answered, made fit for the stages outside.
fn way_back(
    view: &CallView,
    answer: Result<ToolOutcome, BoxError>,
) -> Result<ToolOutcome, BoxError> {
    let deferred = view.state().close_contexts();
    let outcome = answer?;
    if outcome.is_success() {
        if view.cancellation().is_cancelled() {
            return Ok(ToolOutcome::aborted(view.was_entered())
                .with_contexts(deferred)
                .append_contexts(outcome.contexts().to_vec()));
        }
        if !outcome.is_rendered_for(view) {
            return authored(view, &outcome).map(|outcome| outcome.after_contexts(deferred));
        }
    }
    Ok(outcome.after_contexts(deferred))
}

/// A success that an around stage made or changed: the tool judges and
/// renders its value; a violation is final.
pub(crate) fn authored(view: &CallView, outcome: &ToolOutcome) -> Result<ToolOutcome, BoxError> {
    let Some((value, concludes, contexts)) = outcome.take_value() else {
        return Ok(outcome.clone());
    };
    match rendered_now(view, value)? {
        Ok(rendered) => {
            Ok(ToolOutcome::rendered(view, rendered, concludes).append_contexts(contexts))
        }
        Err(failure) => Err(Final(failure).into()),
    }
}

/// Renders `value` by the tool as it is registered now; the outer error is a
/// panic of the catalog.
pub(crate) fn rendered_now(
    view: &CallView,
    value: Value,
) -> Result<Result<Rendered, ToolOutcome>, PanicError> {
    catch(|| match view.definition() {
        None => Err(unknown(view)),
        Some(definition) => render(&*definition, view, value),
    })
}

/// The failure for a tool that is gone.
fn unknown(view: &CallView) -> ToolOutcome {
    match &view.state().host.catalog {
        Some(catalog) => catalog.unknown(view),
        None => ToolOutcome::unknown_tool(view.name()),
    }
}
