//! Processes that were started ahead and wait, given nothing.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use super::launcher::Launcher;
use super::worker::{Living, Pipes, Worker};

/// Waiting processes, each used once.
pub(super) struct Pool {
    size: usize,
    waiting: Mutex<VecDeque<(Worker, Pipes)>>,
}

impl Pool {
    pub(super) fn new(size: usize) -> Self {
        Self {
            size,
            waiting: Mutex::new(VecDeque::new()),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// The one that waits longest and is alive.
    pub(super) fn take(&self) -> Option<(Worker, Pipes)> {
        loop {
            // Those that died waiting are dropped outside the lock.
            let (mut worker, pipes) = self.lock().pop_front()?;
            if worker.is_alive() {
                return Some((worker, pipes));
            }
        }
    }

    /// Starts as many as are missing. One that cannot be started is not
    /// missed before a run needs it.
    pub(super) fn fill(&self, launcher: &Launcher, living: &Living) {
        while self.len() < self.size {
            let Ok(worker) = Worker::start(launcher, living) else {
                return;
            };
            self.lock().push_back(worker);
        }
    }

    /// Takes all of them.
    pub(super) fn drain(&self) -> VecDeque<(Worker, Pipes)> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<(Worker, Pipes)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
