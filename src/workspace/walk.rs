//! Walking the files of a folder, ignored ones left out.

use std::path::{Path, PathBuf};

use globset::GlobMatcher;
use ignore::{Walk, WalkBuilder};
use tokio_util::sync::CancellationToken;
use toolfall_layers::printable;

use super::Workspace;
use super::error::FileError;
use super::spot::canonical;
use crate::policy::rules::glob::matcher;

/// So many files are looked at before a walk ends.
const MOST: usize = 1_000_000;
/// How many characters of a glob an error shows.
const SHOWN: usize = 200;

/// A path glob: `*` stays within one name, `**` crosses them. One without a
/// `/` matches names in any folder.
pub(super) fn path_glob(glob: &str) -> Result<GlobMatcher, FileError> {
    let anywhere = if glob.contains('/') {
        glob.to_owned()
    } else {
        format!("**/{glob}")
    };
    matcher(&anywhere, true, false).map_err(|bad| {
        let glob = printable(glob, SHOWN);
        let message = format!("expected a glob, found \"{glob}\": {}", bad.detail);
        FileError::new("BAD_PATTERN", message)
    })
}

impl Workspace {
    /// Calls `visit` for every regular file below `start`, in the order of
    /// their paths, until it says `false`. Paths are relative to the root.
    ///
    /// What `.gitignore` and `.ignore` files name is left out, and so are
    /// hidden files unless `hidden`. Links are not followed. Files are found
    /// by name and must be opened through the workspace's handle.
    pub(super) fn walk(
        &self,
        start: &str,
        hidden: bool,
        cancelled: &CancellationToken,
        mut visit: impl FnMut(&str) -> Result<bool, FileError>,
    ) -> Result<(), FileError> {
        let place = Self::judge(start)?;
        let inside = canonical(&self.dir, place).map_err(|error| FileError::io(start, &error))?;
        let found = self.dir.metadata(&inside);
        let found = found.map_err(|error| FileError::io(start, &error))?;
        if found.is_file() {
            visit(&shown(inside))?;
            return Ok(());
        }
        let start = self.root.join(&inside);
        // From the root, so that its ignore files count below it too; a
        // folder that is itself ignored was still asked for.
        for from in [&*self.root, &start] {
            let mut reached = false;
            for entry in walker(from, &start, hidden).take(MOST) {
                if cancelled.is_cancelled() {
                    return Err(FileError::cancelled());
                }
                // What cannot be read, or is gone by now, is not there.
                let Ok(entry) = entry else { continue };
                reached |= entry.path() == start;
                if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                    continue;
                }
                let Ok(relative) = entry.path().strip_prefix(&*self.root) else {
                    continue;
                };
                if !visit(&shown(relative.to_owned()))? {
                    return Ok(());
                }
            }
            if reached {
                break;
            }
        }
        Ok(())
    }
}

/// Walks from `from` and looks at nothing but `start` and what is below it.
fn walker(from: &Path, start: &Path, hidden: bool) -> Walk {
    let start = start.to_owned();
    WalkBuilder::new(from)
        .hidden(false)
        // What the workspace holds decides, not what lies around it.
        .parents(false)
        .git_global(false)
        .git_exclude(false)
        .require_git(false)
        .follow_links(false)
        .sort_by_file_name(std::cmp::Ord::cmp)
        .filter_entry(move |entry| {
            let path = entry.path();
            if start.starts_with(path) {
                return true;
            }
            let shown = hidden || !entry.file_name().as_encoded_bytes().starts_with(b".");
            shown && path.starts_with(&start)
        })
        .build()
}

fn shown(path: PathBuf) -> String {
    path.to_string_lossy().into_owned()
}
