//! Counting the bodies of a call, and closing the count.

use std::sync::atomic::{AtomicU32, Ordering};

/// How many bodies of a call are open, and whether another may begin.
///
/// Closing and counting are one atomic, so a body cannot begin between the
/// last look at the count and the publication of the result.
pub(crate) struct Gate(AtomicU32);

const CLOSED: u32 = 1 << 31;

impl Gate {
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Counts a body in, unless the gate is closed.
    pub(crate) fn enter(&self) -> bool {
        self.0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
                (state & CLOSED == 0).then(|| state + 1)
            })
            .is_ok()
    }

    /// Counts a body out; says whether it was the last one and whether the
    /// gate is closed.
    pub(crate) fn exit(&self) -> (bool, bool) {
        let before = self.0.fetch_sub(1, Ordering::AcqRel);
        (before & !CLOSED == 1, before & CLOSED != 0)
    }

    /// Lets no further body in; says whether none is left.
    pub(crate) fn close(&self) -> bool {
        self.0.fetch_or(CLOSED, Ordering::AcqRel) & !CLOSED == 0
    }

    /// Whether no body is open.
    pub(crate) fn is_idle(&self) -> bool {
        self.0.load(Ordering::Acquire) & !CLOSED == 0
    }
}
