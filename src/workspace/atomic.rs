//! Replacing a file: all of it, or nothing.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::{Dir, Metadata, OpenOptions};
use tokio_util::sync::CancellationToken;

use super::error::FileError;
use super::gate::{Version, WriteGuard};
use super::spot::Spot;

impl Spot {
    /// Puts `content` in the place if `guard` holds. Says whether there was a
    /// file before. Its caller holds the target.
    pub(super) fn put(
        &self,
        content: &[u8],
        guard: WriteGuard,
        cancelled: &CancellationToken,
    ) -> Result<bool, FileError> {
        let path = self.target.display();
        let fail = |error: &io::Error| FileError::io(path, error);
        let before = self.look()?;
        match (guard, &before) {
            (WriteGuard::CreateIfAbsent, Some(_)) => return Err(FileError::exists(path)),
            (WriteGuard::ReplaceIfVersion(_), None) => return Err(FileError::vanished()),
            _ => {}
        }
        let temporary = self
            .fill(content, before.as_ref())
            .map_err(|error| fail(&error))?;
        // The comparison comes last, so that little can happen between it and
        // the replacement.
        if let WriteGuard::ReplaceIfVersion(version) = guard
            && self.version()? != version
        {
            return Err(FileError::changed());
        }
        if cancelled.is_cancelled() {
            return Err(FileError::cancelled());
        }
        match guard {
            WriteGuard::CreateIfAbsent => self.create(temporary)?,
            WriteGuard::ReplaceIfVersion(_) | WriteGuard::Unconditional => {
                temporary.rename(&self.name).map_err(|error| fail(&error))?;
            }
        }
        self.sync();
        Ok(before.is_some())
    }

    /// The version of the file that is there now.
    fn version(&self) -> Result<Version, FileError> {
        let file = self.open().map_err(|error| match error.code() {
            "FS_NOT_FOUND" => FileError::vanished(),
            _ => error,
        })?;
        Version::reading(file).map_err(|error| FileError::io(self.target.display(), &error))
    }

    /// A new file beside the target that holds `content` durably.
    fn fill(&self, content: &[u8], before: Option<&Metadata>) -> io::Result<Temporary<'_>> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if before.is_some() {
            use cap_std::fs::OpenOptionsExt as _;
            // Nobody may read it who could not read the file before.
            options.mode(0o600);
        }
        let name = unused();
        let mut file = self.folder.open_with(&name, &options)?;
        let temporary = Temporary {
            folder: &self.folder,
            name,
            renamed: false,
        };
        file.write_all(content)?;
        if let Some(before) = before {
            file.set_permissions(before.permissions())?;
        }
        // Without this a loss of power may leave an empty file in its place.
        file.sync_all()?;
        Ok(temporary)
    }

    /// Gives the file its name unless something has that name.
    fn create(&self, temporary: Temporary<'_>) -> Result<(), FileError> {
        let fail = |error: &io::Error| {
            if error.kind() == io::ErrorKind::AlreadyExists {
                let path = self.target.display();
                return self.look().err().unwrap_or(FileError::exists(path));
            }
            FileError::io(self.target.display(), error)
        };
        let linked = self
            .folder
            .hard_link(&temporary.name, &self.folder, &self.name);
        match linked {
            // The other name goes when the guard does.
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(fail(&error));
            }
            // A file system without hard links: claim the name, then fill it.
            Err(_) => {}
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        self.folder
            .open_with(&self.name, &options)
            .map_err(|error| fail(&error))?;
        temporary.rename(&self.name).map_err(|error| {
            let _ = self.folder.remove_file(&self.name);
            fail(&error)
        })
    }

    /// Makes the new name durable. Where folders cannot be synced the system
    /// writes it when it likes; the file is whole either way.
    fn sync(&self) {
        #[cfg(unix)]
        if let Ok(folder) = self.folder.open(".") {
            let _ = folder.sync_all();
        }
    }
}

/// A name that nobody else uses.
fn unused() -> OsString {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!(".toolfall-{}-{number}.tmp", std::process::id()).into()
}

/// Takes a half written file away again.
struct Temporary<'a> {
    folder: &'a Dir,
    name: OsString,
    renamed: bool,
}

impl Temporary<'_> {
    fn rename(mut self, name: &OsStr) -> io::Result<()> {
        self.folder.rename(&self.name, self.folder, name)?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.renamed {
            // There is nobody to tell; the write has failed already, or the
            // file has its other name.
            let _ = self.folder.remove_file(&self.name);
        }
    }
}
