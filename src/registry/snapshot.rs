//! One coherent view of all tools.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::RegisterError;
use crate::tool::ToolEntry;

#[derive(Clone, Default)]
pub(super) struct Snapshot(HashMap<Arc<str>, Arc<ToolEntry>, RandomState>);

impl Snapshot {
    pub(super) fn get(&self, name: &str) -> Option<&Arc<ToolEntry>> {
        self.0.get(name)
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &Arc<ToolEntry>> {
        self.0.values()
    }

    pub(super) fn insert(&mut self, entry: Arc<ToolEntry>) -> Result<(), RegisterError> {
        let name: Arc<str> = entry.def.name().into();
        if self.0.contains_key(&name) {
            return Err(RegisterError::NameTaken {
                name: name.to_string(),
            });
        }
        self.0.insert(name, entry);
        Ok(())
    }

    /// Removes exactly `entry`, never a later one of the same name.
    pub(super) fn remove(&mut self, entry: &Arc<ToolEntry>) -> bool {
        let name = entry.def.name();
        let is_it = self
            .0
            .get(name)
            .is_some_and(|known| Arc::ptr_eq(known, entry));
        if is_it {
            self.0.remove(name);
        }
        is_it
    }
}
