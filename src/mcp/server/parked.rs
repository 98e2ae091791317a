//! Calls that wait for an answer that comes with another request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::running::Running;
use super::shared::Shared;
use crate::ApprovalAnswer;

/// So long a call waits for its answer.
const WAIT: Duration = Duration::from_secs(600);
/// So many wait at once.
const MOST: usize = 1024;

/// A call that was asked about, until its client comes back.
pub(super) struct Waiting {
    pub(super) running: Running,
    pub(super) reply: oneshot::Sender<Option<ApprovalAnswer>>,
    same: Same,
}

/// What tells whether a request is the same call, from the same client.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Same {
    pub(super) name: String,
    pub(super) arguments: Arc<str>,
    /// What the client proves itself by, over HTTP.
    pub(super) caller: Option<Vec<u8>>,
    /// The session, over a pipe.
    pub(super) session: Option<u64>,
}

/// The calls that wait, each under a word that nobody can guess.
#[derive(Default)]
pub(super) struct Parked(Mutex<HashMap<String, Waiting>>);

impl Parked {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a call out, for whoever has its word and says the same: once.
    /// A wrong word, or another call under it, finds nothing and changes
    /// nothing.
    pub(super) fn take(&self, word: &str, same: &Same) -> Option<Waiting> {
        let mut parked = self.lock();
        if parked.get(word)?.same != *same {
            return None;
        }
        parked.remove(word)
    }
}

/// Keeps a call, and says under which word; lets go of it if there is no room
/// or no word. Nobody who comes within ten minutes: the call is cancelled.
pub(super) fn keep(
    shared: &Arc<Shared>,
    running: Running,
    reply: oneshot::Sender<Option<ApprovalAnswer>>,
    same: Same,
    stop: CancellationToken,
) -> Option<String> {
    let mut bytes = [0_u8; 24];
    getrandom::fill(&mut bytes).ok()?;
    let hex = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let word: String = digits
        .map(|digit| char::from(hex[usize::from(digit)]))
        .collect();
    let token = running.token.clone();
    let waiting = Waiting {
        running,
        reply,
        same,
    };
    {
        let mut parked = shared.parked.lock();
        if parked.len() >= MOST {
            return None;
        }
        parked.insert(word.clone(), waiting);
    }
    let (shared, kept) = (Arc::downgrade(shared), word.clone());
    tokio::spawn(async move {
        tokio::select! {
            () = token.cancelled() => {}
            () = stop.cancelled() => {}
            () = tokio::time::sleep(WAIT) => {}
        }
        let Some(shared) = shared.upgrade() else {
            return;
        };
        // Dropped without the lock: what ends there is a call.
        let gone = shared.parked.lock().remove(&kept);
        drop(gone);
    });
    Some(word)
}
