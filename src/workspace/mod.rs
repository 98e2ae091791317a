//! File tools that are confined to one folder.
//!
//! A [`Workspace`] holds its root folder open. Every file is opened from that
//! handle, name by name, so that neither `..` nor an absolute path nor a
//! symbolic link leads out, also while somebody moves folders about. What a
//! tool returns is bounded by [`Limits`], and says what was left out.
//!
//! | tool | what it does | overlaps |
//! |---|---|---|
//! | `read_file` | a window of a text file, with line numbers | yes |
//! | `list_dir` | what a folder holds | yes |
//! | `glob` | files whose path matches a glob | yes |
//! | `grep` | lines that match a regular expression | yes |
//! | `write_file` | makes or replaces a file, all or nothing | no |
//! | `edit_file` | replaces a passage of a text file | no |
//!
//! The last two declare that they make [edits](crate::ToolDef::edits). With a
//! [`gate`] they change only what was read before, and is the same still.
//!
//! Failures carry the name `WorkspaceError` and one of these codes:
//!
//! | code | what is the matter |
//! |---|---|
//! | `FS_NOT_FOUND` | nothing is there |
//! | `FS_NOT_REGULAR_FILE` | a file is wanted, and something else is there |
//! | `FS_NOT_OBSERVED` | the file must be read first |
//! | `FS_STALE_VERSION` | the file has changed since, or is gone |
//! | `FS_EDIT_NOT_FOUND`, `FS_AMBIGUOUS_EDIT` | the passage stands nowhere, or more than once |
//! | `FS_ABORTED` | the work was cancelled; a tool's call says `ABORTED` |
//! | `FS_LISTENER_FAILED` | a listener of the gate panicked |
//! | `OUTSIDE_ROOT`, `WRONG_KIND` | the path leads outside, or through or to no folder |
//! | `NOT_TEXT`, `TOO_LARGE`, `OUT_OF_RANGE` | the file cannot be shown |
//! | `BAD_PATTERN`, `INVALID_ARGS`, `IO` | a pattern, an argument, the system |
//!
//! ```
//! use tokio_util::sync::CancellationToken;
//! use toolfall::workspace::Workspace;
//! use toolfall::*;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BoxError> {
//! # let folder = tempfile::tempdir()?;
//! std::fs::write(folder.path().join("a.txt"), "one\ntwo\nthree\n")?;
//!
//! let registry = Registry::new();
//! let workspace = Workspace::open(folder.path())?;
//! for registration in registry.register_all(workspace.tools())? {
//!     registration.keep();
//! }
//! let pipeline = Pipeline::builder(registry).build();
//!
//! let token = CancellationToken::new;
//! let read = pipeline.call("1", "read_file", r#"{"path":"a.txt","first_line":2}"#, token()).await;
//! assert_eq!(read.text(), "2\ttwo\n3\tthree");
//! let out = pipeline.call("2", "read_file", r#"{"path":"../secret"}"#, token()).await;
//! assert_eq!(out.code(), Some("OUTSIDE_ROOT"));
//! # Ok(()) }
//! ```

mod atomic;
mod cards;
mod edit_file;
mod error;
pub mod gate;
mod glob;
mod grep;
mod list_dir;
mod locks;
mod passage;
mod provider;
mod read_file;
mod spot;
mod text;
mod walk;
mod write_file;

use std::fmt;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use tokio_util::sync::CancellationToken;

pub use self::error::{FileError, WorkspaceError};
use self::gate::{FileGate, Files};
pub use self::passage::Edit;
pub use self::provider::{Edited, FileText, Written};
use crate::{BoxError, CallView, ToolContext, ToolDef};

/// How much the tools of a [`Workspace`] read and return.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The largest file to read, search or edit, in bytes. 8 MiB.
    pub file_bytes: u64,
    /// The most lines that `read_file` returns at once. 2,000.
    pub lines: usize,
    /// Where long lines are cut, in characters. 2,000.
    pub line_chars: usize,
    /// The most text that `read_file` returns at once, in bytes. 256 KiB.
    pub read_bytes: usize,
    /// The most entries that `list_dir` and `glob` return. 1,000.
    pub entries: usize,
    /// The most lines that `grep` returns. 200.
    pub matches: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_bytes: 8 << 20,
            lines: 2_000,
            line_chars: 2_000,
            read_bytes: 256 << 10,
            entries: 1_000,
            matches: 200,
        }
    }
}

/// A folder that the file tools are confined to. Clones share it.
#[derive(Clone)]
pub struct Workspace {
    dir: Arc<Dir>,
    root: Arc<Path>,
    limits: Limits,
    gate: FileGate,
}

impl Workspace {
    /// Opens the folder at `root`. Blocks for a moment.
    ///
    /// # Errors
    ///
    /// [`WorkspaceError`] if there is no folder that can be opened.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, WorkspaceError> {
        let given = root.into();
        let open = || {
            let root = given.canonicalize()?;
            Ok((Dir::open_ambient_dir(&root, ambient_authority())?, root))
        };
        match open() {
            Ok((dir, root)) => Ok(Self {
                dir: Arc::new(dir),
                root: root.into(),
                limits: Limits::default(),
                gate: FileGate::new(),
            }),
            Err(source) => Err(WorkspaceError {
                root: given,
                source,
            }),
        }
    }

    /// Bounds what the tools read and return.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Asks the listeners of `gate` before a file is changed, and tells them
    /// what was seen. Without one, everything may be changed.
    pub fn gate(mut self, gate: FileGate) -> Self {
        self.gate = gate;
        self
    }

    /// Access to the files on behalf of `call`, through the gate: for tools of
    /// a host's own that read and change files like those here.
    pub fn files(&self, call: &CallView) -> Files {
        Files::new(self.clone(), call.clone())
    }

    /// The root, as the system names it.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// All six tools.
    pub fn tools(&self) -> Vec<ToolDef> {
        let mut tools = self.reading_tools();
        tools.extend([write_file::tool(self), edit_file::tool(self)]);
        tools
    }

    /// The four tools that change nothing.
    pub fn reading_tools(&self) -> Vec<ToolDef> {
        vec![
            read_file::tool(self),
            list_dir::tool(self),
            glob::tool(self),
            grep::tool(self),
        ]
    }

    /// Does `work` on a thread that may block. It is told of the
    /// cancellation and is waited for all the same.
    fn blocking<T, W>(
        &self,
        cancelled: &CancellationToken,
        work: W,
    ) -> impl Future<Output = Result<T, BoxError>> + use<T, W>
    where
        T: Send + 'static,
        W: FnOnce(&Self, &CancellationToken) -> Result<T, FileError> + Send + 'static,
    {
        let (workspace, cancelled) = (self.clone(), cancelled.clone());
        let working = tokio::task::spawn_blocking(move || {
            work(&workspace, &cancelled).map_err(FileError::coded)
        });
        async move {
            match working.await {
                Ok(done) => done.map_err(Into::into),
                // Either the work panicked or the runtime is going away.
                Err(error) => Err(format!("the work did not finish: {error}").into()),
            }
        }
    }
}

impl Workspace {
    /// As [`blocking`](Self::blocking), through the gate.
    fn gated<T, W>(
        &self,
        ctx: &ToolContext,
        work: W,
    ) -> impl Future<Output = Result<T, BoxError>> + use<T, W>
    where
        T: Send + 'static,
        W: FnOnce(&Files, &CancellationToken) -> Result<T, FileError> + Send + 'static,
    {
        let files = self.files(ctx.call());
        self.blocking(ctx.cancellation(), move |_, cancelled| {
            work(&files, cancelled)
        })
    }
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workspace")
            .field("root", &self.root)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
