//! Listeners that say under which conditions a file may be changed.
//!
//! Before `write_file` and `edit_file` change a file, a [`FileGate`] asks its
//! listeners what must hold; the first that answers decides, and without an
//! answer nothing must. The condition is checked when the file is replaced,
//! together with the replacement as far as this process goes: of two changes
//! to one version, one fails with `FS_STALE_VERSION`. Another process may
//! still slip in between the comparison and the replacement of a file; a file
//! that must not exist yet is made in one step, also against other processes.
//!
//! Whatever the tools have seen, by reading or by writing, the listeners are
//! told; what others do to files nobody is told. [`ReadBeforeEdit`] is the
//! listener that remembers it for each scope and asks for it.
//!
//! ```
//! use tokio_util::sync::CancellationToken;
//! use toolfall::workspace::{Workspace, gate::FileGate};
//! use toolfall::*;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BoxError> {
//! # let folder = tempfile::tempdir()?;
//! std::fs::write(folder.path().join("a.txt"), "one two")?;
//!
//! let registry = Registry::new();
//! let workspace = Workspace::open(folder.path())?.gate(FileGate::read_before_edit());
//! let _tools = registry.register_all(workspace.tools())?;
//! let pipeline = Pipeline::builder(registry).build();
//!
//! let agent = Scope::new("agent");
//! let call = |name: &'static str, arguments: &'static str| {
//!     let request = CallRequest::new("1", name, arguments, CancellationToken::new());
//!     pipeline.run(request.with_scope(agent.clone()))
//! };
//! let edit = r#"{"path":"a.txt","old_text":"two","new_text":"2"}"#;
//! assert_eq!(call("edit_file", edit).await.code(), Some("FS_NOT_OBSERVED"));
//! assert_eq!(call("read_file", r#"{"path":"a.txt"}"#).await.text(), "1\tone two");
//! assert!(!call("edit_file", edit).await.is_error());
//!
//! std::fs::write(folder.path().join("a.txt"), "changed by somebody")?;
//! assert_eq!(call("edit_file", edit).await.code(), Some("FS_STALE_VERSION"));
//! # Ok(()) }
//! ```

mod event;
mod files;
mod policy;

use std::fmt;
use std::sync::Arc;

use toolfall_layers::panic::{PanicError, catch};
use toolfall_layers::{CallView, Scope};

pub use self::event::{
    EditGuard, EmptyTarget, Intent, Observation, Seen, Target, Version, WriteGuard,
};
pub use self::files::Files;
pub use self::policy::ReadBeforeEdit;
use super::FileError;
use crate::policy::{ListenerRegistration, Listeners};

/// Has a say in how files are changed, and hears what was seen.
///
/// Runs on a thread that may block, with no lock held. A panic fails the call
/// like an error.
pub trait FileListener: Send + Sync {
    /// Somebody is about to write a file. With a guard, the listeners after
    /// this one are not asked.
    ///
    /// # Errors
    ///
    /// A refusal; nothing is written.
    fn write_intent(&self, intent: &Intent) -> Result<Option<WriteGuard>, FileError> {
        let _ = intent;
        Ok(None)
    }

    /// Somebody is about to replace a passage of a file. As
    /// [`write_intent`](Self::write_intent).
    ///
    /// # Errors
    ///
    /// A refusal; nothing is edited.
    fn edit_intent(&self, intent: &Intent) -> Result<Option<EditGuard>, FileError> {
        let _ = intent;
        Ok(None)
    }

    /// Somebody has read or written a file. Every listener is told.
    ///
    /// # Errors
    ///
    /// The call fails, and what it wrote stays written.
    fn observed(&self, observation: &Observation) -> Result<(), FileError> {
        let _ = observation;
        Ok(())
    }
}

/// The listeners of a workspace: a list that is live. Clones share it.
#[derive(Clone)]
pub struct FileGate {
    listeners: Arc<Listeners<dyn FileListener>>,
}

impl FileGate {
    /// A gate without listeners: everything may be changed.
    pub fn new() -> Self {
        Self {
            listeners: Listeners::new(),
        }
    }

    /// A gate with [`ReadBeforeEdit`].
    pub fn read_before_edit() -> Self {
        let gate = Self::new();
        gate.register(ReadBeforeEdit::new()).keep();
        gate
    }

    /// Adds a listener after those added before.
    ///
    /// Dropping the registration takes it away, with all that it remembers.
    pub fn register(&self, listener: impl FileListener + 'static) -> ListenerRegistration {
        self.listeners.insert(Arc::new(listener), None, false)
    }

    /// Adds a listener before those added before.
    pub fn register_outermost(
        &self,
        listener: impl FileListener + 'static,
    ) -> ListenerRegistration {
        self.listeners.insert(Arc::new(listener), None, true)
    }

    /// Adds a listener that hears the calls from `scope` and from scopes
    /// nested in it, and nobody else's.
    pub fn register_in(
        &self,
        scope: &Scope,
        listener: impl FileListener + 'static,
    ) -> ListenerRegistration {
        self.listeners
            .insert(Arc::new(listener), Some(scope), false)
    }

    fn first<T>(
        &self,
        call: &CallView,
        ask: impl Fn(&dyn FileListener) -> Result<Option<T>, FileError>,
    ) -> Result<Option<T>, FileError> {
        let mut heard = self.listeners.heard();
        while let Some(listener) = heard.next(call) {
            let answer = catch(|| ask(&*listener)).map_err(|panic| panicked(&panic))?;
            if let Some(guard) = answer? {
                return Ok(Some(guard));
            }
        }
        Ok(None)
    }

    fn write_guard(&self, call: &CallView, target: Target) -> Result<WriteGuard, FileError> {
        let intent = Intent::new(target, call.scope().cloned());
        let guard = self.first(call, |listener| listener.write_intent(&intent))?;
        Ok(guard.unwrap_or(WriteGuard::Unconditional))
    }

    fn edit_guard(&self, call: &CallView, target: Target) -> Result<EditGuard, FileError> {
        let intent = Intent::new(target, call.scope().cloned());
        let guard = self.first(call, |listener| listener.edit_intent(&intent))?;
        Ok(guard.unwrap_or(EditGuard::Unconditional))
    }

    /// Tells every listener, also after one that fails, and gives the first
    /// failure back.
    fn observed(&self, call: &CallView, target: Target, seen: Seen) -> Result<(), FileError> {
        let observation = Observation::new(target, call.scope().cloned(), seen);
        let (mut heard, mut told) = (self.listeners.heard(), Ok(()));
        while let Some(listener) = heard.next(call) {
            let heard = catch(|| listener.observed(&observation));
            told = told.and(heard.unwrap_or_else(|panic| Err(panicked(&panic))));
        }
        told
    }
}

fn panicked(panic: &PanicError) -> FileError {
    FileError::new(
        "FS_LISTENER_FAILED",
        format!("a listener of the file gate panicked: {panic}"),
    )
}

impl Default for FileGate {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for FileGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileGate")
            .field("listeners", &self.listeners.len())
            .finish()
    }
}
