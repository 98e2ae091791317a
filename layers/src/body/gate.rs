//! Counting the bodies of a call, and closing the count.

use std::sync::atomic::{AtomicU32, Ordering};

/// How many bodies of a call are open, and whether another may begin.
///
/// Closing and counting are one atomic, so a body cannot begin between the
/// last look at the count and the publication of the result. That somebody
/// waits, and that a body was here before, lie in it too: both then come with
/// a step that is taken anyway.
pub(crate) struct Gate(AtomicU32);

const CLOSED: u32 = 1 << 31;
const WAITED_FOR: u32 = 1 << 30;
const USED: u32 = 1 << 29;
const COUNT: u32 = USED - 1;

/// What the gate was like when a body was counted out.
pub(crate) struct Exit {
    /// No other body is open.
    pub(crate) last: bool,
    /// No other body can begin.
    pub(crate) closed: bool,
    /// Somebody waits, or once did.
    pub(crate) waited_for: bool,
}

impl Gate {
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Counts a body in, unless the gate is closed; says whether it is the
    /// first one ever.
    pub(crate) fn enter(&self) -> Option<bool> {
        self.0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
                (state & CLOSED == 0).then_some((state + 1) | USED)
            })
            .ok()
            .map(|before| before & USED == 0)
    }

    /// Counts a body out.
    pub(crate) fn exit(&self) -> Exit {
        let before = self.0.fetch_sub(1, Ordering::AcqRel);
        Exit {
            last: before & COUNT == 1,
            closed: before & CLOSED != 0,
            waited_for: before & WAITED_FOR != 0,
        }
    }

    /// Says that a waker lies ready. Whoever then still finds a body open can
    /// wait: that body's exit comes later and sees it.
    pub(crate) fn announce_waiter(&self) {
        self.0.fetch_or(WAITED_FOR, Ordering::AcqRel);
    }

    /// Lets no further body in; says whether none is left.
    pub(crate) fn close(&self) -> bool {
        self.0.fetch_or(CLOSED, Ordering::AcqRel) & COUNT == 0
    }

    /// Whether no body is open.
    pub(crate) fn is_idle(&self) -> bool {
        self.0.load(Ordering::Acquire) & COUNT == 0
    }
}
