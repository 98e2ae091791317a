//! Telling clients that their tools have changed.

use std::sync::{Arc, Weak};

use tokio_util::sync::CancellationToken;

use super::listing;
use super::shared::Shared;
use crate::Scope;

/// Watches what `scope` sees. Changes that come faster than they are looked
/// at are one.
pub(super) struct Watch {
    shared: Weak<Shared>,
    scope: Scope,
    seen: u64,
    registry: tokio::sync::watch::Receiver<u64>,
    replaced: tokio::sync::watch::Receiver<u64>,
}

impl Watch {
    pub(super) fn new(shared: &Arc<Shared>, scope: Scope) -> Self {
        let replaced = shared.replaced.subscribe();
        let served = shared.served();
        let registry = served.registry.changes();
        Self {
            seen: listing::digest(&served.registry, &scope),
            shared: Arc::downgrade(shared),
            scope,
            registry,
            replaced,
        }
    }

    /// Waits until something has changed for the scope; says whether there
    /// may be more.
    pub(super) async fn changed(&mut self, end: &CancellationToken) -> bool {
        loop {
            tokio::select! {
                biased;
                () = end.cancelled() => return false,
                replaced = self.replaced.changed() => if replaced.is_err() {
                    return false;
                },
                changed = self.registry.changed() => if changed.is_err() {
                    // The registry went, perhaps with what it was replaced by.
                    if self.replaced.changed().await.is_err() {
                        return false;
                    }
                },
            }
            let Some(shared) = self.shared.upgrade() else {
                return false;
            };
            let served = shared.served();
            self.registry = served.registry.changes();
            let now = listing::digest(&served.registry, &self.scope);
            if std::mem::replace(&mut self.seen, now) != now {
                return true;
            }
        }
    }
}
