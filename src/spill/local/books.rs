//! How much a store holds, and what of it is too old.

use std::fs::{self, DirEntry};
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::LocalSpillError;
use super::name::{is_file_name, is_folder_name};

/// What may be held.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) most: u64,
    pub(super) age: Option<Duration>,
}

/// What is held, as far as this process knows. Counted anew where a file may
/// have become too old, or where there would be no room.
#[derive(Debug, Default)]
pub(super) struct Books {
    counted: Option<Counted>,
}

#[derive(Debug, Default)]
struct Counted {
    bytes: u64,
    oldest: Option<SystemTime>,
}

impl Books {
    /// Enters `wanted` bytes that are written at `now`, after removing what is
    /// too old.
    pub(super) fn enter(
        &mut self,
        root: &Path,
        bounds: Bounds,
        wanted: u64,
        now: SystemTime,
    ) -> Result<(), LocalSpillError> {
        let fits = |counted: &Counted| counted.bytes.saturating_add(wanted) <= bounds.most;
        let is_due = |counted: &Counted| {
            let oldest = counted.oldest.map(|oldest| is_old(oldest, bounds.age, now));
            oldest.unwrap_or(false)
        };
        let known = self.counted.take();
        let mut counted = known
            .filter(|counted| fits(counted) && !is_due(counted))
            .unwrap_or_else(|| count(root, bounds.age, now));
        let result = if fits(&counted) {
            counted.bytes += wanted;
            counted.oldest.get_or_insert(now);
            Ok(())
        } else {
            Err(LocalSpillError::Full {
                wanted,
                held: counted.bytes,
                most: bounds.most,
            })
        };
        self.counted = Some(counted);
        result
    }
}

fn is_old(time: SystemTime, age: Option<Duration>, now: SystemTime) -> bool {
    // A time in the future is not old.
    age.is_some_and(|age| now.duration_since(time).is_ok_and(|since| since > age))
}

/// Counts the files of all sessions, and removes those that are too old.
/// Follows no links and touches nothing that is not named as this store names
/// its own. What cannot be read or removed is passed over.
fn count(root: &Path, age: Option<Duration>, now: SystemTime) -> Counted {
    let mut counted = Counted::default();
    let named = |entry: &DirEntry, is: fn(&str) -> bool| entry.file_name().to_str().is_some_and(is);
    let folders = fs::read_dir(root).into_iter().flatten().flatten();
    for folder in folders.filter(|folder| named(folder, is_folder_name)) {
        if !folder.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let (mut removed, mut left) = (false, false);
        for file in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
            // Of the entry itself, not of what a link leads to.
            let found = file.metadata().ok().filter(fs::Metadata::is_file);
            let Some(found) = found.filter(|_| named(&file, is_file_name)) else {
                left = true;
                continue;
            };
            let time = found.modified().unwrap_or(now);
            if is_old(time, age, now) && fs::remove_file(file.path()).is_ok() {
                removed = true;
                continue;
            }
            left = true;
            counted.bytes = counted.bytes.saturating_add(found.len());
            counted.oldest = Some(counted.oldest.map_or(time, |oldest| oldest.min(time)));
        }
        if removed && !left {
            // Fails where a file was put in meanwhile.
            let _ = fs::remove_dir(folder.path());
        }
    }
    counted
}
