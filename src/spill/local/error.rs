//! Why a text could not be written.

use std::io;
use std::path::{Path, PathBuf};

/// Why a [`LocalSpillStore`](super::LocalSpillStore) did not save a text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocalSpillError {
    /// The file system refused something, at this path.
    #[error("cannot {what} {path:?}")]
    Io {
        /// What was tried: `create`, `write`.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// What is there is no folder of this user's own: a link or a file that
    /// somebody put there, or somebody else's folder.
    #[error("expected a folder of our own at {path:?}, found {found}")]
    NotOurs {
        /// Where.
        path: PathBuf,
        /// What was found.
        found: &'static str,
    },
    /// The store holds as much as it may.
    #[error("expected room for {wanted} bytes, found {held} of {most} bytes in use")]
    Full {
        /// The size of the text.
        wanted: u64,
        /// How much is held.
        held: u64,
        /// The most that may be held.
        most: u64,
    },
    /// A path that no text can say, so no model could use it.
    #[error("expected a path in UTF-8, found {path:?}")]
    NotUnicode {
        /// The path.
        path: PathBuf,
    },
    /// There are no random numbers for a name that nobody can guess.
    #[error("no random name can be made")]
    NoName(#[source] crate::BoxError),
    /// There is no tokio runtime to write on, or it is shutting down.
    #[error("expected a running tokio runtime, found none")]
    NoRuntime,
}

impl LocalSpillError {
    pub(super) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { what, path, source }
    }
}
