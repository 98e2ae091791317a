//! The hunks between two texts.
//!
//! ```
//! use toolfall::card::diff::hunks;
//!
//! let diffs = hunks("a.txt", "one\ntwo\n", "one\n2\n");
//! assert_eq!(diffs[0].old_text.as_deref(), Some("one\ntwo"));
//! assert_eq!(diffs[0].new_text, "one\n2");
//! assert!(hunks("a.txt", "same", "same").is_empty());
//! ```

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};

use super::DiffEntry;

/// So many lines around a change are shown.
const CONTEXT: usize = 3;
/// Where more lines differ, between the first and the last that do, they are
/// shown as one change: finding the smallest takes time in the square of it.
const MOST_LINES: usize = 4_000;

/// The changes from `old` to `new`, each with up to three lines around it.
/// Changes that lie close together are one.
///
/// Texts come without their last line break, unless it is all that changed. An
/// old text is `None` where there was nothing at all.
pub fn hunks(path: &str, old: &str, new: &str) -> Vec<DiffEntry> {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let ops = ops(&old, &new);
    if ops.iter().all(|op| matches!(op, DiffOp::Equal { .. })) {
        return Vec::new();
    }
    group_diff_ops(ops, CONTEXT)
        .iter()
        .filter_map(|group| {
            let (first, last) = (group.first()?, group.last()?);
            let old = &old[first.old_range().start..last.old_range().end];
            let new = &new[first.new_range().start..last.new_range().end];
            Some(entry(path, old, new))
        })
        .collect()
}

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// It stayed.
    Kept,
    /// It was taken away.
    Removed,
    /// It was added.
    Added,
}

/// The lines of a change, without their line breaks, in the order to show
/// them in: those taken away before those that took their place.
pub fn lines(diff: &DiffEntry) -> Vec<(Change, &str)> {
    let old: Vec<&str> = diff.old_text.iter().flat_map(|text| text.lines()).collect();
    let new: Vec<&str> = diff.new_text.lines().collect();
    let mut lines = Vec::new();
    for op in ops(&old, &new) {
        let (gone, come) = (&old[op.old_range()], &new[op.new_range()]);
        if matches!(op, DiffOp::Equal { .. }) {
            lines.extend(come.iter().map(|line| (Change::Kept, *line)));
        } else {
            lines.extend(gone.iter().map(|line| (Change::Removed, *line)));
            lines.extend(come.iter().map(|line| (Change::Added, *line)));
        }
    }
    lines
}

fn ops(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let (gone, come) = middle(old, new);
    if gone.len() + come.len() <= MOST_LINES {
        return capture_diff_slices(Algorithm::Myers, old, new);
    }
    let before = DiffOp::Equal {
        old_index: 0,
        new_index: 0,
        len: gone.start,
    };
    let changed = DiffOp::Replace {
        old_index: gone.start,
        old_len: gone.len(),
        new_index: come.start,
        new_len: come.len(),
    };
    let after = DiffOp::Equal {
        old_index: gone.end,
        new_index: come.end,
        len: old.len() - gone.end,
    };
    let ops = [before, changed, after].into_iter();
    ops.filter(|op| !op.old_range().is_empty() || !op.new_range().is_empty())
        .collect()
}

/// What is left of both without the lines that they begin and end with alike.
fn middle(old: &[&str], new: &[&str]) -> (Range<usize>, Range<usize>) {
    let same = |(a, b): &(&&str, &&str)| a == b;
    let before = old.iter().zip(new).take_while(same).count();
    let (old_rest, new_rest) = (&old[before..], &new[before..]);
    let after = old_rest.iter().rev().zip(new_rest.iter().rev());
    let after = after.take_while(same).count();
    (before..old.len() - after, before..new.len() - after)
}

fn entry(path: &str, old: &[&str], new: &[&str]) -> DiffEntry {
    let (old_whole, new_whole) = (old.concat(), new.concat());
    let bare = |text: &str| {
        let line = text.strip_suffix('\n').unwrap_or(text);
        line.strip_suffix('\r').unwrap_or(line).to_owned()
    };
    let (old_text, new_text) = match (bare(&old_whole), bare(&new_whole)) {
        (old, new) if old == new => (old_whole, new_whole),
        bare => bare,
    };
    DiffEntry {
        path: path.to_owned(),
        old_text: (!old.is_empty()).then_some(old_text),
        new_text,
    }
}
