//! The policy that wants files read before they are changed.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{EditGuard, FileListener, Intent, Observation, Seen, WriteGuard};
use crate::policy::PerScope;
use crate::workspace::FileError;

/// So many files are remembered for each scope.
const MOST: usize = 10_000;

/// Files must be read before they are overwritten or edited, and be the same
/// still.
///
/// | last seen by the call's scope | a write | an edit |
/// |---|---|---|
/// | never | creates | `FS_NOT_OBSERVED` |
/// | nothing there | creates | `FS_NOT_FOUND` |
/// | a version | replaces that version | of that version |
///
/// A call without a scope has seen nothing, ever. What a scope has seen is
/// forgotten when the scope is gone, or the policy is; the handle on it is
/// weak. Of more than 10,000 files the older half is forgotten, which costs
/// another reading.
#[derive(Default)]
pub struct ReadBeforeEdit {
    seen: PerScope<Mutex<Memory>>,
}

#[derive(Default)]
struct Memory {
    files: HashMap<Arc<str>, (u64, Seen)>,
    next: u64,
}

impl ReadBeforeEdit {
    /// A policy that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    fn last_seen(&self, intent: &Intent) -> Option<Seen> {
        let memory = self.seen.get(intent.owner()?)?;
        let memory = locked(&memory);
        memory
            .files
            .get(intent.target().key())
            .map(|(_, seen)| *seen)
    }
}

fn locked(memory: &Mutex<Memory>) -> MutexGuard<'_, Memory> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FileListener for ReadBeforeEdit {
    fn write_intent(&self, intent: &Intent) -> Result<Option<WriteGuard>, FileError> {
        Ok(Some(match self.last_seen(intent) {
            Some(Seen::Present(version)) => WriteGuard::ReplaceIfVersion(version),
            Some(Seen::Absent) | None => WriteGuard::CreateIfAbsent,
        }))
    }

    fn edit_intent(&self, intent: &Intent) -> Result<Option<EditGuard>, FileError> {
        let path = intent.target().display();
        match self.last_seen(intent) {
            Some(Seen::Present(version)) => Ok(Some(EditGuard::IfVersion(version))),
            Some(Seen::Absent) => Err(FileError::new(
                "FS_NOT_FOUND",
                format!("cannot edit {path:?}: not found"),
            )),
            None => Err(FileError::new(
                "FS_NOT_OBSERVED",
                format!("edit requires reading {path:?} first"),
            )),
        }
    }

    fn observed(&self, observation: &Observation) -> Result<(), FileError> {
        if let Some(owner) = observation.owner() {
            locked(&self.seen.of(owner)).keep(observation);
        }
        Ok(())
    }
}

impl Memory {
    fn keep(&mut self, observation: &Observation) {
        self.next += 1;
        let key = Arc::from(observation.target().key());
        self.files.insert(key, (self.next, observation.seen()));
        if self.files.len() > MOST {
            let mut ages: Vec<u64> = self.files.values().map(|(age, _)| *age).collect();
            let (_, middle, _) = ages.select_nth_unstable(MOST / 2);
            let middle = *middle;
            self.files.retain(|_, (age, _)| *age > middle);
        }
    }
}

impl fmt::Debug for ReadBeforeEdit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadBeforeEdit").finish_non_exhaustive()
    }
}
