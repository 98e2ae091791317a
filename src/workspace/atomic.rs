//! Replacing a file: all of it, or nothing.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::{Dir, OpenOptions};

use super::Workspace;
use super::error::FileError;

impl Workspace {
    /// Where a write to `path` goes: links are resolved, so that the file
    /// that a link leads to is replaced and not the link.
    pub(super) fn target(&self, path: &str) -> Result<PathBuf, FileError> {
        let place = Self::judge(path)?;
        let fail = |error: &std::io::Error| FileError::io(path, error);
        match self.dir.canonicalize(place) {
            Ok(found) => {
                let kind = self.dir.metadata(&found).map_err(|error| fail(&error))?;
                if kind.is_file() {
                    return Ok(found);
                }
                Err(FileError::new(
                    "WRONG_KIND",
                    format!("expected a file or nothing at {path:?}, found something else"),
                ))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                if self.dir.symlink_metadata(place).is_ok() {
                    return Err(FileError::new(
                        "WRONG_KIND",
                        format!(
                            "expected a file or nothing at {path:?}, found a link that leads \
                             nowhere"
                        ),
                    ));
                }
                let name = place.file_name().ok_or_else(|| {
                    FileError::new(
                        "WRONG_KIND",
                        format!("expected a file's name at the end of {path:?}, found none"),
                    )
                })?;
                let folder = match place.parent() {
                    Some(folder) if !folder.as_os_str().is_empty() => folder,
                    _ => Path::new("."),
                };
                let folder = self
                    .dir
                    .canonicalize(folder)
                    .map_err(|error| FileError::io(&folder.to_string_lossy(), &error))?;
                Ok(folder.join(name))
            }
            Err(error) => Err(fail(&error)),
        }
    }

    /// Writes `text` to a new file beside `target` and puts it in its place.
    /// Says whether there was a file before.
    pub(super) fn replace(&self, path: &str, target: &Path, text: &str) -> Result<bool, FileError> {
        let fail = |error: &std::io::Error| FileError::io(path, error);
        let before = self.dir.metadata(target).ok();
        let temporary = beside(target);
        let guard = Temporary {
            dir: &self.dir,
            path: Some(&temporary),
        };
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let mut file = self
            .dir
            .open_with(&temporary, &options)
            .map_err(|error| fail(&error))?;
        file.write_all(text.as_bytes())
            .map_err(|error| fail(&error))?;
        if let Some(before) = &before {
            file.set_permissions(before.permissions())
                .map_err(|error| fail(&error))?;
        }
        // Without this a loss of power may leave an empty file in its place.
        file.sync_data().map_err(|error| fail(&error))?;
        drop(file);
        self.dir
            .rename(&temporary, &self.dir, target)
            .map_err(|error| fail(&error))?;
        guard.keep();
        Ok(before.is_some())
    }
}

/// A name that nobody else uses, in the same folder.
fn beside(target: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    target.with_file_name(format!(".toolfall-{}-{number}.tmp", std::process::id()))
}

/// Takes a half written file away again.
struct Temporary<'a> {
    dir: &'a Dir,
    path: Option<&'a Path>,
}

impl Temporary<'_> {
    fn keep(mut self) {
        self.path = None;
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if let Some(path) = self.path {
            // There is nobody to tell; the write has failed already.
            let _ = self.dir.remove_file(path);
        }
    }
}
