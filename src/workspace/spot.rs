//! Where a path leads: an open folder and a name in it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};

use cap_std::fs::{Dir, Metadata};

use super::Workspace;
use super::error::FileError;
use super::gate::Target;

/// A place for a file. The folder is held open, so that what is compared and
/// what is replaced is in one folder, wherever that is moved meanwhile.
pub(super) struct Spot {
    pub(super) folder: Dir,
    pub(super) name: OsString,
    pub(super) target: Target,
}

impl Workspace {
    /// Finds the place that `path` means. Links are resolved, so that it is
    /// the file that a link leads to, and not the link.
    pub(super) fn spot(&self, path: &str) -> Result<Spot, FileError> {
        let found = self.resolve(path)?;
        let fail = |error: &io::Error| FileError::io(path, error);
        let name = found.file_name().map(ToOwned::to_owned);
        let name = name.ok_or_else(|| FileError::irregular(path, "a folder"))?;
        let above = found.parent().unwrap_or(Path::new(""));
        let folder = open_below(&self.dir, above).map_err(|error| fail(&error))?;
        Ok(Spot {
            folder,
            name,
            target: self.target(path, &found)?,
        })
    }

    /// The target that `path` means, also where nothing is, not even a folder.
    pub(super) fn target_of(&self, path: &str) -> Result<Target, FileError> {
        match self.resolve(path) {
            Ok(found) => self.target(path, &found),
            Err(error) if error.code() == "FS_NOT_FOUND" => match self.missing(Path::new(path)) {
                Some(found) => self.target(path, &found),
                None => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    fn target(&self, path: &str, found: &Path) -> Result<Target, FileError> {
        let key = self.root.join(found);
        Target::new(key.to_string_lossy(), path)
            .map_err(|error| FileError::new(crate::codes::INVALID_ARGS, error.to_string()))
    }

    /// The path from the root without links and dots. Of what does not exist,
    /// or of a link that leads nowhere, the folder above is resolved.
    fn resolve(&self, path: &str) -> Result<PathBuf, FileError> {
        let place = Self::judge(path)?;
        match canonical(&self.dir, place) {
            Ok(found) => Ok(plain(&found)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let name = place
                    .file_name()
                    .ok_or_else(|| FileError::io(path, &error))?;
                let folder = above(place);
                let folder = canonical(&self.dir, folder)
                    .map_err(|error| FileError::io(&folder.to_string_lossy(), &error))?;
                Ok(plain(&folder).join(name))
            }
            Err(error) => Err(FileError::io(path, &error)),
        }
    }

    /// Where `place` would be if the folders that it lacks were made.
    fn missing(&self, place: &Path) -> Option<PathBuf> {
        let (mut rest, mut place) = (Vec::new(), place);
        loop {
            rest.push(place.file_name()?);
            place = above(place);
            match canonical(&self.dir, place) {
                Ok(found) => {
                    let mut found = plain(&found);
                    found.extend(rest.iter().rev());
                    return Some(found);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => return None,
            }
        }
    }
}

impl Spot {
    /// What is at the place: a regular file, or nothing.
    pub(super) fn look(&self) -> Result<Option<Metadata>, FileError> {
        let path = self.target.display();
        match self.folder.symlink_metadata(&self.name) {
            Ok(found) if found.is_file() => Ok(Some(found)),
            Ok(found) if found.is_dir() => Err(FileError::irregular(path, "a folder")),
            Ok(found) if found.is_symlink() => {
                Err(FileError::irregular(path, "a link that leads nowhere"))
            }
            Ok(_) => Err(FileError::irregular(path, "something else")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FileError::io(path, &error)),
        }
    }

    /// Opens the regular file at the place; never waits for a pipe's writer.
    pub(super) fn open(&self) -> Result<std::fs::File, FileError> {
        let path = self.target.display();
        let fail = |error: &io::Error| FileError::io(path, error);
        let file = match open_name(&self.folder, &self.name) {
            Ok(file) => file,
            Err(error) => {
                let linked = self.folder.symlink_metadata(&self.name);
                if linked.is_ok_and(|found| found.is_symlink()) {
                    // It leads nowhere, or it was put there just now.
                    return Err(fail(&io::ErrorKind::NotFound.into()));
                }
                self.look()?;
                return Err(fail(&error));
            }
        };
        let found = file.metadata().map_err(|error| fail(&error))?;
        if found.is_dir() {
            return Err(FileError::irregular(path, "a folder"));
        }
        if !found.is_file() {
            return Err(FileError::irregular(path, "something else"));
        }
        Ok(file)
    }
}

/// The path of `place` from `root` without links. The system names a file that
/// was replaced between opening and asking as if `(deleted)` belonged to its
/// name; such a name is believed only if it is of what is at `place`.
pub(super) fn canonical(root: &Dir, place: &Path) -> io::Result<PathBuf> {
    const DELETED: &[u8] = b" (deleted)";
    const TRIES: usize = 1_000;
    for _ in 0..TRIES {
        let found = root.canonicalize(place)?;
        let named = found.as_os_str().as_encoded_bytes();
        if !named.ends_with(DELETED) || is_same(root, place, &found) {
            return Ok(found);
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

#[cfg(unix)]
fn is_same(root: &Dir, place: &Path, found: &Path) -> bool {
    use cap_std::fs::MetadataExt as _;
    let identity = |found: Metadata| (found.dev(), found.ino());
    match (root.metadata(place), root.symlink_metadata(found)) {
        (Ok(place), Ok(found)) => identity(place) == identity(found),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_same(_: &Dir, _: &Path, _: &Path) -> bool {
    true
}

/// The folder above, `.` for the root.
fn above(place: &Path) -> &Path {
    match place.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn plain(path: &Path) -> PathBuf {
    let named = |part: &Component<'_>| matches!(part, Component::Normal(_));
    path.components().filter(named).collect()
}

/// Opens a folder that is named without links, and refuses links that were
/// put in the way since.
#[cfg(unix)]
fn open_below(root: &Dir, folder: &Path) -> io::Result<Dir> {
    use rustix::fs::{Mode, OFlags, openat};
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // Whoever may pass a folder need not be allowed to list it.
    #[cfg(target_os = "linux")]
    let flags = flags | OFlags::PATH;
    let mut found = openat(root, ".", flags, Mode::empty())?;
    for part in folder.components() {
        found = openat(&found, part.as_os_str(), flags, Mode::empty())?;
    }
    Ok(Dir::from_std_file(found.into()))
}

#[cfg(not(unix))]
fn open_below(root: &Dir, folder: &Path) -> io::Result<Dir> {
    let folder = Some(folder).filter(|folder| !folder.as_os_str().is_empty());
    root.open_dir(folder.unwrap_or(Path::new(".")))
}

#[cfg(unix)]
fn open_name(folder: &Dir, name: &OsStr) -> io::Result<std::fs::File> {
    use rustix::fs::{Mode, OFlags, openat};
    // Opening a pipe would otherwise wait for somebody to write to it.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags, Mode::empty())?.into())
}

#[cfg(not(unix))]
fn open_name(folder: &Dir, name: &OsStr) -> io::Result<std::fs::File> {
    Ok(folder.open(name)?.into_std())
}
