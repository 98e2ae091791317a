//! The threads of programs that run in this process.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

/// So long it may take until threads that were told to end are gone before a
/// run is refused because of them.
const GRACE: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    alive: usize,
    /// Alive though their runs are over.
    left: usize,
}

/// How many threads there may be, and are.
#[derive(Debug)]
pub(super) struct Seats {
    counts: watch::Sender<Counts>,
    threads: usize,
    stuck: usize,
}

/// Why there is no seat: so many threads do not end.
#[derive(Debug)]
pub(super) struct Stuck(pub(super) usize);

impl Seats {
    pub(super) fn new(threads: usize, stuck: usize) -> Arc<Self> {
        Arc::new(Self {
            counts: watch::Sender::default(),
            threads: threads.max(1),
            stuck: stuck.max(1),
        })
    }

    /// How many threads go on though their runs are over.
    pub(super) fn left(&self) -> usize {
        self.counts.borrow().left
    }

    /// Waits for a free seat.
    ///
    /// Cancel safe.
    pub(super) async fn take(self: &Arc<Self>) -> Result<Seat, Stuck> {
        loop {
            let mut taken = false;
            self.counts.send_if_modified(|counts| {
                taken = counts.left < self.stuck && counts.alive < self.threads;
                counts.alive += usize::from(taken);
                taken
            });
            if taken {
                return Ok(Seat {
                    seats: Arc::clone(self),
                    left: false,
                    ended: false,
                });
            }
            let mut counts = self.counts.subscribe();
            let free = |counts: &Counts| counts.left < self.stuck;
            let unstuck = counts.wait_for(free);
            // The sender is ours, so that it does not go.
            if timeout(GRACE, unstuck).await.is_err() {
                return Err(Stuck(self.left()));
            }
            let _ = counts
                .wait_for(|counts| counts.alive < self.threads || counts.left >= self.stuck)
                .await;
        }
    }

    /// Ready when no thread is left.
    pub(super) async fn none(&self) {
        let _ = self
            .counts
            .subscribe()
            .wait_for(|counts| counts.alive == 0)
            .await;
    }
}

/// A thread's place, shared by the thread and its run.
#[derive(Debug)]
pub(super) struct Seat {
    seats: Arc<Seats>,
    left: bool,
    ended: bool,
}

/// A seat behind a lock that is only ever held for a count.
pub(super) type Shared = Arc<std::sync::Mutex<Seat>>;

impl Seat {
    /// The thread has ended.
    pub(super) fn end(&mut self) {
        if !std::mem::replace(&mut self.ended, true) {
            let left = usize::from(self.left);
            self.seats.counts.send_modify(|counts| {
                counts.alive -= 1;
                counts.left -= left;
            });
        }
    }

    /// The run is over, whatever the thread does.
    pub(super) fn leave(&mut self) {
        if !self.ended && !std::mem::replace(&mut self.left, true) {
            self.seats.counts.send_modify(|counts| counts.left += 1);
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.end();
    }
}

/// A count cannot be left half done.
pub(super) fn lock(seat: &Shared) -> std::sync::MutexGuard<'_, Seat> {
    seat.lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
