use std::time::Duration;

use tower_layer::Layer;

use super::Timeout;

/// Applies [`Timeout`]. See the [module docs](super) for an example.
#[derive(Clone, Copy, Debug)]
pub struct TimeoutLayer {
    pub(super) default: Option<Duration>,
    pub(super) grace: Option<Duration>,
}

impl TimeoutLayer {
    /// A layer in which a tool's declared budget counts, and `budget` for
    /// tools that declare none.
    ///
    /// A budget beyond what tokio's timer can hold waits as long as it can.
    pub const fn new(budget: Duration) -> Self {
        Self {
            default: Some(budget),
            grace: None,
        }
    }

    /// A layer in which only declared budgets count.
    pub const fn declared() -> Self {
        Self {
            default: None,
            grace: None,
        }
    }

    /// Drops a body that has not stopped `grace` after its budget passed.
    ///
    /// Off by default: dropping a body does not undo what it did.
    pub const fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = Some(grace);
        self
    }
}

impl<S> Layer<S> for TimeoutLayer {
    type Service = Timeout<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Timeout::new(inner, *self)
    }
}
