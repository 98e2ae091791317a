//! Which tools a hook is for.

use std::fmt;

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

use super::Dialect;

/// Compiled, a pattern takes no more bytes than this.
const SIZE: usize = 1 << 20;
/// Groups in a pattern nest no deeper than this.
const DEPTH: u32 = 64;

/// A test on a tool's name, as a dialect writes it.
///
/// No pattern, an empty one and `*` match everything. In the Claude Code
/// dialect a pattern of words, `Edit|Write`, matches exactly those names;
/// every other pattern, and in the Codex dialect every pattern, is a regular
/// expression that may match anywhere in the name.
///
/// The engine is Rust's: matching takes linear time, and there is no
/// look-around (`(?=…)`, `(?<!…)`) and no back-reference (`\1`). Such a
/// pattern is invalid like one with an open bracket: it matches nothing, and
/// a [`HookSet`](super::HookSet) refuses it.
///
/// ```
/// use toolfall::hooks::{Dialect, ToolMatcher};
///
/// let words = ToolMatcher::new(Dialect::ClaudeCode, Some("Edit|Write"));
/// assert!(words.matches("Write") && !words.matches("EditFile"));
///
/// let invalid = ToolMatcher::new(Dialect::Codex, Some("["));
/// assert!(!invalid.matches("["));
/// assert_eq!(invalid.error().unwrap().to_string(), r#"invalid codex regex matcher "[""#);
/// ```
#[derive(Clone, Debug)]
pub struct ToolMatcher {
    pattern: Option<String>,
    test: Test,
}

#[derive(Clone, Debug)]
enum Test {
    All,
    Words,
    Regex(RegexMatcher),
    Invalid(MatcherError),
}

impl ToolMatcher {
    /// A matcher for `pattern`. It never fails: see [`error`](Self::error).
    pub fn new(dialect: Dialect, pattern: Option<&str>) -> Self {
        let pattern = pattern.filter(|pattern| !matches!(*pattern, "" | "*"));
        let test = match pattern {
            None => Test::All,
            Some(pattern) if dialect == Dialect::ClaudeCode && is_words(pattern) => Test::Words,
            Some(pattern) => match regex(pattern) {
                Ok(regex) => Test::Regex(regex),
                Err(source) => Test::Invalid(MatcherError {
                    dialect,
                    pattern: pattern.to_owned(),
                    source,
                }),
            },
        };
        Self {
            pattern: pattern.map(str::to_owned),
            test,
        }
    }

    /// Whether the tool called `name` is meant.
    pub fn matches(&self, name: &str) -> bool {
        match &self.test {
            Test::All => true,
            Test::Words => self
                .pattern
                .iter()
                .flat_map(|pattern| pattern.split('|'))
                .any(|word| word == name),
            // This engine's search has no way to fail.
            Test::Regex(regex) => regex.is_match(name.as_bytes()).unwrap_or(false),
            Test::Invalid(_) => false,
        }
    }

    /// The pattern, unless everything matches.
    pub fn pattern(&self) -> Option<&str> {
        self.pattern.as_deref()
    }

    /// Why the pattern matches nothing, if it cannot be read.
    pub const fn error(&self) -> Option<&MatcherError> {
        match &self.test {
            Test::Invalid(error) => Some(error),
            _ => None,
        }
    }
}

fn is_words(pattern: &str) -> bool {
    pattern
        .chars()
        .all(|char| char.is_alphanumeric() || matches!(char, '_' | '|'))
}

fn regex(pattern: &str) -> Result<RegexMatcher, grep_regex::Error> {
    RegexMatcherBuilder::new()
        .size_limit(SIZE)
        .dfa_size_limit(SIZE)
        .nest_limit(DEPTH)
        .build(pattern)
}

/// A pattern that is no regular expression of this engine.
#[derive(Clone, Debug)]
pub struct MatcherError {
    dialect: Dialect,
    pattern: String,
    source: grep_regex::Error,
}

impl MatcherError {
    /// The pattern as it was written.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }
}

impl fmt::Display for MatcherError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "invalid {} regex matcher {:?}",
            self.dialect, self.pattern
        )
    }
}

impl std::error::Error for MatcherError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}
