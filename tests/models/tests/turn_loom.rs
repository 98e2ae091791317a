//! How a call and its scheduler talk, in every order of steps and of memory.

#[path = "support/sleeper.rs"]
mod sleeper;
#[path = "../../../layers/src/turn/mod.rs"]
#[allow(dead_code, reason = "printing is not modelled")]
mod turn;
#[path = "support/turns.rs"]
mod turns;
#[path = "support/waker.rs"]
mod waker;

/// What stands in for the layers' own `sync` module.
///
/// loom takes a sequentially consistent access for one that acquires or
/// releases, which is less than the turn relies on: a mark and a look at
/// whether anybody watches must not pass each other. Fences say it in a way
/// that loom knows.
mod sync {
    pub(crate) use std::sync::Arc;

    pub(crate) use super::waker::AtomicWaker;

    pub(crate) use loom::sync::atomic::Ordering;
    use loom::sync::atomic::{self, fence};
    pub(crate) use loom::sync::{Condvar, Mutex};
    pub(crate) use loom::thread::spawn;

    fn fenced<T>(access: impl FnOnce() -> T) -> T {
        fence(Ordering::SeqCst);
        let answer = access();
        fence(Ordering::SeqCst);
        answer
    }

    pub(crate) struct AtomicBool(atomic::AtomicBool);

    impl AtomicBool {
        pub(crate) fn new(first: bool) -> Self {
            Self(atomic::AtomicBool::new(first))
        }

        pub(crate) fn load(&self, order: Ordering) -> bool {
            fenced(|| self.0.load(order))
        }

        pub(crate) fn store(&self, value: bool, order: Ordering) {
            fenced(|| self.0.store(value, order));
        }
    }

    pub(crate) struct AtomicU8(atomic::AtomicU8);

    impl AtomicU8 {
        pub(crate) fn new(first: u8) -> Self {
            Self(atomic::AtomicU8::new(first))
        }

        pub(crate) fn load(&self, order: Ordering) -> u8 {
            fenced(|| self.0.load(order))
        }

        pub(crate) fn fetch_or(&self, flags: u8, order: Ordering) -> u8 {
            fenced(|| self.0.fetch_or(flags, order))
        }

        pub(crate) fn fetch_update(
            &self,
            set: Ordering,
            fetch: Ordering,
            update: impl FnMut(u8) -> Option<u8>,
        ) -> Result<u8, u8> {
            fenced(|| self.0.fetch_update(set, fetch, update))
        }
    }
}

/// Threads are taken off their work at most so often: with three, loom finds
/// almost everything, and ends.
fn check(preemptions: usize, scenario: fn()) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(scenario);
}

#[test]
fn no_mark_is_lost() {
    check(3, turns::no_mark_is_lost);
}

#[test]
fn no_grant_is_lost() {
    check(3, turns::no_grant_is_lost);
}

#[test]
fn a_dropped_control_releases_every_wait() {
    check(3, turns::a_dropped_control_releases_every_wait);
}

#[test]
fn one_call_through_a_whole_batch() {
    check(3, || turns::a_whole_batch_of(1));
}

#[test]
fn two_calls_through_a_whole_batch() {
    check(1, || turns::a_whole_batch_of(2));
}
