//! The files of a workspace on behalf of one call.

use std::fmt;

use tokio_util::sync::CancellationToken;
use toolfall_layers::CallView;

use super::{Seen, Target};
use crate::workspace::{Edit, Edited, FileError, FileText, Workspace, Written};

/// Reads and changes files on behalf of a call, through the workspace's gate.
///
/// The methods block their thread: use them with
/// [`spawn_blocking`](tokio::task::spawn_blocking). Their errors say how to go
/// on, see [`FileError::with_remedy`].
pub struct Files {
    workspace: Workspace,
    call: CallView,
}

impl Files {
    pub(in crate::workspace) const fn new(workspace: Workspace, call: CallView) -> Self {
        Self { workspace, call }
    }

    /// Reads the text file at `path`, and tells that it was seen, or that
    /// nothing is there.
    ///
    /// # Errors
    ///
    /// As [`Workspace::read`], or what a listener says.
    pub fn read(&self, path: &str, cancelled: &CancellationToken) -> Result<FileText, FileError> {
        self.read_with(path, cancelled, |file| Ok(file.clone()))
    }

    /// As [`read`](Self::read). What `show` refuses to show was not seen.
    pub(in crate::workspace) fn read_with<T>(
        &self,
        path: &str,
        cancelled: &CancellationToken,
        show: impl FnOnce(&FileText) -> Result<T, FileError>,
    ) -> Result<T, FileError> {
        match self.workspace.read(path, cancelled) {
            Ok(file) => {
                let shown = show(&file)?;
                self.tell(file.target, Seen::Present(file.version))?;
                Ok(shown)
            }
            Err(error) => {
                if error.code() == "FS_NOT_FOUND"
                    && let Ok(target) = self.workspace.target_of(path)
                {
                    self.tell(target, Seen::Absent)?;
                }
                Err(error)
            }
        }
    }

    /// Makes or replaces the file at `path` if the gate's listeners agree, and
    /// tells them of its new version.
    ///
    /// # Errors
    ///
    /// As [`Workspace::write`], or what a listener says. If a listener fails
    /// afterwards, the file is written all the same, and the error says so.
    pub fn write(
        &self,
        path: &str,
        text: &str,
        cancelled: &CancellationToken,
    ) -> Result<Written, FileError> {
        self.write_below(path, text, false, cancelled)
    }

    /// As [`write`](Self::write); makes the folders that are missing.
    pub(in crate::workspace) fn write_below(
        &self,
        path: &str,
        text: &str,
        make_folders: bool,
        cancelled: &CancellationToken,
    ) -> Result<Written, FileError> {
        let write = || {
            let target = self.workspace.target_of(path)?;
            let guard = self.workspace.gate.write_guard(&self.call, target)?;
            if make_folders && !cancelled.is_cancelled() {
                self.workspace.make_folders(path)?;
            }
            self.workspace.write(path, text, guard, cancelled)
        };
        let written = write().map_err(FileError::with_remedy)?;
        let seen = Seen::Present(written.version);
        self.tell(written.target.clone(), seen)
            .map_err(|error| done(path, "written", error))?;
        Ok(written)
    }

    /// Replaces a passage of the file at `path` if the gate's listeners agree,
    /// and tells them of its new version.
    ///
    /// # Errors
    ///
    /// As [`Workspace::edit`], or what a listener says. If a listener fails
    /// afterwards, the file is edited all the same, and the error says so.
    pub fn edit(
        &self,
        path: &str,
        edit: &Edit,
        cancelled: &CancellationToken,
    ) -> Result<Edited, FileError> {
        let change = || {
            edit.check()?;
            let target = self.workspace.target_of(path)?;
            let guard = self.workspace.gate.edit_guard(&self.call, target)?;
            self.workspace.edit(path, edit, guard, cancelled)
        };
        let edited = change().map_err(FileError::with_remedy)?;
        self.tell(edited.target.clone(), Seen::Present(edited.version))
            .map_err(|error| done(path, "edited", error))?;
        Ok(edited)
    }

    fn tell(&self, target: Target, seen: Seen) -> Result<(), FileError> {
        self.workspace.gate.observed(&self.call, target, seen)
    }
}

/// The failure of a listener that heard of a change too late to prevent it.
fn done(path: &str, what: &str, error: FileError) -> FileError {
    let message = format!("{path:?} was {what}, but a listener failed afterwards: {error}");
    error.within(message)
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Files")
            .field("workspace", &self.workspace)
            .field("call", &self.call.id())
            .finish_non_exhaustive()
    }
}
