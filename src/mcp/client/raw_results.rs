//! Results as they were written.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;
use serde_json::Value;

use crate::mcp::lines::{Reread, reread};

/// Keeps results by the ids of their requests, where what carries them gives
/// them to the protocol in a form that loses parts.
#[derive(Clone, Default)]
pub(super) struct RawResults(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    expected: HashSet<RequestId>,
    found: HashMap<RequestId, Value>,
}

impl RawResults {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The result of `id` is to be kept.
    pub(super) fn expect(&self, id: RequestId) {
        self.kept().expected.insert(id);
    }

    /// Looks at a message that comes in. Gives what is to go on in its place,
    /// if it cannot be read.
    pub(super) fn look(&self, message: &str) -> Option<String> {
        let mut kept = self.kept();
        match reread(&mut kept.expected, message.as_bytes()) {
            Reread::Result(id, result) => {
                kept.found.insert(id, result);
                None
            }
            Reread::Unreadable(error) => Some(error),
            Reread::Other => None,
        }
    }

    /// The result of `id`, if it was seen; nothing is kept for it any more.
    pub(super) fn take(&self, id: &RequestId) -> Option<Value> {
        let mut kept = self.kept();
        kept.expected.remove(id);
        kept.found.remove(id)
    }
}
