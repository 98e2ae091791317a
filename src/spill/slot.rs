//! The one store of a host.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{Spill, SpillStore, Spilled};
use crate::BoxError;

/// A place for one store, which comes and goes while calls run.
///
/// Clones share the place.
///
/// ```
/// use toolfall::spill::{LocalSpillStore, SpillSlot};
///
/// let slot = SpillSlot::new();
/// let mount = slot.mount(LocalSpillStore::new())?;
/// assert!(slot.mount(LocalSpillStore::new()).is_err());
/// drop(mount);
/// assert!(!slot.is_mounted());
/// # Ok::<(), toolfall::BoxError>(())
/// ```
#[derive(Clone, Default)]
pub struct SpillSlot(Arc<Place>);

type Place = Mutex<Option<Arc<dyn SpillStore>>>;

/// There is a store already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected no spill store, found one that is mounted already")]
pub struct SpillMountError(());

/// No store is mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no spill store is mounted")]
pub struct NoSpillStore(());

impl SpillSlot {
    /// A place without a store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts `store` there, for as long as the mount is kept.
    ///
    /// # Errors
    ///
    /// [`SpillMountError`] where there is a store already.
    pub fn mount(&self, store: impl SpillStore) -> Result<SpillMount, SpillMountError> {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if place.is_some() {
            // The store given in is dropped after the lock, as arguments are.
            return Err(SpillMountError(()));
        }
        *place = Some(Arc::new(store));
        Ok(SpillMount(Some(Arc::downgrade(&self.0))))
    }

    /// Whether a store is there.
    pub fn is_mounted(&self) -> bool {
        self.current().is_some()
    }

    pub(super) fn current(&self) -> Option<Arc<dyn SpillStore>> {
        let place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        place.clone()
    }

    /// Saves `spill` in the store that is there now.
    ///
    /// # Errors
    ///
    /// [`NoSpillStore`], or the store's error.
    ///
    /// # Cancel safety
    ///
    /// That of [`SpillStore::save`]. The store stays until the save ends, also
    /// where it is taken away meanwhile.
    pub async fn save(&self, spill: Spill) -> Result<Spilled, BoxError> {
        let store = self.current().ok_or(NoSpillStore(()))?;
        store.save(spill).await
    }
}

impl fmt::Debug for SpillSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpillSlot")
            .field("mounted", &self.is_mounted())
            .finish()
    }
}

/// Keeps a store in its place; dropping it takes the store away.
#[must_use = "dropping the mount takes the store away"]
#[derive(Debug)]
pub struct SpillMount(Option<Weak<Place>>);

impl SpillMount {
    /// Leaves the store there for as long as the place lives.
    pub fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for SpillMount {
    fn drop(&mut self) {
        let place = self.0.take().and_then(|place| place.upgrade());
        // Nothing else fills the place before this mount is gone, so the store
        // there is its own. It ends after the lock: its drop is user code.
        let _store =
            place.and_then(|place| place.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}
