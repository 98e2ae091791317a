use std::num::NonZeroU32;
use std::time::Duration;

use tower_layer::Layer;

use super::Retry;
use crate::outcome::{FailureKind, ToolOutcome};

/// Applies [`Retry`]. See the [module docs](super) for an example.
#[derive(Clone, Copy, Debug)]
pub struct RetryLayer {
    pub(super) attempts: NonZeroU32,
    pub(super) backoff: fn(u32) -> Duration,
    pub(super) when: fn(&ToolOutcome) -> bool,
}

impl RetryLayer {
    /// A layer that dispatches a call up to `attempts` times, at once, when
    /// its body failed.
    pub const fn new(attempts: NonZeroU32) -> Self {
        Self {
            attempts,
            backoff: |_| Duration::ZERO,
            when: |outcome| matches!(outcome.kind(), Some(FailureKind::Body)),
        }
    }

    /// Waits `backoff(n)` after attempt `n`, counted from 1. A cancellation
    /// ends the wait, and the last outcome counts.
    pub const fn with_backoff(mut self, backoff: fn(u32) -> Duration) -> Self {
        self.backoff = backoff;
        self
    }

    /// Tries again when `when` says so of an outcome.
    pub const fn when(mut self, when: fn(&ToolOutcome) -> bool) -> Self {
        self.when = when;
        self
    }

    /// How often a call is dispatched at most.
    pub const fn attempts(&self) -> NonZeroU32 {
        self.attempts
    }
}

impl<S> Layer<S> for RetryLayer {
    type Service = Retry<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Retry::new(inner, *self)
    }
}
