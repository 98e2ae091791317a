//! A value that is replaced as a whole while others read it.

use super::sync::{Arc, ArcSwap, AtomicU64, Guard, Mutex, Ordering, PoisonError, watch};

/// Readers take the value without a lock, writers replace it one at a time,
/// and every change has a number of its own.
///
/// A value is there before its number is: who reads the number first and the
/// value then has a value at least as new, and may keep it for as long as the
/// number stands. The announcement comes last, outside the lock.
pub(super) struct Published<T> {
    current: ArcSwap<T>,
    generation: AtomicU64,
    /// Held while a new value is made, never while user code runs.
    writing: Mutex<()>,
    changes: watch::Sender<u64>,
}

impl<T: Clone> Published<T> {
    pub(super) fn new(first: T) -> Self {
        Self {
            current: ArcSwap::from_pointee(first),
            generation: AtomicU64::new(0),
            writing: Mutex::new(()),
            changes: watch::Sender::new(0),
        }
    }

    /// The value as it is now.
    pub(super) fn load(&self) -> Guard<Arc<T>> {
        self.current.load()
    }

    /// How many changes there were.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// The number of the last change, to wait for the next.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Replaces the value by a changed copy; an error changes nothing.
    pub(super) fn change<R, E>(&self, change: impl FnOnce(&mut T) -> Result<R, E>) -> Result<R, E> {
        let (replaced, generation, answer) = {
            let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
            let mut next = T::clone(&self.current.load());
            let answer = change(&mut next)?;
            let replaced = self.current.swap(Arc::new(next));
            let generation = self.generation.fetch_add(1, Ordering::AcqRel) + 1;
            (replaced, generation, answer)
        };
        // What was taken out ends here, outside the lock: its drop is user
        // code.
        drop(replaced);
        self.changes.send_if_modified(|last| {
            // Changes may arrive here in another order than they were made.
            let newer = generation > *last;
            *last = (*last).max(generation);
            newer
        });
        Ok(answer)
    }
}
