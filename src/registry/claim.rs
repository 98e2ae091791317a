//! Names that one owner at a time may use on a registry, besides those of
//! tools.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{Inner, Registry};

/// The names that are in use.
#[derive(Default)]
pub(super) struct Claims(Mutex<BTreeSet<Arc<str>>>);

/// Keeps a name in use until it is dropped. Does not keep the registry alive.
pub(crate) struct Claim {
    registry: Weak<Inner>,
    name: Arc<str>,
}

impl Registry {
    /// Takes `name` in use, if it is not.
    pub(crate) fn claim(&self, name: &Arc<str>) -> Option<Claim> {
        let claims = &self.0.claims.0;
        let mut claimed = claims.lock().unwrap_or_else(PoisonError::into_inner);
        claimed.insert(name.clone()).then(|| Claim {
            registry: Arc::downgrade(&self.0),
            name: name.clone(),
        })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(registry) = self.registry.upgrade() {
            let claims = &registry.claims.0;
            let mut claimed = claims.lock().unwrap_or_else(PoisonError::into_inner);
            claimed.remove(&self.name);
        }
    }
}
