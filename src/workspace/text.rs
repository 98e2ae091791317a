//! Judging paths, opening files and cutting lines.

use std::path::{Component, Path};

use cap_std::fs::{Dir, File, OpenOptions};

use super::Workspace;
use super::error::FileError;

impl Workspace {
    /// Refuses a path that no workspace can hold, with a reason.
    pub(super) fn judge(path: &str) -> Result<&Path, FileError> {
        if path.is_empty() {
            return Err(FileError::new(
                crate::codes::INVALID_ARGS,
                "invalid arguments: path must be a non-empty string; \".\" is the root",
            ));
        }
        if path.contains('\0') {
            return Err(FileError::new(
                crate::codes::INVALID_ARGS,
                "invalid arguments: expected a path, found one with a NUL character",
            ));
        }
        let path_ = Path::new(path);
        let absolute = path_
            .components()
            .any(|part| matches!(part, Component::Prefix(_) | Component::RootDir));
        if absolute {
            return Err(FileError::outside(path));
        }
        Ok(path_)
    }

    /// Opens a regular file for reading; never waits for a pipe's writer.
    pub(super) fn open_file(&self, path: &str) -> Result<File, FileError> {
        open_regular(&self.dir, path)
    }
}

fn open_regular(dir: &Dir, path: &str) -> Result<File, FileError> {
    let path_ = Workspace::judge(path)?;
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt as _;
        // Opening a pipe would otherwise wait for somebody to write to it.
        let nonblock = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
        options.custom_flags(nonblock);
    }
    let file = dir
        .open_with(path_, &options)
        .map_err(|error| FileError::io(path, &error))?;
    let kind = file
        .metadata()
        .map_err(|error| FileError::io(path, &error))?;
    if kind.is_dir() {
        return Err(FileError::irregular(path, "a folder"));
    }
    if !kind.is_file() {
        return Err(FileError::irregular(path, "something else"));
    }
    Ok(file)
}

/// The line, cut after `limit` characters, with how many are missing.
pub(super) fn cut(line: &str, limit: usize) -> String {
    match line.char_indices().nth(limit) {
        None => line.to_owned(),
        Some((at, _)) => {
            let missing = line[at..].chars().count();
            format!("{}… (+{missing} characters)", &line[..at])
        }
    }
}
