//! A decision on its way: the inner policy's, then the save.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use toolfall_layers::policy::{Answer, Asked};

use super::SpillPolicy;
use crate::{BoxError, PostDecision, PostRequest};

type Spilling = Pin<Box<dyn Future<Output = PostDecision> + Send>>;

/// A decision, or the save that it waits for.
pub(super) type Decided = Answer<PostDecision, Spilling>;

pin_project! {
    /// A decision on its way, of which a long text may have to be stored.
    #[must_use = "futures do nothing unless polled"]
    pub struct Deciding<F> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F> {
        Inner {
            #[pin]
            inner: F,
            policy: SpillPolicy,
            post: PostRequest,
        },
        Spilling { spilling: Spilling },
    }
}

impl<F> Deciding<F> {
    pub(super) const fn inner(inner: F, policy: SpillPolicy, post: PostRequest) -> Self {
        let state = State::Inner {
            inner,
            policy,
            post,
        };
        Self { state }
    }

    pub(super) fn decided(decided: Decided) -> Asked<PostDecision, Self> {
        match decided {
            Answer::Now(decision) => Answer::Now(Ok(decision)),
            Answer::Later(spilling) => Answer::Later(Self {
                state: State::Spilling { spilling },
            }),
        }
    }
}

impl<F> Future for Deciding<F>
where
    F: Future<Output = Result<PostDecision, BoxError>>,
{
    type Output = Result<PostDecision, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            let spilling = match state.as_mut().project() {
                StateProj::Inner {
                    inner,
                    policy,
                    post,
                } => match ready!(inner.poll(cx)) {
                    Err(error) => return Poll::Ready(Err(error)),
                    Ok(decision) => match policy.judge(post, decision) {
                        Answer::Now(decision) => return Poll::Ready(Ok(decision)),
                        Answer::Later(spilling) => spilling,
                    },
                },
                StateProj::Spilling { spilling } => return spilling.as_mut().poll(cx).map(Ok),
            };
            state.set(State::Spilling { spilling });
        }
    }
}

impl<F> fmt::Debug for Deciding<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deciding").finish_non_exhaustive()
    }
}
