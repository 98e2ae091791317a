//! The reminder as a policy, alone, around another, or among listeners.

use std::fmt;
use std::future::{Future, Ready};
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use toolfall_layers::policy::{Answer, Asked, IntoPolicy, Policy};

use super::RepeatReminder;
use crate::policy::{Delegated, Next};
use crate::{BoxError, ContextMessage, PostDecision, PostRequest};

impl RepeatReminder {
    /// The policy `inner` with the reminder put before its own messages. What
    /// `inner` decides stands; if it fails, nothing is said, though the call
    /// is counted.
    pub fn around<M, I>(self, inner: I) -> Repeating<I::Policy>
    where
        I: IntoPolicy<PostRequest, PostDecision, M>,
    {
        Repeating {
            reminder: self,
            inner: inner.into_policy(),
        }
    }

    /// The reminder as a listener of a [`Waterfall`](crate::policy::Waterfall):
    /// counts now, delegates, and puts the reminder before the messages of
    /// the listeners inside it.
    ///
    /// # Errors
    ///
    /// The future's are those of the inner listeners.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the inner listeners; the call stays counted.
    pub fn listen(
        &self,
        post: PostRequest,
        next: Next<PostRequest, PostDecision>,
    ) -> Reminding<Delegated<PostDecision>> {
        let reminder = self.remind(&post);
        Reminding {
            decision: next.run(),
            reminder,
        }
    }
}

impl Policy<PostRequest, PostDecision> for RepeatReminder {
    type Future = Ready<Result<PostDecision, BoxError>>;

    fn ask(&self, post: &PostRequest) -> Asked<PostDecision, Self::Future> {
        Answer::Now(Ok(first(self.remind(post), PostDecision::accept())))
    }
}

/// A post-execute policy with reminders around it: what
/// [`RepeatReminder::around`] makes.
#[derive(Clone)]
pub struct Repeating<P> {
    reminder: RepeatReminder,
    inner: P,
}

impl<P> Policy<PostRequest, PostDecision> for Repeating<P>
where
    P: Policy<PostRequest, PostDecision>,
{
    type Future = Reminding<P::Future>;

    fn ask(&self, post: &PostRequest) -> Asked<PostDecision, Self::Future> {
        let reminder = self.reminder.remind(post);
        match self.inner.ask(post) {
            Answer::Now(decision) => {
                Answer::Now(decision.map(|decision| first(reminder, decision)))
            }
            Answer::Later(decision) => Answer::Later(Reminding { decision, reminder }),
        }
    }
}

impl<P> fmt::Debug for Repeating<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repeating")
            .field("reminder", &self.reminder)
            .finish_non_exhaustive()
    }
}

pin_project! {
    /// A decision on its way, to which a reminder is added.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct Reminding<F> {
        #[pin]
        decision: F,
        reminder: Option<ContextMessage>,
    }
}

impl<F> Future for Reminding<F>
where
    F: Future<Output = Result<PostDecision, BoxError>>,
{
    type Output = Result<PostDecision, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let reminder = this.reminder;
        this.decision
            .poll(cx)
            .map(|decision| decision.map(|decision| first(reminder.take(), decision)))
    }
}

fn first(reminder: Option<ContextMessage>, decision: PostDecision) -> PostDecision {
    match reminder {
        Some(reminder) => decision.with_context_first(reminder),
        None => decision,
    }
}
