//! What can go wrong with a file.

use std::io;
use std::path::PathBuf;

use crate::CodedError;

/// A workspace's root could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("expected a folder for the workspace at {}, but it cannot be opened", .root.display())]
#[non_exhaustive]
pub struct WorkspaceError {
    /// The root as it was given.
    pub root: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// Why a file tool failed: a code and a sentence for the model.
#[derive(Debug)]
pub(super) struct FileError {
    code: &'static str,
    message: String,
}

impl FileError {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// What the system said of `path`.
    pub(super) fn io(path: &str, error: &io::Error) -> Self {
        use io::ErrorKind;
        match error.kind() {
            ErrorKind::NotFound => Self::new(
                "NOT_FOUND",
                format!("expected {path:?} to exist, found nothing there"),
            ),
            // The confinement's own refusal comes from no system call.
            ErrorKind::PermissionDenied if error.raw_os_error().is_none() => Self::outside(path),
            ErrorKind::NotADirectory => Self::new(
                "WRONG_KIND",
                format!("expected folders above {path:?}, found something else"),
            ),
            ErrorKind::IsADirectory => Self::new(
                "WRONG_KIND",
                format!("expected a file at {path:?}, found a folder"),
            ),
            _ => Self::new("IO", format!("{path:?}: {error}")),
        }
    }

    pub(super) fn outside(path: &str) -> Self {
        Self::new(
            "OUTSIDE_ROOT",
            format!(
                "expected a path inside the workspace, relative to its root, found {path:?}, \
                 which leads outside"
            ),
        )
    }

    /// The work was cancelled; what it would have returned is not wanted.
    pub(super) fn cancelled() -> Self {
        Self::new(crate::code::ABORTED, "tool call aborted")
    }

    pub(super) fn coded(self) -> CodedError {
        let name = match self.code {
            crate::code::ABORTED => "AbortError",
            _ => "WorkspaceError",
        };
        CodedError::new(name, self.code, self.message)
    }
}
