//! What hooks are told of the session they run in.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The session that hooks run in, and the turn it is at.
///
/// A [`HookSet`](super::HookSet) has one for every call; a call that carries
/// another as an [extension](crate::Extensions), a subagent's for instance,
/// is told of that one. Clones share the turn.
#[derive(Clone, Debug)]
pub struct HookSession {
    id: String,
    folder: PathBuf,
    transcript: Option<String>,
    model: String,
    turn: Arc<AtomicU64>,
}

impl HookSession {
    /// The session `id`, whose work is in `folder`: where hooks run.
    pub fn new(id: impl Into<String>, folder: impl Into<PathBuf>) -> Self {
        Self {
            id: id.into(),
            folder: folder.into(),
            transcript: None,
            model: String::new(),
            turn: Arc::default(),
        }
    }

    /// Says where the session is written down.
    pub fn transcript(mut self, place: impl Into<String>) -> Self {
        self.transcript = Some(place.into());
        self
    }

    /// Says which model is at work.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = model.into();
        self
    }

    /// Sets the turn, for this session and its clones; it begins at 0.
    pub fn set_turn(&self, turn: u64) {
        self.turn.store(turn, Ordering::Relaxed);
    }

    /// The turn it is at.
    pub fn turn(&self) -> u64 {
        self.turn.load(Ordering::Relaxed)
    }

    /// The session's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Where its work is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn transcript_path(&self) -> Option<&str> {
        self.transcript.as_deref()
    }

    pub(super) fn model_name(&self) -> &str {
        &self.model
    }
}
