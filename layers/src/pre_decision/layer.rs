use std::fmt;

use tower_layer::Layer;

use super::{Decision, PreDecision};
use crate::call::CallView;
use crate::policy::IntoPolicy;

/// Applies [`PreDecision`]. See the [module docs](super) for an example.
#[derive(Clone)]
pub struct PreDecisionLayer<P> {
    policy: P,
}

impl<P> PreDecisionLayer<P> {
    /// A layer that asks `policy`: a closure, an asynchronous closure, a
    /// tower service or a [`Policy`](crate::policy::Policy).
    pub fn new<M, I>(policy: I) -> Self
    where
        I: IntoPolicy<CallView, Decision, M, Policy = P>,
    {
        Self {
            policy: policy.into_policy(),
        }
    }
}

impl<S, P: Clone> Layer<S> for PreDecisionLayer<P> {
    type Service = PreDecision<S, P>;

    fn layer(&self, inner: S) -> Self::Service {
        PreDecision::new(inner, self.policy.clone())
    }
}

impl<P> fmt::Debug for PreDecisionLayer<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreDecisionLayer").finish_non_exhaustive()
    }
}
