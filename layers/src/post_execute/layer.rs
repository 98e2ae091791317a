use std::fmt;

use tower_layer::Layer;

use super::{PostDecision, PostExecute, PostRequest};
use crate::policy::IntoPolicy;

/// Applies [`PostExecute`]. See the [module docs](super) for an example.
#[derive(Clone)]
pub struct PostExecuteLayer<P> {
    policy: P,
}

impl<P> PostExecuteLayer<P> {
    /// A layer that asks `policy`: a closure, an asynchronous closure, a
    /// tower service or a [`Policy`](crate::policy::Policy).
    pub fn new<M, I>(policy: I) -> Self
    where
        I: IntoPolicy<PostRequest, PostDecision, M, Policy = P>,
    {
        Self {
            policy: policy.into_policy(),
        }
    }
}

impl<S, P: Clone> Layer<S> for PostExecuteLayer<P> {
    type Service = PostExecute<S, P>;

    fn layer(&self, inner: S) -> Self::Service {
        PostExecute::new(inner, self.policy.clone())
    }
}

impl<P> fmt::Debug for PostExecuteLayer<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostExecuteLayer").finish_non_exhaustive()
    }
}
