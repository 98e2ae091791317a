//! Globs, compiled within a bound.

use globset::{GlobBuilder, GlobMatcher};
use toolfall_layers::printable;

use super::error::RuleErrorKind;

/// Longer globs are refused, in bytes. One that is a hundred times as long
/// would not compile, and the compiler takes that for a fault of its own.
const LONGEST: usize = 16 << 10;

/// How many characters of a glob that is too long an error shows.
const SHOWN: usize = 40;

/// A glob that cannot be used.
#[derive(Debug)]
pub(crate) struct BadGlob {
    /// The glob, or its beginning if it is too long.
    pub(crate) glob: String,
    /// What is wrong with it.
    pub(crate) detail: String,
}

/// What whole texts are held against; with `names`, `*` stays within one name
/// of a path.
pub(crate) fn matcher(glob: &str, names: bool, ignore_case: bool) -> Result<GlobMatcher, BadGlob> {
    if glob.len() > LONGEST {
        return Err(BadGlob {
            glob: printable(glob, SHOWN),
            detail: format!(
                "it has {} bytes where at most {LONGEST} are taken",
                glob.len()
            ),
        });
    }
    let built = GlobBuilder::new(glob)
        .literal_separator(names)
        .case_insensitive(ignore_case)
        .build();
    built
        .map(|glob| glob.compile_matcher())
        .map_err(|error| BadGlob {
            glob: error.glob().unwrap_or_default().to_owned(),
            detail: error.kind().to_string(),
        })
}

impl From<BadGlob> for RuleErrorKind {
    fn from(bad: BadGlob) -> Self {
        Self::Glob {
            glob: bad.glob,
            detail: bad.detail,
        }
    }
}
