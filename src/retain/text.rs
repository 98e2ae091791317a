//! The start, the end, or both ends of a text.

use super::ring::Ends;
use super::{Limit, Notice, Omitted, Pushed, Unit};

/// Keeps the start, the end, or both ends of a stream of bytes and counts the
/// rest.
///
/// Budgets are bytes of the source. At most the budget is held, whatever the
/// size and the number of the chunks; the buffer grows with what comes, in one
/// allocation that doubles. Taking a chunk costs about what copying it costs.
///
/// ```
/// use toolfall::retain::TextRetainer;
///
/// // The cut goes through a character, which is left out.
/// let mut end = TextRetainer::tail(2);
/// end.push("a€b");
/// let end = end.finish();
/// assert_eq!((end.text.as_str(), end.kept_bytes), ("b", 1));
/// assert_eq!(end.omitted.count(), Some(4));
/// ```
#[derive(Clone, Debug)]
pub struct TextRetainer {
    ends: Ends,
    incomplete: bool,
}

impl TextRetainer {
    /// Keeps the first `bytes` bytes.
    pub const fn head(bytes: usize) -> Self {
        Self::head_and_tail(bytes, 0)
    }

    /// Keeps the last `bytes` bytes.
    pub const fn tail(bytes: usize) -> Self {
        Self::head_and_tail(0, bytes)
    }

    /// Keeps the first `head` and the last `tail` bytes. A stream that is no
    /// longer than both together is kept whole.
    pub const fn head_and_tail(head: usize, tail: usize) -> Self {
        Self {
            ends: Ends::new(head, tail),
            incomplete: false,
        }
    }

    /// Takes the next bytes; a chunk may end within a character.
    #[inline]
    pub fn push(&mut self, chunk: impl AsRef<[u8]>) -> Pushed {
        let kept = self.ends.push(chunk.as_ref());
        Pushed {
            kept,
            truncated: self.ends.is_truncated(),
        }
    }

    /// Says that the source was not read to its end, whatever was kept.
    pub const fn mark_incomplete(&mut self) {
        self.incomplete = true;
    }

    /// How many bytes came so far.
    pub const fn seen_bytes(&self) -> u64 {
        self.ends.seen()
    }

    /// Whether something of what came is not held.
    pub const fn is_truncated(&self) -> bool {
        self.ends.is_truncated()
    }

    /// The budget.
    pub const fn limit(&self) -> Limit {
        let (head, tail) = self.ends.budgets();
        Limit::Bytes { head, tail }
    }

    /// The text that was kept, and how much was not.
    ///
    /// The text needs no second buffer, unless the source was malformed: then
    /// each malformed sequence becomes a replacement character of three bytes.
    pub fn finish(self) -> RetainedText {
        let (limit, seen_bytes) = (self.limit(), self.seen_bytes());
        let (text, kept_bytes, gap) = self.ends.finish();
        RetainedText {
            text,
            gap,
            kept_bytes,
            seen_bytes,
            truncated: kept_bytes < seen_bytes,
            omitted: Omitted::of(seen_bytes - kept_bytes, Unit::Bytes),
            incomplete: self.incomplete,
            limit,
        }
    }
}

/// What a [`TextRetainer`] kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetainedText {
    /// The text: the start, then directly the end.
    pub text: String,
    /// Where in the text something was left out, in bytes.
    pub gap: Option<usize>,
    /// How many bytes of the source the text stands for; its own length,
    /// unless the source was malformed.
    pub kept_bytes: u64,
    /// How many bytes there were.
    pub seen_bytes: u64,
    /// The budget left some out.
    pub truncated: bool,
    /// How many bytes it left out.
    pub omitted: Omitted,
    /// The source was not read to its end, which is no matter of the budget.
    pub incomplete: bool,
    /// The budget.
    pub limit: Limit,
}

impl RetainedText {
    /// What to tell the model.
    pub fn notice(&self) -> Notice {
        Notice::new(self.omitted.clone(), self.limit)
    }
}
