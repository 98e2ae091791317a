//! As much of `tokio::sync::watch` as is used.

use std::sync::Arc;

use loom::sync::{Condvar, Mutex};

struct Shared<T> {
    value: Mutex<(T, u64)>,
    changed: Condvar,
}

pub(crate) struct Sender<T>(Arc<Shared<T>>);

pub(crate) struct Receiver<T> {
    shared: Arc<Shared<T>>,
    seen: u64,
}

impl<T> Sender<T> {
    pub(crate) fn new(first: T) -> Self {
        Self(Arc::new(Shared {
            value: Mutex::new((first, 0)),
            changed: Condvar::new(),
        }))
    }

    pub(crate) fn subscribe(&self) -> Receiver<T> {
        let seen = self.0.value.lock().unwrap().1;
        Receiver {
            shared: self.0.clone(),
            seen,
        }
    }

    pub(crate) fn send_if_modified(&self, modify: impl FnOnce(&mut T) -> bool) {
        let mut value = self.0.value.lock().unwrap();
        if modify(&mut value.0) {
            value.1 += 1;
            drop(value);
            self.0.changed.notify_all();
        }
    }
}

impl<T: Copy> Receiver<T> {
    pub(crate) fn latest(&self) -> T {
        self.shared.value.lock().unwrap().0
    }

    /// Waits for the next value that was not seen.
    pub(crate) fn changed(&mut self) -> T {
        let mut value = self.shared.value.lock().unwrap();
        while value.1 == self.seen {
            value = self.shared.changed.wait(value).unwrap();
        }
        self.seen = value.1;
        value.0
    }
}
