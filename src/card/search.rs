//! What searches found, within a budget of bytes.
//!
//! Metadata is kept in the log beside the content, so it has a budget of its
//! own: long lines are cut, and groups left out from the end.

use serde::Serialize;

use super::{FileMatches, LineMatch, PathResults, SearchMatches};

/// How much of what was found is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Where a line is cut, in bytes. 1,000.
    pub line_bytes: usize,
    /// What all of it may take as JSON, in bytes. 64 KiB.
    pub bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            line_bytes: 1_000,
            bytes: 64 << 10,
        }
    }
}

/// Matches by file, in the order in which files are first seen. `total` is how
/// many there are, of which `found` may be a part.
///
/// Whole files are left out from the end until the rest fits; the first one
/// stays, even if it does not.
///
/// ```
/// use toolfall::card::search::{Budget, matches};
///
/// let found = [("b.rs", 2, "two"), ("a.rs", 1, "one"), ("b.rs", 5, "five")];
/// let card = matches(found, 3, Budget::default());
/// assert_eq!(card.files[0].path, "b.rs");
/// assert_eq!(card.files[0].matches.len(), 2);
/// assert!(!card.truncated);
/// ```
pub fn matches<'a>(
    found: impl IntoIterator<Item = (&'a str, u64, &'a str)>,
    total: u64,
    budget: Budget,
) -> SearchMatches {
    let mut places = std::collections::HashMap::new();
    let mut files: Vec<FileMatches> = Vec::new();
    let mut shown = 0;
    for (path, line_number, line) in found {
        let place = *places.entry(path).or_insert_with(|| {
            files.push(FileMatches {
                path: path.to_owned(),
                matches: Vec::new(),
            });
            files.len() - 1
        });
        let line = cut(line, budget.line_bytes);
        files[place].matches.push(LineMatch { line_number, line });
        shown += 1;
    }
    let mut card = SearchMatches {
        files: Vec::new(),
        truncated: shown < total,
        total,
    };
    let room = budget.bytes.saturating_sub(size(&card));
    card.truncated |= fit(&mut files, room);
    card.files = files;
    card
}

/// Paths, as many as fit. `total` is how many there are, of which `found` may
/// be a part. The first one stays, even if it does not fit.
pub fn paths<'a>(
    found: impl IntoIterator<Item = &'a str>,
    total: u64,
    budget: Budget,
) -> PathResults {
    let mut paths: Vec<String> = found.into_iter().map(str::to_owned).collect();
    let mut card = PathResults {
        paths: Vec::new(),
        truncated: (paths.len() as u64) < total,
        total,
    };
    let room = budget.bytes.saturating_sub(size(&card));
    card.truncated |= fit(&mut paths, room);
    card.paths = paths;
    card
}

/// Leaves out items from the end until the rest takes at most `room` bytes of
/// JSON, commas included. Says whether it did.
fn fit<T: Serialize>(items: &mut Vec<T>, room: usize) -> bool {
    let mut used = 0_usize;
    let fitting = items.iter().enumerate().take_while(|(place, item)| {
        let comma = usize::from(*place > 0);
        used = used.saturating_add(size(item)).saturating_add(comma);
        used <= room || *place == 0
    });
    let kept = fitting.count();
    let left_out = kept < items.len();
    items.truncate(kept);
    left_out
}

fn size(value: &impl Serialize) -> usize {
    // Of strings and numbers, which always serialise.
    serde_json::to_vec(value).map_or(0, |json| json.len())
}

/// The line, or as many of its bytes as make whole characters and a note.
fn cut(line: &str, bytes: usize) -> String {
    if line.len() <= bytes {
        return line.to_owned();
    }
    let whole = (0..=bytes).rev().find(|at| line.is_char_boundary(*at));
    format!("{} (line truncated)", &line[..whole.unwrap_or(0)])
}
