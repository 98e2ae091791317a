//! Group commit: many waiters, one sync.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use super::error::LogError;
use super::shared::{Handle, Shared};

/// How far the log is synced, and who waits for more.
#[derive(Debug, Default)]
pub(super) struct Group {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Every record up to this place survives a loss of power.
    synced: u64,
    /// A round is on its way; its end wakes everyone.
    running: bool,
    waiters: BTreeMap<u64, Waker>,
    next_ticket: u64,
}

impl Group {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place up to which the log is synced.
    pub(super) fn synced(&self) -> u64 {
        self.lock().synced
    }

    /// Takes the log as synced up to `place`.
    pub(super) fn advance(&self, place: u64) {
        let mut state = self.lock();
        state.synced = state.synced.max(place);
    }

    /// Gives the waker back, so that it is dropped without the lock.
    fn forget(&self, ticket: u64) -> Option<Waker> {
        self.lock().waiters.remove(&ticket)
    }
}

/// Syncs once; its drop ends the round on every path, also when the runtime
/// it was given to shuts down before it ran.
struct Round {
    shared: Arc<Shared>,
}

impl Round {
    fn start(shared: Arc<Shared>) {
        let round = Self { shared };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn_blocking(move || round.run());
            return;
        }
        let name = "toolfall-log-sync".to_owned();
        // Where no thread can be had, dropping the closure ends the round and
        // wakes the waiter, which tries again.
        let _ = std::thread::Builder::new()
            .name(name)
            .spawn(move || round.run());
    }

    fn run(self) {
        self.shared.sync_now();
    }
}

impl Drop for Round {
    fn drop(&mut self) {
        let waiters = {
            let mut state = self.shared.group.lock();
            state.running = false;
            std::mem::take(&mut state.waiters)
        };
        for waiter in waiters.into_values() {
            waiter.wake();
        }
    }
}

impl Shared {
    /// Syncs everything written so far, here and now. A failure breaks the
    /// log: what the system had not yet written, it may have forgotten.
    pub(super) fn sync_now(&self) {
        let place = self.written();
        let sync = catch_unwind(AssertUnwindSafe(|| self.sink.sync()));
        match sync.unwrap_or_else(|_| Err(io::Error::other("the sink panicked"))) {
            Ok(()) => self.group.advance(place),
            Err(error) => self.break_down("a sync failed", Some(error)),
        }
    }
}

/// Waits until records survive a loss of power.
///
/// Ready with the error if the log broke. Cancel safe: a dropped wait takes
/// nothing from others and stops no sync.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Synced {
    shared: Arc<Shared>,
    /// The place to wait for; zero asks for nothing.
    place: u64,
    ticket: Option<u64>,
    /// A closed log is given up when it is synced, not before.
    handle: Option<Arc<Handle>>,
}

impl Synced {
    pub(super) const fn new(shared: Arc<Shared>, place: u64) -> Self {
        Self {
            shared,
            place,
            ticket: None,
            handle: None,
        }
    }

    /// Gives `handle` up when ready.
    pub(super) fn then_release(mut self, handle: Arc<Handle>) -> Self {
        self.handle = Some(handle);
        self
    }
}

impl Future for Synced {
    type Output = Result<(), LogError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.place == 0 {
            self.settle();
            return Poll::Ready(Ok(()));
        }
        let shared = Arc::clone(&self.shared);
        // Wakers are foreign code: none is cloned or dropped under the lock.
        let waker = cx.waker().clone();
        let (lead, _earlier) = {
            let mut state = shared.group.lock();
            if state.synced >= self.place {
                drop(state);
                self.settle();
                return Poll::Ready(Ok(()));
            }
            if let Some(error) = shared.sync_error() {
                drop(state);
                self.settle();
                return Poll::Ready(Err(error));
            }
            let ticket = *self.ticket.get_or_insert_with(|| {
                state.next_ticket += 1;
                state.next_ticket
            });
            let earlier = state.waiters.insert(ticket, waker);
            (!std::mem::replace(&mut state.running, true), earlier)
        };
        if lead {
            Round::start(shared);
        }
        Poll::Pending
    }
}

impl Synced {
    fn settle(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.shared.group.forget(ticket);
        }
        self.handle = None;
    }
}

impl Drop for Synced {
    fn drop(&mut self) {
        self.settle();
    }
}
