//! One connection: made, listed, and listed again until it is lost.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::Notify;
use tokio::time::sleep;

use super::noted::Noted;
use super::{Left, Supervisor, is_disposed};
use crate::RegisterError;
use crate::mcp::client::error::StartError;
use crate::mcp::client::events::{EventKind, in_full};
use crate::mcp::client::generation::Listing;
use crate::mcp::client::session::{Endpoint, Session, SessionEvent, SessionOptions};
use crate::mcp::client::source::ServerState;

/// So long a listing that was asked for by the server waits after the last
/// one: a server that answers each listing with a notice is not asked on and on.
const PAUSE: Duration = Duration::from_millis(50);
/// So often others have their turn before the first listing: that a connection
/// was closed as it was made has to be read before it can be seen.
const TURNS: usize = 8;
/// So much of what is no message is told one by one.
const GARBAGE: u64 = 16;

/// A connection with listed tools.
pub(super) struct Up {
    session: Session,
    /// Holds one notice at most: many of them are one.
    changed: Arc<Notify>,
}

/// What a listing came to.
pub(super) enum Synced {
    /// So many tools are registered, those of the listing.
    Replaced(usize),
    /// The tools from before are, for a name was taken.
    Kept,
}

impl Supervisor {
    /// Makes a connection and registers its tools.
    pub(super) async fn attempt(&mut self) -> Result<Up, StartError> {
        let changed = Arc::new(Notify::new());
        let session = self.open(changed.clone()).await?;
        let up = Up { session, changed };
        for _ in 0..TURNS {
            tokio::task::yield_now().await;
        }
        let mut synced = self.sync_while_connected(&up).await;
        // A notice that came before is about a listing that may be older.
        if !matches!(synced, Err(StartError::Lost))
            && up.changed.notified().now_or_never().is_some()
        {
            synced = self.sync_while_connected(&up).await;
        }
        synced?;
        self.connections += 1;
        self.shared.set_state(ServerState::Up {
            generation: self.connections,
        });
        Ok(up)
    }

    async fn open(&mut self, changed: Arc<Notify>) -> Result<Session, StartError> {
        let peer = Arc::new(Mutex::new(None));
        let endpoint = match &self.server.endpoint {
            Endpoint::Wire(connector) => Endpoint::Wire(Arc::new(Noted {
                connector: connector.clone(),
                peer: peer.clone(),
            })),
            other @ Endpoint::Http(_) => other.clone(),
        };
        let reporter = self.reporter.clone();
        let garbage = AtomicU64::new(0);
        let mut options = SessionOptions::new(&*self.server.name, move |event| match event {
            SessionEvent::ToolsChanged => changed.notify_one(),
            SessionEvent::Garbage(what) => {
                let count = garbage.fetch_add(1, Ordering::Relaxed) + 1;
                // A server that writes nothing else does not fill a disk.
                if count <= GARBAGE || count.is_power_of_two() {
                    reporter.tell(EventKind::Garbage { what, count });
                }
            }
        });
        options.connect_timeout = self.server.connect_timeout;
        options.list_timeout = self.server.connect_timeout;
        options.legacy = self.server.legacy;
        options.progress_prolongs = self.server.progress_prolongs;
        self.overdue = false;
        self.left = Left::Opening(peer);
        match Session::open(&endpoint, &options).await {
            Ok(session) => {
                self.left = Left::Session(session.clone());
                Ok(session)
            }
            Err(error) => {
                self.left = Left::Peer(Some(error.gone()));
                Err(error.into())
            }
        }
    }

    /// Lists again whenever the server says so, until the connection is lost.
    /// Says whether the server stays; it does not if its scope is gone.
    pub(super) async fn stay(&mut self, up: &Up) -> bool {
        loop {
            tokio::select! {
                biased;
                () = up.session.lost() => return true,
                () = up.changed.notified() => {}
            }
            match self.sync_while_connected(up).await {
                Ok(Synced::Replaced(tools)) => self.tell(EventKind::Resynced { tools }),
                Ok(Synced::Kept) => {}
                Err(StartError::Lost) => return true,
                Err(error) => {
                    let ends = is_disposed(&error);
                    let error = in_full(&error);
                    self.tell(EventKind::SyncFailed { error });
                    if ends {
                        return false;
                    }
                }
            }
            tokio::select! {
                biased;
                () = up.session.lost() => return true,
                () = sleep(PAUSE) => {}
            }
        }
    }

    async fn sync_while_connected(&mut self, up: &Up) -> Result<Synced, StartError> {
        tokio::select! {
            biased;
            () = up.session.lost() => Err(StartError::Lost),
            synced = self.sync(&up.session) => synced,
        }
    }

    /// Makes the registered tools those that the server lists now. An error
    /// changes none of them.
    ///
    /// Cancel safe: the tools change in one step, after the last wait.
    async fn sync(&mut self, session: &Session) -> Result<Synced, StartError> {
        let definitions = session.list_tools().await?;
        let mut listing = Listing::read(&self.server.name, definitions).await?;
        let options = self.server.options();
        let entries = listing.compile(&options, &self.shared).await;
        if self.shared.set_quarantined(&listing.quarantined) {
            self.tell(EventKind::Quarantined(listing.quarantined));
        }
        if let Some(definitions) = &self.server.definitions {
            // Before the tools can be called: a policy may refuse them.
            for change in definitions.observe(&self.server.name, &listing.tools) {
                self.tell(EventKind::Definition(change));
            }
        }
        self.shared.set_session(Some(session.clone()));
        match self.generation.replace(&listing.tools, entries) {
            Ok(()) => {
                let count = listing.tools.len();
                self.shared.set_tools(listing.tools);
                Ok(Synced::Replaced(count))
            }
            Err(error) if is_conflict(&error) && !self.server.strict => {
                self.tell(EventKind::Conflict(error));
                Ok(Synced::Kept)
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn is_conflict(error: &RegisterError) -> bool {
    matches!(
        error,
        RegisterError::NameTaken { .. } | RegisterError::NameTakenInScope { .. }
    )
}
