use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::{Change, PostDecision, PostRequest};
use crate::call::CallView;
use crate::content::ContentBlock;
use crate::error::{BoxError, Part, StageError};
use crate::guard::rendered_now;
use crate::outcome::{DecidedBy, FailureKind, ToolOutcome};
use crate::policy::{Asking, Policy};
use crate::result_notify::Final;

pin_project! {
    /// The future of [`PostExecute`](super::PostExecute).
    pub struct ResponseFuture<F, P, PF> {
        #[pin]
        state: State<F, PF>,
        policy: P,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F, PF> {
        Calling { view: Option<CallView>, #[pin] future: F },
        // The inner future is gone by now: it may hold a permit.
        Waiting { request: Option<PostRequest> },
        Asking {
            request: Option<PostRequest>,
            #[pin]
            asking: Asking<PostDecision, PF>,
        },
    }
}

impl<F, P, PF> ResponseFuture<F, P, PF> {
    pub(super) const fn new(future: F, policy: P, view: CallView) -> Self {
        Self {
            state: State::Calling {
                view: Some(view),
                future,
            },
            policy,
        }
    }
}

impl<F, E, P> Future for ResponseFuture<F, P, P::Future>
where
    F: Future<Output = Result<ToolOutcome, E>>,
    E: Into<BoxError>,
    P: Policy<PostRequest, PostDecision>,
{
    type Output = Result<ToolOutcome, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let mut state = this.state;
        loop {
            match state.as_mut().project() {
                StateProj::Calling { view, future } => {
                    let outcome = ready!(future.poll(cx)).map_err(Into::into)?;
                    let view = view.take().expect("polled after completion");
                    if let Some(turn) = &view.state().turn {
                        turn.settle();
                    }
                    state.set(State::Waiting {
                        request: Some(PostRequest::new(view, outcome)),
                    });
                }
                StateProj::Waiting { request } => {
                    let waiting = request.as_ref().expect("polled after completion");
                    if let Some(turn) = &waiting.call().state().turn {
                        ready!(turn.poll_commit(cx));
                    }
                    let request = request.take();
                    let asking = Asking::new(
                        &*this.policy,
                        request.as_ref().expect("taken from the same place"),
                        Part::PostPolicy,
                    );
                    state.set(State::Asking { request, asking });
                }
                StateProj::Asking { request, asking } => {
                    let decision = ready!(asking.poll(cx));
                    let request = request.take().expect("polled after completion");
                    return Poll::Ready(decision.map_err(Into::into).and_then(|decision| {
                        let (view, outcome) = request.into_parts();
                        apply(&view, outcome, decision)
                    }));
                }
            }
        }
    }
}

fn apply(
    view: &CallView,
    outcome: ToolOutcome,
    decision: PostDecision,
) -> Result<ToolOutcome, BoxError> {
    let PostDecision {
        change,
        contexts,
        rule,
    } = decision;
    match change {
        Change::Nothing => Ok(outcome.append_contexts(contexts)),
        Change::Content(content) => Ok(outcome.showing(content).append_contexts(contexts)),
        Change::Value(_) if !outcome.is_success() => Ok(ToolOutcome::failure(
            "tools/post-execute cannot replace the value of a failed result",
        )
        .of_kind(FailureKind::Policy)
        .by(DecidedBy::post_policy(rule))),
        Change::Value(value) => {
            let rendered = rendered_now(view, value)
                .map_err(|panic| StageError::new(Part::PostPolicy, panic))?;
            match rendered {
                Ok(rendered) => Ok(
                    ToolOutcome::rendered(view, rendered, outcome.concludes_turn())
                        .append_contexts(outcome.contexts().to_vec())
                        .append_contexts(contexts),
                ),
                Err(failure) => Err(Final(failure).into()),
            }
        }
        Change::Block(feedback) => Ok(ToolOutcome::failure(block_message(&feedback))
            .of_kind(FailureKind::Blocked)
            .by(DecidedBy::post_policy(rule))
            .with_content(feedback)
            .with_contexts(contexts)),
    }
}

/// The texts of the feedback; of other blocks only their kind is told.
fn block_message(feedback: &[ContentBlock]) -> String {
    let texts: Vec<Cow<'_, str>> = feedback
        .iter()
        .map(|block| match block.as_text() {
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(format!("[{} content]", block.kind())),
        })
        .collect();
    let message = texts.join("\n");
    if message.is_empty() {
        "tool result blocked by post-execute policy".to_owned()
    } else {
        message
    }
}
