//! Guards that come and go while calls run.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{Denial, Guard};
use crate::call::CallView;
use crate::error::BoxError;

type Entry = Arc<dyn Guard + Send + Sync>;

/// A live list of guards, evaluated in the order of registration; the first
/// reason wins.
///
/// A guard that is registered while another one runs takes part in that very
/// call, unless the list was empty in between: then it belongs to the next.
/// No lock is held while a guard runs, so a guard may change the list.
///
/// ```
/// use toolfall_layers::{CallView, Denial, GuardList};
///
/// let guards = GuardList::new();
/// let read_only = guards.register(|call: &CallView| {
///     (call.name() == "write").then(|| Denial::new("read only"))
/// });
/// assert_eq!(guards.len(), 1);
/// drop(read_only);
/// assert_eq!(guards.len(), 0);
/// ```
#[derive(Clone, Default)]
pub struct GuardList(Arc<Mutex<Entries>>);

#[derive(Default)]
struct Entries {
    next: u64,
    /// Changes whenever the list runs empty.
    generation: u64,
    list: Vec<(u64, Entry)>,
}

impl GuardList {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    fn entries(&self) -> std::sync::MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a guard; it stays until the registration is dropped.
    pub fn register<G>(&self, guard: G) -> GuardRegistration
    where
        G: Guard + Send + Sync + 'static,
    {
        let guard: Entry = Arc::new(guard);
        let mut entries = self.entries();
        let id = entries.next;
        entries.next += 1;
        entries.list.push((id, guard));
        drop(entries);
        GuardRegistration {
            list: Arc::downgrade(&self.0),
            id,
        }
    }

    /// How many guards are registered.
    pub fn len(&self) -> usize {
        self.entries().list.len()
    }

    /// Whether no guard is registered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Guard for GuardList {
    fn check(&self, call: &CallView) -> Result<Option<Denial>, BoxError> {
        let mut from = 0;
        let generation = self.entries().generation;
        loop {
            let next = {
                let entries = self.entries();
                if entries.generation != generation {
                    return Ok(None);
                }
                let place = entries.list.partition_point(|(id, _)| *id < from);
                entries.list.get(place).cloned()
            };
            let Some((id, guard)) = next else {
                return Ok(None);
            };
            if let Some(denial) = guard.check(call)? {
                return Ok(Some(denial));
            }
            from = id + 1;
        }
    }
}

impl fmt::Debug for GuardList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardList")
            .field("len", &self.len())
            .finish()
    }
}

/// Keeps a guard registered; dropping it lifts exactly that guard.
#[must_use = "dropping the registration lifts the guard"]
pub struct GuardRegistration {
    list: Weak<Mutex<Entries>>,
    id: u64,
}

impl Drop for GuardRegistration {
    fn drop(&mut self) {
        let Some(list) = self.list.upgrade() else {
            return;
        };
        // The guard is dropped outside the lock: its `Drop` is user code.
        let _lifted = {
            let mut entries = list.lock().unwrap_or_else(PoisonError::into_inner);
            let place = entries.list.iter().position(|(id, _)| *id == self.id);
            let lifted = place.map(|place| entries.list.remove(place));
            if lifted.is_some() && entries.list.is_empty() {
                entries.generation += 1;
            }
            lifted
        };
    }
}

impl fmt::Debug for GuardRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardRegistration").finish_non_exhaustive()
    }
}
