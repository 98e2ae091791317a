//! Why hooks cannot be put in a set.

use super::{Dialect, HookPoint, MatcherError};

/// A hook that cannot be put in a set; every variant names its place.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HookSetError {
    /// A matcher that cannot be read.
    #[error("{matcher} on event \"{point}\" (hook {id:?})")]
    Matcher {
        /// The hook's name.
        id: String,
        /// Where it was to run.
        point: HookPoint,
        /// The matcher; its source says what is wrong with it.
        #[source]
        matcher: MatcherError,
    },
    /// A hook that cannot be run as it is written.
    #[error("hook {id:?} on event \"{point}\": expected {expected}")]
    Hook {
        /// The hook's name.
        id: String,
        /// Where it was to run.
        point: HookPoint,
        /// What is expected, and what was found.
        expected: String,
    },
    /// A point at which the dialect has no hooks.
    #[error("hook {id:?}: expected an event of {dialect}, found \"{point}\"")]
    Point {
        /// The hook's name.
        id: String,
        /// The point.
        point: HookPoint,
        /// The dialect.
        dialect: Dialect,
    },
    /// More hooks than a set holds.
    #[error("expected at most {most} hooks, found {found}")]
    TooMany {
        /// So many may be there.
        most: usize,
        /// So many are.
        found: usize,
    },
}
