//! A thread that waits for a waker.

use std::sync::Arc;
use std::task::Wake;

use crate::sync::{Condvar, Mutex};

/// Somebody who sleeps until he is woken.
#[derive(Default)]
pub(crate) struct Sleeper {
    woken: Mutex<bool>,
    bell: Condvar,
}

impl Sleeper {
    pub(crate) fn sleep(&self) {
        let mut woken = self.woken.lock().unwrap();
        while !*woken {
            woken = self.bell.wait(woken).unwrap();
        }
        *woken = false;
    }
}

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        *self.woken.lock().unwrap() = true;
        self.bell.notify_one();
    }
}
