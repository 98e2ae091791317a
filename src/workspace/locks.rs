//! One mutation of a path at a time, in this whole process.

use std::collections::HashSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::gate::Target;

/// The keys that are held. Workspaces share it, because their roots may lie
/// within each other.
static HELD: Mutex<Option<HashSet<String>>> = Mutex::new(None);
static RELEASED: Condvar = Condvar::new();

/// Holds a target until it is dropped. Nothing but work on the file itself is
/// done meanwhile.
pub(super) struct Hold(String);

fn held() -> MutexGuard<'static, Option<HashSet<String>>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until nobody else holds `target`. Blocks its thread; a thread that
/// holds a target never waits for another one.
pub(super) fn hold(target: &Target) -> Hold {
    let mut keys = held();
    loop {
        let set = keys.get_or_insert_default();
        if set.insert(target.key().to_owned()) {
            return Hold(target.key().to_owned());
        }
        keys = RELEASED.wait(keys).unwrap_or_else(PoisonError::into_inner);
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(keys) = held().as_mut() {
            keys.remove(&self.0);
        }
        RELEASED.notify_all();
    }
}
