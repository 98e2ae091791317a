//! Finding the passage of a text that an edit means.

use std::borrow::Cow;

use super::error::FileError;

/// So many places of an ambiguous passage are told.
const TOLD: usize = 5;

/// A passage to replace, and what with.
///
/// ```
/// use toolfall::workspace::Edit;
///
/// let rename = Edit::new("old_name", "new_name").everywhere();
/// assert_eq!(rename, Edit::new("old_name", "new_name").everywhere());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    old: String,
    new: String,
    everywhere: bool,
}

/// A text with a passage replaced.
pub(super) struct Outcome {
    pub(super) text: String,
    /// The line in which the first place began.
    pub(super) line: usize,
    pub(super) places: usize,
}

impl Edit {
    /// Puts `new` in the place of `old`, which must stand in the file once.
    ///
    /// In a file whose lines all end with CRLF, a line break of either text
    /// counts as CRLF.
    pub fn new(old: impl Into<String>, new: impl Into<String>) -> Self {
        Self {
            old: old.into(),
            new: new.into(),
            everywhere: false,
        }
    }

    /// Replaces every place.
    pub const fn everywhere(mut self) -> Self {
        self.everywhere = true;
        self
    }

    /// Whether the texts make an edit at all.
    pub(super) fn check(&self) -> Result<(), FileError> {
        let wrong = if self.old.is_empty() {
            "old_text must be a non-empty string"
        } else if self.old == self.new {
            "old_text and new_text must differ"
        } else {
            return Ok(());
        };
        Err(FileError::new(
            crate::codes::INVALID_ARGS,
            format!("invalid arguments: {wrong}"),
        ))
    }

    /// The edited text of the file at `path`, which holds `text`. It has at
    /// most `limit` bytes, or could never be read again.
    pub(super) fn apply(&self, path: &str, text: &str, limit: u64) -> Result<Outcome, FileError> {
        let (old, new) = if is_crlf(text) {
            (crlf(&self.old), crlf(&self.new))
        } else {
            (self.old.as_str().into(), self.new.as_str().into())
        };
        let (at, places) = match text.find(&*old) {
            Some(at) if self.everywhere => (at, text.matches(&*old).count()),
            _ => (only_place(path, text, &old)?, 1),
        };
        // Many places can make very much of a short text: count, then do it.
        let kept = text.len() - places * old.len();
        let size = places.saturating_mul(new.len()).saturating_add(kept);
        if size as u64 > limit {
            return Err(FileError::new(
                "TOO_LARGE",
                format!(
                    "expected {path:?} to have at most {limit} bytes after the edit, found {size}"
                ),
            ));
        }
        Ok(Outcome {
            line: line_of(text, at),
            places,
            text: if self.everywhere {
                text.replace(&*old, &new)
            } else {
                [&text[..at], &new, &text[at + old.len()..]].concat()
            },
        })
    }
}

/// Whether there are line breaks, and all of them are CRLF.
fn is_crlf(text: &str) -> bool {
    let mut lines = text.split('\n');
    // What follows the last break ends no line.
    lines.next_back();
    let mut lines = lines.peekable();
    lines.peek().is_some() && lines.all(|line| line.ends_with('\r'))
}

fn crlf(text: &str) -> Cow<'_, str> {
    if text.contains('\n') {
        text.replace("\r\n", "\n").replace('\n', "\r\n").into()
    } else {
        text.into()
    }
}

/// Where the passage stands, if it stands there once.
fn only_place(path: &str, text: &str, old: &str) -> Result<usize, FileError> {
    let places = places(text, old);
    match places.as_slice() {
        [at] => Ok(*at),
        [] => Err(FileError::new(
            "FS_EDIT_NOT_FOUND",
            format!(
                "expected old_text to stand in {path:?}, found it nowhere{}",
                hint(text, old)
            ),
        )),
        several => {
            let lines: Vec<String> = several
                .iter()
                .take(TOLD)
                .map(|at| line_of(text, *at).to_string())
                .collect();
            let more = if several.len() > TOLD { ", …" } else { "" };
            Err(FileError::new(
                "FS_AMBIGUOUS_EDIT",
                format!(
                    "expected old_text to stand in {path:?} once, found it at lines {}{more}; \
                     give more of the text around it, or replace_all",
                    lines.join(", ")
                ),
            ))
        }
    }
}

/// The places of `part`, overlapping ones too; a few are enough.
fn places(text: &str, part: &str) -> Vec<usize> {
    let mut places = Vec::new();
    let mut from = 0;
    let step = part.chars().next().map_or(1, char::len_utf8);
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(part)) {
        places.push(from + at);
        if places.len() > TOLD || part.is_empty() {
            break;
        }
        from += at + step;
    }
    places
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].bytes().filter(|byte| *byte == b'\n').count() + 1
}

/// What may be the matter, where that can be told for certain.
fn hint(text: &str, part: &str) -> &'static str {
    let unix = |text: &str| text.replace("\r\n", "\n");
    let blank = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    if unix(text).contains(&unix(part)) {
        "; its line breaks differ (the one has CRLF, the other LF)"
    } else if blank(text).contains(&blank(part)) {
        "; it stands there with other white space"
    } else {
        ""
    }
}
