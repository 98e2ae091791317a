//! Finds names that occur twice in one object, without allocating for
//! objects of ordinary size.

use std::cmp::Ordering;

use super::string::Unescaped;

/// Up to this many names of one object are compared one by one, as they
/// come; larger objects are sorted once, when they end.
const ONE_BY_ONE: usize = 16;

/// How many names of open objects are held without allocating.
const INLINE: usize = 16;

/// A member's name: where its inside starts and ends.
#[derive(Clone, Copy, Default)]
pub(super) struct Name {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) escaped: bool,
}

impl Name {
    fn inside(self, text: &str) -> &str {
        &text[self.start as usize..self.end as usize]
    }

    /// Whether the name, decoded, starts with `prefix`.
    pub(super) fn starts_with(self, text: &str, prefix: &str) -> bool {
        let inside = self.inside(text);
        if self.escaped {
            let mut chars = Unescaped::new(inside);
            prefix.chars().all(|char| chars.next() == Some(char))
        } else {
            inside.starts_with(prefix)
        }
    }

    /// The order of the decoded names.
    fn cmp(self, other: Self, text: &str) -> Ordering {
        if self.escaped || other.escaped {
            Unescaped::new(self.inside(text)).cmp(Unescaped::new(other.inside(text)))
        } else {
            // UTF-8 orders bytes as it orders characters.
            self.inside(text).cmp(other.inside(text))
        }
    }

    fn is(self, other: Self, text: &str) -> bool {
        if self.escaped || other.escaped {
            self.cmp(other, text).is_eq()
        } else {
            self.inside(text) == other.inside(text)
        }
    }
}

/// The names of all objects that are open, innermost last.
pub(super) struct Names {
    inline: [Name; INLINE],
    spilled: Vec<Name>,
    len: usize,
}

impl Names {
    pub(super) fn new() -> Self {
        Self {
            inline: [Name::default(); INLINE],
            spilled: Vec::new(),
            len: 0,
        }
    }

    /// How many names are held: where the next object's names will start.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds a name to the object whose names start at `base`. Returns
    /// whether the object has that name already, as far as it can be told
    /// before the object ends.
    pub(super) fn push(&mut self, base: usize, name: Name, text: &str) -> bool {
        let own = self.own(base);
        let repeated = own.len() <= ONE_BY_ONE && own.iter().any(|held| held.is(name, text));
        if self.spilled.is_empty() && self.len < INLINE {
            self.inline[self.len] = name;
        } else {
            if self.spilled.is_empty() {
                self.spilled.extend_from_slice(&self.inline[..self.len]);
            }
            self.spilled.push(name);
        }
        self.len += 1;
        repeated
    }

    /// Ends the object whose names start at `base`; returns the first of its
    /// names that repeats an earlier one and was not found by [`push`](Self::push).
    pub(super) fn close(&mut self, base: usize, text: &str) -> Option<Name> {
        let repeated = if self.len - base > ONE_BY_ONE {
            let own = if self.spilled.is_empty() {
                &mut self.inline[base..self.len]
            } else {
                &mut self.spilled[base..]
            };
            first_repeated(own, text)
        } else {
            None
        };
        self.len = base;
        self.spilled.truncate(base);
        repeated
    }

    fn own(&self, base: usize) -> &[Name] {
        if self.spilled.is_empty() {
            &self.inline[base..self.len]
        } else {
            &self.spilled[base..]
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
