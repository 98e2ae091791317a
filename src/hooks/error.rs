//! Why hooks cannot be put in a set.

use std::error::Error;
use std::fmt;

use super::{Dialect, HookPoint, MatcherError};

/// A hook that cannot be put in a set; every variant names its place.
#[derive(Debug)]
#[non_exhaustive]
pub enum HookSetError {
    /// A matcher that cannot be read.
    Matcher {
        /// The hook's name.
        id: String,
        /// Where it was to run.
        point: HookPoint,
        /// The matcher; the source is what is wrong with it.
        matcher: MatcherError,
    },
    /// A hook that cannot be run as it is written.
    Hook {
        /// The hook's name.
        id: String,
        /// Where it was to run.
        point: HookPoint,
        /// What is expected, and what was found.
        expected: String,
    },
    /// A point at which the dialect has no hooks.
    Point {
        /// The hook's name.
        id: String,
        /// The point.
        point: HookPoint,
        /// The dialect.
        dialect: Dialect,
    },
    /// More hooks than a set holds.
    TooMany {
        /// So many may be there.
        most: usize,
        /// So many are.
        found: usize,
    },
}

impl fmt::Display for HookSetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Matcher { id, point, matcher } => {
                write!(f, "{matcher} on event \"{point}\" (hook {id:?})")
            }
            Self::Hook {
                id,
                point,
                expected,
            } => write!(f, "hook {id:?} on event \"{point}\": expected {expected}"),
            Self::Point { id, point, dialect } => write!(
                f,
                "hook {id:?}: expected an event of {dialect}, found \"{point}\""
            ),
            Self::TooMany { most, found } => {
                write!(f, "expected at most {most} hooks, found {found}")
            }
        }
    }
}

// By hand: the text of a matcher's error is part of this one's, so that its
// own source comes next.
impl Error for HookSetError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Matcher { matcher, .. } => matcher.source(),
            Self::Hook { .. } | Self::Point { .. } | Self::TooMany { .. } => None,
        }
    }
}
