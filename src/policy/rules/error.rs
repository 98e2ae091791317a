//! Why a rule cannot be used.

use std::path::PathBuf;

/// A rule that cannot be used: which one, where, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}{kind}", rule.as_ref().map(|rule| format!("rule {rule:?}: ")).unwrap_or_default())]
pub struct RuleError {
    pub(super) rule: Option<String>,
    pub(super) pointer: String,
    pub(super) kind: RuleErrorKind,
}

/// What is wrong with a rule.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleErrorKind {
    /// A rule without a name, which no record could cite.
    #[error("expected a name for rule {place}, found none")]
    NoName {
        /// The rule's place in the list, counted from 1.
        place: usize,
    },
    /// A second rule of the same name, or one that is called as the default.
    #[error(
        "expected a name that no other rule has, nor the default, which is \"otherwise\", found {name:?}"
    )]
    NameTaken {
        /// The name.
        name: String,
    },
    /// A glob that is none.
    #[error("expected a glob, found {glob:?}: {detail}")]
    Glob {
        /// The glob.
        glob: String,
        /// What is wrong with it.
        detail: String,
    },
    /// A regular expression that is none, or that takes too much.
    #[error("expected a regular expression, found {regex:?}: {detail}")]
    Regex {
        /// The regular expression.
        regex: String,
        /// What is wrong with it.
        detail: String,
    },
    /// A pointer that is none.
    #[error("expected a JSON pointer, empty or beginning with \"/\", found {pointer:?}")]
    Pointer {
        /// The pointer.
        pointer: String,
    },
    /// A root that depends on where the process happens to be.
    #[error("expected an absolute path for the root, found {root:?}")]
    Root {
        /// The root.
        root: PathBuf,
    },
    /// A limit that is no number.
    #[error("expected a finite number for the limit, found {limit}")]
    Limit {
        /// What was found.
        limit: String,
    },
    /// A command without a pattern.
    #[error("expected a pattern for the program, found none")]
    NoWords,
    /// Keys of a written test that do not go together.
    #[error("expected {expected}, found {found}")]
    Keys {
        /// Which may be given.
        expected: &'static str,
        /// Which are given.
        found: String,
    },
}

impl RuleError {
    /// The rule's name, if it has one.
    pub fn rule(&self) -> Option<&str> {
        self.rule.as_deref()
    }

    /// What is wrong.
    pub fn kind(&self) -> &RuleErrorKind {
        &self.kind
    }

    /// Where it is wrong, as a JSON pointer into
    /// [`WrittenRules`](super::WrittenRules): `/rules/2/arguments/0/at`.
    pub fn pointer(&self) -> &str {
        &self.pointer
    }
}
