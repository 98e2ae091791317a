//! What a model is told of a budget that was too small.

use std::fmt;

use super::Omitted;

/// The budget that something was kept within.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// The first items, at most so many.
    Items(usize),
    /// Bytes from both ends, at most so many of each.
    Bytes {
        /// From the start.
        head: usize,
        /// From the end.
        tail: usize,
    },
}

impl fmt::Display for Limit {
    /// `100`, `2000B head`, `2000B head + 2000B tail`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Items(most) => write!(f, "{most}"),
            Self::Bytes { head, tail: 0 } => write!(f, "{head}B head"),
            Self::Bytes { head: 0, tail } => write!(f, "{tail}B tail"),
            Self::Bytes { head, tail } => write!(f, "{head}B head + {tail}B tail"),
        }
    }
}

/// What was left out, and under which limit.
///
/// ```
/// use toolfall::retain::{Limit, Notice, Omitted, Unit};
///
/// let notice = Notice::new(Omitted::of(25, Unit::Items), Limit::Items(100));
/// assert_eq!(
///     notice.text(|notice| format!("Results capped at {}. Narrow the pattern.", notice.limit)),
///     "Omitted 25 items. Results capped at 100. Narrow the pattern.",
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Notice {
    /// What was left out.
    pub omitted: Omitted,
    /// The limit that it was left out for.
    pub limit: Limit,
}

impl Notice {
    /// A notice of `omitted` under `limit`.
    pub const fn new(omitted: Omitted, limit: Limit) -> Self {
        Self { omitted, limit }
    }

    /// What was left out, then what `recovery` says can be done about it.
    /// Whichever of the two is empty is left away, with the space between.
    pub fn text(&self, recovery: impl FnOnce(&Self) -> String) -> String {
        let omitted = self.omitted.to_string();
        let recovery = recovery(self);
        if omitted.is_empty() || recovery.is_empty() {
            omitted + &recovery
        } else {
            format!("{omitted} {recovery}")
        }
    }
}
