//! Folders and files that nobody else can read or has put there.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io;
#[cfg(unix)]
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use super::{LocalSpillError, SpillContent};

/// A builder of folders that only their owner can use.
pub(super) fn builder() -> DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "there are no modes"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    builder.mode(0o700);
    builder
}

/// A folder of ours, as it was found: its path may lead elsewhere later.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    #[cfg(unix)]
    found: Metadata,
}

impl Folder {
    /// Makes the folder, or takes the one that is there if it is ours alone.
    pub(super) fn private(path: PathBuf) -> Result<Self, LocalSpillError> {
        match builder().create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(LocalSpillError::io("create", &path)(error));
            }
            _ => {}
        }
        // Does not follow links.
        let found = fs::symlink_metadata(&path).map_err(LocalSpillError::io("read", &path))?;
        if !found.is_dir() {
            let found = "something else";
            return Err(LocalSpillError::NotOurs { path, found });
        }
        #[cfg(unix)]
        if found.mode() & 0o777 != 0o700 {
            use std::os::unix::fs::PermissionsExt as _;
            // Fails on somebody else's.
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700))
                .map_err(LocalSpillError::io("protect", &path))?;
        }
        Ok(Self {
            path,
            #[cfg(unix)]
            found,
        })
    }

    /// Makes an empty file that was not there; a link that is there fails.
    pub(super) fn claim(&self, name: &str) -> Result<Claim, LocalSpillError> {
        let claim = Claim::new(self.path.join(name))?;
        self.check(&claim.made)?;
        Ok(claim)
    }

    /// Whether the path still leads to the folder that was looked at, and
    /// that one belongs to whoever owns the files that we make.
    #[cfg(unix)]
    fn check(&self, made: &Metadata) -> Result<(), LocalSpillError> {
        let now =
            fs::symlink_metadata(&self.path).map_err(LocalSpillError::io("read", &self.path))?;
        let fault = if (now.dev(), now.ino()) != (self.found.dev(), self.found.ino()) {
            "another one than before"
        } else if now.uid() != made.uid() {
            "somebody else's"
        } else {
            return Ok(());
        };
        Err(LocalSpillError::NotOurs {
            path: self.path.clone(),
            found: fault,
        })
    }

    #[cfg(not(unix))]
    fn check(&self, _: &Metadata) -> Result<(), LocalSpillError> {
        Ok(())
    }

    /// Fills the claimed file with `content`: all of it, or the file goes.
    pub(super) fn fill(
        &self,
        claim: Claim,
        partial: &str,
        content: &SpillContent,
    ) -> Result<PathBuf, LocalSpillError> {
        let mut partial = self.claim(partial)?;
        let written = content.write_to(&mut partial.file);
        written.map_err(LocalSpillError::io("write", &partial.path))?;
        // Replaces the claim whatever it has become: a link is not followed.
        fs::rename(&partial.path, &claim.path).map_err(LocalSpillError::io("name", &claim.path))?;
        partial.keep();
        Ok(claim.keep())
    }
}

/// A new file of ours, which goes again unless it is kept.
#[derive(Debug)]
pub(super) struct Claim {
    path: PathBuf,
    file: File,
    made: Metadata,
    keep: bool,
}

impl Claim {
    fn new(path: PathBuf) -> Result<Self, LocalSpillError> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        options.mode(0o600);
        let file = options
            .open(&path)
            .map_err(LocalSpillError::io("create", &path))?;
        let made = file
            .metadata()
            .map_err(LocalSpillError::io("read", &path))?;
        Ok(Self {
            path,
            file,
            made,
            keep: false,
        })
    }

    /// When the file was made, by the file system's own clock.
    pub(super) fn made(&self) -> Option<std::time::SystemTime> {
        self.made.modified().ok()
    }

    fn keep(mut self) -> PathBuf {
        self.keep = true;
        std::mem::take(&mut self.path)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.keep {
            // What cannot be removed goes with the clean-up.
            let _ = fs::remove_file(&self.path);
        }
    }
}
