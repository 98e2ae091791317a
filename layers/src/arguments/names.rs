//! Finds names that occur twice in one object, without allocating for
//! objects of ordinary size.

use std::cmp::Ordering;

use super::string::{Quoted, Unescaped};

/// Up to this many names of one object are compared one by one, as they
/// come; larger objects are sorted once, when they end.
const ONE_BY_ONE: usize = 16;

/// How many names of open objects are held without allocating.
const INLINE: usize = 16;

/// Set in a name's end if anything in the name is written as an escape; no
/// text is long enough to need the bit.
const ESCAPED: u32 = 1 << 31;

/// A member's name: where its inside starts and ends.
#[derive(Clone, Copy, Default)]
pub(super) struct Name {
    start: u32,
    end: u32,
}

impl Name {
    /// The name whose opening quote is at `quote`.
    #[inline]
    pub(super) fn new(quote: usize, quoted: Quoted) -> Self {
        // `MAX_TEXT` keeps every place far below 2^31.
        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self {
            start: place(quote + 1),
            end: place(quoted.close) | if quoted.escaped { ESCAPED } else { 0 },
        }
    }

    /// The place of the opening quote.
    pub(super) fn quote(self) -> usize {
        self.start as usize - 1
    }

    fn escaped(self) -> bool {
        self.end & ESCAPED != 0
    }

    fn inside(self, text: &str) -> &[u8] {
        &text.as_bytes()[self.start as usize..(self.end & !ESCAPED) as usize]
    }

    fn decoded(self, text: &str) -> Unescaped<'_> {
        Unescaped::new(&text[self.start as usize..(self.end & !ESCAPED) as usize])
    }

    /// Whether the name, decoded, starts with `prefix`.
    #[inline]
    pub(super) fn starts_with(self, text: &str, prefix: &str) -> bool {
        if self.escaped() {
            let mut chars = self.decoded(text);
            prefix.chars().all(|char| chars.next() == Some(char))
        } else {
            let inside = self.inside(text);
            // Nearly every name differs in its first byte.
            inside.first() == prefix.as_bytes().first() && inside.starts_with(prefix.as_bytes())
        }
    }

    /// The order of the decoded names.
    fn cmp(self, other: Self, text: &str) -> Ordering {
        if (self.end | other.end) & ESCAPED != 0 {
            self.decoded(text).cmp(other.decoded(text))
        } else {
            // UTF-8 orders bytes as it orders characters.
            self.inside(text).cmp(other.inside(text))
        }
    }

    #[inline]
    fn is(self, other: Self, text: &str) -> bool {
        if (self.end | other.end) & ESCAPED != 0 {
            self.cmp(other, text).is_eq()
        } else {
            // Nearly all names differ in length or in their first byte (an
            // empty one has its closing quote there).
            let first = |name: Self| text.as_bytes().get(name.start as usize);
            self.end - self.start == other.end - other.start
                && first(self) == first(other)
                && self.inside(text) == other.inside(text)
        }
    }
}

/// The names of all objects that are open, innermost last. Each object's
/// names follow an entry that says where those of the object around it start.
pub(super) struct Names {
    inline: [Name; INLINE],
    spilled: Vec<Name>,
    len: usize,
    /// Where the names of the innermost object start.
    base: usize,
}

impl Names {
    pub(super) fn new() -> Self {
        Self {
            inline: [Name::default(); INLINE],
            spilled: Vec::new(),
            len: 0,
            base: 0,
        }
    }

    /// Starts an object.
    #[inline]
    pub(super) fn open(&mut self) {
        self.add(Name {
            start: u32::try_from(self.base).unwrap_or(u32::MAX),
            end: 0,
        });
        self.base = self.len;
    }

    /// Adds a name to the innermost object. Returns whether the object has
    /// that name already, as far as it can be told before the object ends.
    #[inline]
    pub(super) fn push(&mut self, name: Name, text: &str) -> bool {
        let repeated = self.len - self.base <= ONE_BY_ONE
            && self.held()[self.base..]
                .iter()
                .any(|held| held.is(name, text));
        self.add(name);
        repeated
    }

    /// Ends the innermost object; returns the first of its names that repeats
    /// an earlier one, if the object was too large for [`push`](Self::push).
    #[inline]
    pub(super) fn close(&mut self, text: &str) -> Option<Name> {
        let around = self.base - 1;
        let repeated = if self.len - self.base > ONE_BY_ONE {
            let base = self.base;
            first_repeated(&mut self.held_mut()[base..], text)
        } else {
            None
        };
        self.base = self.held()[around].start as usize;
        self.len = around;
        self.spilled.truncate(around);
        repeated
    }

    #[inline]
    fn add(&mut self, name: Name) {
        match self.inline.get_mut(self.len) {
            Some(place) if self.spilled.is_empty() => *place = name,
            _ => self.spill(name),
        }
        self.len += 1;
    }

    #[cold]
    fn spill(&mut self, name: Name) {
        if self.spilled.is_empty() {
            self.spilled.extend_from_slice(&self.inline[..self.len]);
        }
        self.spilled.push(name);
    }

    #[inline]
    fn held(&self) -> &[Name] {
        if self.spilled.is_empty() {
            &self.inline[..self.len]
        } else {
            &self.spilled
        }
    }

    fn held_mut(&mut self) -> &mut [Name] {
        if self.spilled.is_empty() {
            &mut self.inline[..self.len]
        } else {
            &mut self.spilled
        }
    }
}

/// Sorting needs no memory beyond the names themselves, however many.
fn first_repeated(names: &mut [Name], text: &str) -> Option<Name> {
    names.sort_unstable_by(|a, b| a.cmp(*b, text).then(a.start.cmp(&b.start)));
    names
        .windows(2)
        .filter(|pair| pair[0].is(pair[1], text))
        .map(|pair| pair[1])
        .min_by_key(|name| name.start)
}
