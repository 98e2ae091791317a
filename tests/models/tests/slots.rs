//! How bodies wake their places in a batch, in every order of steps.

#[path = "support/sleeper.rs"]
mod sleeper;
#[path = "../../../src/scheduler/slots.rs"]
#[allow(dead_code, reason = "nothing is cleared")]
mod slots;
#[path = "support/waker.rs"]
mod waker;

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use sleeper::Sleeper;
use slots::Slots;

/// What stands in for the scheduler's own `sync` module.
mod sync {
    pub(crate) use std::sync::{Arc, PoisonError};

    pub(crate) use loom::sync::atomic::{AtomicBool, Ordering};
    pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};

    pub(crate) use super::waker::AtomicWaker;

    #[allow(clippy::unnecessary_wraps, reason = "as the one it stands in for")]
    pub(crate) fn catch<T>(what: impl FnOnce() -> T) -> Result<T, ()> {
        Ok(what())
    }
}

/// Each body ends when it has been told so twice, by two threads; the telling
/// is ordered by nothing but the wake-up. A wake-up that is lost, or does not
/// show what it is about, shows as a deadlock.
fn run(bodies: usize) {
    let sleeper = Arc::new(Sleeper::default());
    let waker = Waker::from(sleeper.clone());
    let mut slots = Slots::new();
    let mut threads = Vec::new();
    for body in 0..bodies {
        let (place, waker) = slots.reserve(body);
        let told = Arc::new(AtomicUsize::new(0));
        for _ in 0..2 {
            let (told, waker) = (told.clone(), waker.clone());
            threads.push(thread::spawn(move || {
                told.fetch_add(1, Ordering::Relaxed);
                waker.wake_by_ref();
            }));
        }
        slots.put(
            place,
            poll_fn(move |_| match told.load(Ordering::Relaxed) {
                2 => Poll::Ready(()),
                _ => Poll::Pending,
            }),
        );
        assert_eq!(place, body);
    }
    let mut open = bodies;
    for place in 0..bodies {
        open -= usize::from(slots.poll_place(place).is_ready());
    }
    while open > 0 {
        slots.ready().register(&Context::from_waker(&waker));
        for _ in 0..slots.woken() {
            let Some((place, _)) = slots.next_woken() else {
                break;
            };
            open -= usize::from(slots.poll_place(place).is_ready());
        }
        if open > 0 {
            sleeper.sleep();
        }
    }
    for thread in threads {
        thread.join().unwrap();
    }
}

/// Threads are taken off their work at most so often.
fn check(preemptions: usize, bodies: usize) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.max_threads = 5;
    model.check(move || run(bodies));
}

#[test]
fn no_wake_up_is_lost_and_each_shows_what_it_is_about() {
    check(2, 1);
}

#[test]
fn places_do_not_disturb_each_other() {
    check(1, 2);
}
