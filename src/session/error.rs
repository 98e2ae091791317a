//! Why the log could not be read or written.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A line of a log that could not be read.
///
/// Shown as `FILE:LINE: expected …, found …`.
#[derive(Debug)]
pub struct ReadError {
    pub(super) file: Option<PathBuf>,
    pub(super) line: u64,
    pub(super) expected: String,
    pub(super) found: String,
    pub(super) source: Option<io::Error>,
}

impl ReadError {
    pub(super) fn io(file: Option<&Path>, line: u64, source: io::Error) -> Self {
        Self {
            file: file.map(Path::to_owned),
            line,
            expected: "a log that can be read".to_owned(),
            found: "one that cannot".to_owned(),
            source: Some(source),
        }
    }

    /// The log's file, if it has one.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The line, counted from 1.
    pub const fn line(&self) -> u64 {
        self.line
    }

    /// What the line should have held.
    pub fn expected(&self) -> &str {
        &self.expected
    }

    /// What it held instead.
    pub fn found(&self) -> &str {
        &self.found
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            expected,
            found,
            ..
        } = self;
        write!(
            f,
            "{}:{line}: expected {expected}, found {found}",
            Name(self.file.as_deref())
        )
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}

/// Why the log refused to open, to take a record or to sync.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The file could not be opened, created or locked.
    #[error("the log {} cannot be opened", .file.display())]
    Open {
        /// The log's file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The path leads to something that is no regular file.
    #[error("expected a regular file for the log, found something else at {}", .file.display())]
    NotAFile {
        /// The path.
        file: PathBuf,
    },
    /// Another writer, in this process or another, has the log open.
    #[error("the log {} already has a writer", .file.display())]
    Locked {
        /// The log's file.
        file: PathBuf,
    },
    /// A line of the existing log is bad. Nothing was changed.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// An unfinished line could not be cut off or finished when the log was opened.
    #[error("the unfinished last line of the log {} cannot be repaired", Name(.file.as_deref()))]
    Repair {
        /// The log's file, if it has one.
        file: Option<PathBuf>,
        /// What the system said.
        source: io::Error,
    },
    /// The record was not written. The log may be tried again: if its end could
    /// not be restored, that says [`Broken`](Self::Broken).
    #[error("the log {} did not take the {kind} record", Name(.file.as_deref()))]
    Write {
        /// The log's file, if it has one.
        file: Option<PathBuf>,
        /// The record's type.
        kind: String,
        /// What the system said.
        source: io::Error,
    },
    /// The record may not outlast a loss of power. The log takes no more records.
    #[error("the log {} could not be synced", Name(.file.as_deref()))]
    Sync {
        /// The log's file, if it has one.
        file: Option<PathBuf>,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// An earlier failure left the log's end unknown. It takes no more records
    /// until it is opened again.
    #[error("the log {} takes no more records since {reason}", Name(.file.as_deref()))]
    Broken {
        /// The log's file, if it has one.
        file: Option<PathBuf>,
        /// The earlier failure.
        reason: &'static str,
        /// What the system said then.
        source: Option<Arc<io::Error>>,
    },
    /// The log was closed.
    #[error("the log {} is closed", Name(.file.as_deref()))]
    Closed {
        /// The log's file, if it has one.
        file: Option<PathBuf>,
    },
    /// The record cannot be written as a line that can be read back.
    #[error("expected {expected} in the {kind} record, found {found}")]
    Unrecordable {
        /// The record's type.
        kind: String,
        /// What a record must hold.
        expected: String,
        /// What this one holds.
        found: String,
    },
    /// `SyncPolicy::Interval` needs a tokio runtime where the log is opened.
    #[error("the log's sync interval needs a tokio runtime, and there is none here")]
    NoRuntime,
}

/// A log's name in a message.
pub(super) struct Name<'a>(pub(super) Option<&'a Path>);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(file) => file.display().fmt(f),
            None => f.write_str("(no file)"),
        }
    }
}
