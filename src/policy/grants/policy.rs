//! A policy whose asks a grant may answer.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use toolfall_layers::policy::{Answer, Asked, IntoPolicy, Policy};

use super::GrantStore;
use crate::{BoxError, CallView, Decision};

/// The grants that turned an ask about a call into an allow: among the call's
/// [extensions](CallView::extensions), and only if there were any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantedBy {
    names: Vec<String>,
}

impl GrantedBy {
    /// Their names, in the order in which they were used: one for each
    /// [`Grants`] stage that asked.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

/// A pre-decision policy whose asks a grant may answer; see the
/// [module docs](super).
///
/// An ask of another stage needs a grant of its own there, or a person.
#[derive(Clone)]
pub struct Grants<P> {
    store: Arc<dyn GrantStore>,
    inner: P,
}

impl<P> Grants<P> {
    /// The policy `inner`, with the grants of `store`.
    pub fn new<M, I>(store: impl GrantStore + 'static, inner: I) -> Self
    where
        I: IntoPolicy<CallView, Decision, M, Policy = P>,
    {
        Self {
            store: Arc::new(store),
            inner: inner.into_policy(),
        }
    }
}

impl<P> Policy<CallView, Decision> for Grants<P>
where
    P: Policy<CallView, Decision>,
{
    type Future = Granting<P::Future>;

    fn ask(&self, call: &CallView) -> Asked<Decision, Self::Future> {
        match self.inner.ask(call) {
            Answer::Now(decision) => {
                Answer::Now(decision.and_then(|decision| grant(&*self.store, call, decision)))
            }
            Answer::Later(decision) => Answer::Later(Granting {
                decision,
                store: self.store.clone(),
                call: call.clone(),
            }),
        }
    }
}

impl<P> fmt::Debug for Grants<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grants").finish_non_exhaustive()
    }
}

pin_project! {
    /// A decision on its way, which a grant may answer. Dropped early, no use
    /// is spent.
    #[must_use = "futures do nothing unless polled"]
    pub struct Granting<F> {
        #[pin]
        decision: F,
        store: Arc<dyn GrantStore>,
        call: CallView,
    }
}

impl<F> Future for Granting<F>
where
    F: Future<Output = Result<Decision, BoxError>>,
{
    type Output = Result<Decision, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let decision = ready!(this.decision.poll(cx))?;
        Poll::Ready(grant(&**this.store, this.call, decision))
    }
}

impl<F> fmt::Debug for Granting<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Granting").finish_non_exhaustive()
    }
}

/// Only an ask ever reaches the store.
fn grant(
    store: &dyn GrantStore,
    call: &CallView,
    decision: Decision,
) -> Result<Decision, BoxError> {
    if !matches!(decision, Decision::Ask(_)) {
        return Ok(decision);
    }
    let Some(name) = store.spend(call)? else {
        return Ok(decision);
    };
    // One call is in one decision stage at a time, so nothing comes between.
    let extensions = call.extensions();
    let before = extensions.get::<GrantedBy>();
    let mut names = before.map_or_else(Vec::new, |before| before.names.clone());
    names.push(name);
    extensions.insert(GrantedBy { names });
    Ok(Decision::Allow)
}
