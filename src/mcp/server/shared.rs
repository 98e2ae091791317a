//! What all sessions of a server share.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tower::util::BoxCloneSyncService;

use super::Session;
use super::parked::Parked;
use super::questions::Desks;
use crate::policy::ListenerRegistration;
use crate::registry::Registry;
use crate::{CallRequest, Scope, ToolResult};

pub(super) type Entry = BoxCloneSyncService<CallRequest, ToolResult, std::convert::Infallible>;
pub(super) type ChooseScope = dyn Fn(&Session) -> Scope + Send + Sync;

/// A pipeline and the registry behind it: what a call runs on.
pub(super) struct Served {
    pub(super) pipeline: Entry,
    pub(super) registry: Registry,
}

pub(super) struct Identity {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) title: Option<String>,
    pub(super) instructions: Option<String>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Calls in flight, of one session.
    pub(super) calls: usize,
    /// Tools on one page of a listing.
    pub(super) page: usize,
    /// Bytes of one line.
    pub(super) line: usize,
    /// How long calls may go on once their session ends.
    pub(super) grace: Duration,
}

pub(super) struct Shared {
    pub(super) identity: Identity,
    pub(super) limits: Limits,
    pub(super) structured: bool,
    pub(super) scope: Option<Box<ChooseScope>>,
    pub(super) served: ArcSwap<Served>,
    /// Counts replacements.
    pub(super) replaced: watch::Sender<u64>,
    /// Cancelled when the server is gone: no call outlives it.
    pub(super) end: CancellationToken,
    pub(super) desks: Arc<Desks>,
    pub(super) parked: Parked,
    /// For requests without a session.
    pub(super) single: Arc<Semaphore>,
    /// For clients without a session that listen to changes.
    pub(super) listeners: Arc<Semaphore>,
    /// Keeps the answerer that asks clients.
    pub(super) _asking: Option<ListenerRegistration>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

impl Shared {
    pub(super) fn served(&self) -> Arc<Served> {
        self.served.load_full()
    }

    /// Room for one more listener.
    pub(super) fn listener(&self) -> Option<OwnedSemaphorePermit> {
        self.listeners.clone().try_acquire_owned().ok()
    }

    pub(super) fn replace(&self, served: Served) {
        self.served.store(Arc::new(served));
        self.replaced.send_modify(|count| *count += 1);
    }
}
