//! Reading and changing files under a guard, asking nobody.

use std::io::Read as _;
use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::cards::changes;
use super::error::FileError;
use super::gate::{EditGuard, Seen, Target, Version, WriteGuard};
use super::locks::hold;
use super::spot::Spot;
use super::{Edit, Workspace};
use crate::card::DiffEntry;

/// The text of a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FileText {
    /// The file.
    pub target: Target,
    /// What it holds.
    pub text: String,
    /// The version of exactly this text.
    pub version: Version,
}

/// A file that was written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Written {
    /// The file.
    pub target: Target,
    /// Its version now.
    pub version: Version,
    /// Whether there was a file before.
    pub replaced: bool,
    /// What changed in a text that was there before, with the lines around
    /// it; nothing if that is more than a log should keep.
    pub diffs: Vec<DiffEntry>,
}

/// A file that was edited.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Edited {
    /// The file.
    pub target: Target,
    /// Its version now.
    pub version: Version,
    /// The line in which the first place began, counted from 1.
    pub line: usize,
    /// How many places were replaced.
    pub places: usize,
    /// The file's size now, in bytes.
    pub bytes: usize,
    /// What changed, with the lines around it; nothing if that is more than a
    /// log should keep.
    pub diffs: Vec<DiffEntry>,
}

/// The files themselves. These block their thread, and neither ask nor tell
/// the [`gate`](super::gate); [`Workspace::files`] does.
impl Workspace {
    /// Looks what is at `path`.
    ///
    /// # Errors
    ///
    /// [`FileError`] if that cannot be told: no regular file is there, the
    /// path leads outside, or `cancelled` was cancelled (`FS_ABORTED`).
    pub fn seen(&self, path: &str, cancelled: &CancellationToken) -> Result<Seen, FileError> {
        refuse(cancelled)?;
        let found = self.spot(path).and_then(|spot| spot.open());
        match found {
            Ok(file) => Version::reading(file)
                .map(Seen::Present)
                .map_err(|error| FileError::io(path, &error)),
            Err(error) if error.code() == "FS_NOT_FOUND" => Ok(Seen::Absent),
            Err(error) => Err(error),
        }
    }

    /// Reads the text file at `path`, within the workspace's limits.
    ///
    /// # Errors
    ///
    /// [`FileError`] if there is none, it is too large or no text, or
    /// `cancelled` was cancelled.
    pub fn read(&self, path: &str, cancelled: &CancellationToken) -> Result<FileText, FileError> {
        refuse(cancelled)?;
        let spot = self.spot(path)?;
        let text = self.text_at(&spot)?;
        Ok(FileText {
            version: Version::of(text.as_bytes()),
            target: spot.target,
            text,
        })
    }

    /// Makes or replaces the file at `path` if `guard` holds: all of it, or
    /// nothing. Permissions are kept; the text is written as it is.
    ///
    /// # Errors
    ///
    /// [`FileError`], and nothing was written: the guard does not hold, no
    /// file can be there, or `cancelled` was cancelled.
    pub fn write(
        &self,
        path: &str,
        text: &str,
        guard: WriteGuard,
        cancelled: &CancellationToken,
    ) -> Result<Written, FileError> {
        refuse(cancelled)?;
        let spot = self.spot(path)?;
        let held = hold(&spot.target);
        // What cannot be read is shown as if nothing had been there.
        let before = self.text_at(&spot).unwrap_or_default();
        let replaced = spot.put(text.as_bytes(), guard, cancelled)?;
        drop(held);
        Ok(Written {
            diffs: changes(path, &before, text),
            version: Version::of(text.as_bytes()),
            target: spot.target,
            replaced,
        })
    }

    /// Replaces a passage of the text file at `path` if `guard` holds, which
    /// is judged before the passage is looked for. A file that changes
    /// meanwhile is not overwritten.
    ///
    /// # Errors
    ///
    /// [`FileError`], and nothing was written: the guard does not hold, there
    /// is no file (`FS_STALE_VERSION`), the passage does not stand there, or
    /// `cancelled` was cancelled.
    pub fn edit(
        &self,
        path: &str,
        edit: &Edit,
        guard: EditGuard,
        cancelled: &CancellationToken,
    ) -> Result<Edited, FileError> {
        refuse(cancelled)?;
        edit.check()?;
        let gone = |error: FileError| match error.code() {
            "FS_NOT_FOUND" => FileError::vanished(),
            _ => error,
        };
        let spot = self.spot(path).map_err(gone)?;
        let held = hold(&spot.target);
        let bytes = self.bytes_at(&spot).map_err(gone)?;
        let version = bytes.as_deref().map(Version::of);
        if let EditGuard::IfVersion(wanted) = guard
            && version != Some(wanted)
        {
            return Err(FileError::changed());
        }
        let text = self.text_of(path, bytes)?;
        let version = version.unwrap_or_else(|| Version::of(text.as_bytes()));
        let outcome = edit.apply(path, &text, self.limits.file_bytes)?;
        let content = outcome.text.as_bytes();
        spot.put(content, WriteGuard::ReplaceIfVersion(version), cancelled)?;
        drop(held);
        Ok(Edited {
            diffs: changes(path, &text, &outcome.text),
            version: Version::of(content),
            line: outcome.line,
            places: outcome.places,
            bytes: content.len(),
            target: spot.target,
        })
    }

    /// Makes the folders above `path` that are missing.
    pub(super) fn make_folders(&self, path: &str) -> Result<(), FileError> {
        let folder = Self::judge(path)?.parent();
        let Some(folder) = folder.filter(|folder| *folder != Path::new("")) else {
            return Ok(());
        };
        self.dir
            .create_dir_all(folder)
            .map_err(|error| FileError::io(&folder.to_string_lossy(), &error))
    }

    fn text_at(&self, spot: &Spot) -> Result<String, FileError> {
        let bytes = self.bytes_at(spot)?;
        self.text_of(spot.target.display(), bytes)
    }

    /// What the file holds, unless that is more than the limit.
    fn bytes_at(&self, spot: &Spot) -> Result<Option<Vec<u8>>, FileError> {
        let limit = self.limits.file_bytes;
        let mut bytes = Vec::new();
        spot.open()?
            .take(limit.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| FileError::io(spot.target.display(), &error))?;
        Ok(Some(bytes).filter(|bytes| bytes.len() as u64 <= limit))
    }

    fn text_of(&self, path: &str, bytes: Option<Vec<u8>>) -> Result<String, FileError> {
        let bytes = bytes.ok_or_else(|| {
            let limit = self.limits.file_bytes;
            FileError::new(
                "TOO_LARGE",
                format!("expected a file of at most {limit} bytes, found more in {path:?}"),
            )
        })?;
        String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            FileError::new(
                "NOT_TEXT",
                format!("expected UTF-8 text in {path:?}, found other bytes from offset {at}"),
            )
        })
    }
}

fn refuse(cancelled: &CancellationToken) -> Result<(), FileError> {
    if cancelled.is_cancelled() {
        return Err(FileError::cancelled());
    }
    Ok(())
}
