//! What can go wrong with a file.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
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

/// Why work on a file failed: a code and a sentence for the model.
///
/// The codes are listed with the [module](super).
#[derive(Debug)]
pub struct FileError {
    code: Cow<'static, str>,
    message: String,
    source: Option<Box<Self>>,
}

impl FileError {
    /// A failure with `code`, which says `message`.
    pub fn new(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            source: None,
        }
    }

    /// The code.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// Tells a model how to go on after `FS_NOT_OBSERVED` and
    /// `FS_STALE_VERSION`: the same code, the message with a remedy, and this
    /// error as the source. Every other error stays as it is.
    ///
    /// ```
    /// use toolfall::workspace::FileError;
    ///
    /// let stale = FileError::new("FS_STALE_VERSION", "file changed since it was read");
    /// let told = stale.with_remedy();
    /// assert_eq!(
    ///     told.to_string(),
    ///     "file changed since it was read — re-read the file, then retry",
    /// );
    /// ```
    pub fn with_remedy(self) -> Self {
        let remedy = match self.code() {
            "FS_STALE_VERSION" => "re-read the file, then retry",
            "FS_NOT_OBSERVED" => "read the file, then retry",
            _ => return self,
        };
        // A model sees one sentence and no sources, so this one repeats its
        // source.
        let message = format!("{} — {remedy}", self.message);
        self.within(message)
    }

    /// The same code with another message, and this as the source.
    pub(super) fn within(self, message: String) -> Self {
        Self {
            code: self.code.clone(),
            message,
            source: Some(Box::new(self)),
        }
    }

    /// What the system said of `path`.
    pub(super) fn io(path: &str, error: &io::Error) -> Self {
        use io::ErrorKind;
        match error.kind() {
            ErrorKind::NotFound => Self::new(
                "FS_NOT_FOUND",
                format!("expected {path:?} to exist, found nothing there"),
            ),
            // The confinement's own refusal comes from no system call.
            ErrorKind::PermissionDenied if error.raw_os_error().is_none() => Self::outside(path),
            ErrorKind::NotADirectory => Self::new(
                "WRONG_KIND",
                format!("expected folders above {path:?}, found something else"),
            ),
            ErrorKind::IsADirectory => Self::irregular(path, "a folder"),
            _ => Self::new("IO", format!("{path:?}: {error}")),
        }
    }

    pub(super) fn irregular(path: &str, found: &str) -> Self {
        Self::new(
            "FS_NOT_REGULAR_FILE",
            format!("expected a regular file at {path:?}, found {found}"),
        )
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

    pub(super) fn exists(path: &str) -> Self {
        Self::new(
            "FS_NOT_OBSERVED",
            format!("cannot overwrite existing {path:?} without reading it first"),
        )
    }

    pub(super) fn changed() -> Self {
        Self::new("FS_STALE_VERSION", "file changed since it was read")
    }

    pub(super) fn vanished() -> Self {
        Self::new("FS_STALE_VERSION", "file no longer exists")
    }

    /// The work was cancelled; what it would have returned is not wanted.
    pub(super) fn cancelled() -> Self {
        Self::new("FS_ABORTED", "the work on the file was cancelled")
    }

    /// What a tool fails with.
    pub(super) fn coded(self) -> CodedError {
        match self.code() {
            // A cancelled call has one code, whatever its tool was doing.
            "FS_ABORTED" => {
                CodedError::new("AbortError", crate::codes::ABORTED, "tool call aborted")
            }
            crate::codes::INVALID_ARGS => CodedError::new("ToolArgsError", self.code, self.message),
            _ => CodedError::new("WorkspaceError", self.code, self.message),
        }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for FileError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
