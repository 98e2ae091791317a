use std::fmt;

use tower_layer::Layer;

use super::{Guard, GuardService, Verdict};
use crate::call::CallView;

/// Applies [`GuardService`]. See the [module docs](super) for examples.
#[derive(Clone)]
pub struct GuardLayer<G> {
    guard: G,
}

impl<F> GuardLayer<F> {
    /// A layer with the guard `guard`, a closure.
    pub const fn new<R>(guard: F) -> Self
    where
        F: Fn(&CallView) -> R,
        R: Verdict,
    {
        Self { guard }
    }
}

impl<G: Guard> GuardLayer<G> {
    /// A layer with a guard that is a type of its own, [`GuardList`] for
    /// instance.
    ///
    /// [`GuardList`]: super::GuardList
    pub const fn with(guard: G) -> Self {
        Self { guard }
    }
}

impl<S, G: Clone> Layer<S> for GuardLayer<G> {
    type Service = GuardService<S, G>;

    fn layer(&self, inner: S) -> Self::Service {
        GuardService::new(inner, self.guard.clone())
    }
}

impl<G> fmt::Debug for GuardLayer<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardLayer").finish_non_exhaustive()
    }
}
