//! A call's place in a batch: what the stages tell a scheduler, and what they
//! wait for.
//!
//! A scheduler makes a pair with [`turn`], gives the [`Turn`] to a
//! [`CallRequest`](crate::CallRequest) and keeps the [`TurnControl`]. The
//! stages mark the turn as the call falls through them, and wait where the
//! model's order demands it:
//!
//! | mark | set by | means |
//! |---|---|---|
//! | admitted | guard stage | the next call's policies may start |
//! | parked | approval stage | a person is asked; the slot is free |
//! | wants slot | approval stage | answered; wait for a slot |
//! | settled | post-execute or result stage | the bodies are done; the slot is free; wait for *may commit* |
//! | done | result stage | the result is published |
//!
//! A call without a turn pays nothing and waits for nothing. When the control
//! is dropped every wait is released, so a lost scheduler cannot hang a call.
//!
//! ```
//! use toolfall_layers::turn::{Mark, turn};
//!
//! let (turn, control) = turn(std::task::Waker::noop().clone());
//! assert!(!control.has(Mark::Done));
//! drop(turn);
//! assert!(control.has(Mark::Done), "a lost call is a finished call");
//! ```

use std::fmt;
use std::task::{Context, Poll, Waker};

use crate::sync::{Arc, AtomicBool, AtomicU8, AtomicWaker, Ordering};

/// How far a call has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mark {
    /// Past the guards.
    Admitted = 1,
    /// Waiting for an answer to an approval request.
    Parked = 1 << 1,
    /// Answered, waiting for a slot.
    WantsSlot = 1 << 2,
    /// Bodies done, waiting to commit.
    Settled = 1 << 3,
    /// Result published, or the call is gone.
    Done = 1 << 4,
}

const SLOT: u8 = 1 << 5;
const MAY_COMMIT: u8 = 1 << 6;
const RELEASED: u8 = 1 << 7;

struct Shared {
    flags: AtomicU8,
    /// The scheduler looks at the flags after each poll of its own: marks set
    /// meanwhile need not wake it.
    watched: AtomicBool,
    scheduler: Waker,
    call: AtomicWaker,
}

impl Shared {
    fn has(&self, flags: u8) -> bool {
        self.flags.load(Ordering::SeqCst) & flags != 0
    }

    fn mark(&self, set: u8, clear: u8) {
        let mut wake = false;
        let _ = self
            .flags
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |flags| {
                let next = flags & !clear | set;
                wake = next != flags;
                wake.then_some(next)
            });
        if wake && !self.watched.load(Ordering::SeqCst) {
            self.scheduler.wake_by_ref();
        }
    }

    fn grant(&self, flags: u8) {
        if self.flags.fetch_or(flags, Ordering::SeqCst) & flags != flags {
            self.call.wake();
        }
    }

    fn poll_for(&self, flags: u8, cx: &mut Context<'_>) -> Poll<()> {
        let flags = flags | RELEASED;
        if self.has(flags) {
            return Poll::Ready(());
        }
        self.call.register(cx.waker());
        if self.has(flags) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

/// The call's side: given to a [`CallRequest`](crate::CallRequest), marked by
/// the stages.
pub struct Turn(Arc<Shared>);

/// The scheduler's side.
pub struct TurnControl(Arc<Shared>);

/// A new turn; `scheduler` is woken at every mark made outside
/// [`TurnControl::watch`].
pub fn turn(scheduler: Waker) -> (Turn, TurnControl) {
    let shared = Arc::new(Shared {
        flags: AtomicU8::new(0),
        watched: AtomicBool::new(false),
        scheduler,
        call: AtomicWaker::new(),
    });
    (Turn(shared.clone()), TurnControl(shared))
}

impl Turn {
    pub(crate) fn admit(&self) {
        self.0.mark(Mark::Admitted as u8, 0);
    }

    pub(crate) fn park(&self) {
        self.0.mark(Mark::Parked as u8, SLOT);
    }

    pub(crate) fn unpark(&self) {
        self.0.mark(Mark::WantsSlot as u8, Mark::Parked as u8);
    }

    pub(crate) fn poll_slot(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.0.poll_for(SLOT, cx).map(|()| {
            self.0.mark(0, Mark::WantsSlot as u8);
        })
    }

    pub(crate) fn settle(&self) {
        self.0.mark(
            Mark::Settled as u8,
            Mark::Parked as u8 | Mark::WantsSlot as u8,
        );
    }

    pub(crate) fn poll_commit(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.0.poll_for(MAY_COMMIT, cx)
    }

    pub(crate) fn done(&self) {
        self.0.mark(Mark::Done as u8 | Mark::Settled as u8, 0);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.done();
    }
}

impl TurnControl {
    /// Whether the call has come to `mark`. `Parked` and `WantsSlot` end again.
    pub fn has(&self, mark: Mark) -> bool {
        self.0.has(mark as u8)
    }

    /// Runs `poll`, in which the scheduler polls the call; marks made
    /// meanwhile do not wake it, so it looks at them afterwards.
    pub fn watch<T>(&self, poll: impl FnOnce() -> T) -> T {
        /// Looking away happens also when `poll` panics.
        struct Watch<'a>(&'a Shared);
        impl Drop for Watch<'_> {
            fn drop(&mut self) {
                self.0.watched.store(false, Ordering::SeqCst);
            }
        }
        self.0.watched.store(true, Ordering::SeqCst);
        let _watch = Watch(&self.0);
        poll()
    }

    /// Gives an answered call its slot back.
    pub fn grant_slot(&self) {
        self.0.grant(SLOT);
    }

    /// Lets a settled call commit: the call before it is done.
    pub fn grant_commit(&self) {
        self.0.grant(MAY_COMMIT);
    }

    /// Releases every wait, now and later.
    pub fn release(&self) {
        self.0.grant(RELEASED);
    }
}

impl Drop for TurnControl {
    fn drop(&mut self) {
        self.release();
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").finish_non_exhaustive()
    }
}

impl fmt::Debug for TurnControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnControl").finish_non_exhaustive()
    }
}
