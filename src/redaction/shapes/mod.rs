//! Well-known secrets, by what they look like.

mod mask;
mod policy;
mod table;

use std::fmt;
use std::sync::{Arc, LazyLock};

use regex::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use serde_json::Value;
use toolfall_layers::{Redaction, ShownResult, check_json};

use super::{for_each_leaf, for_each_text, walk};

/// Masks well-known secrets, and those that a host has a pattern for: private
/// keys, tokens of providers, credentials in headers, addresses and
/// assignments. A mask keeps the name of what it hides:
/// `[redacted: github-token]`.
///
/// It is two things. As a [`Redaction`], given to
/// [`PipelineBuilder::redact`](crate::PipelineBuilder::redact), it hides
/// secrets from people and from the log, in the arguments of every tool and in
/// its results. As a post-execute policy it hides them from the model: in the
/// texts of the content, and in the value, where the tool's schema and its
/// rendering take the masked one (else a program that reads the value still
/// gets the original). Results of nested calls are left to the program
/// that called, whose own result is masked.
///
/// Give it to the builder *after* a policy that stores results, so that it is
/// inside and comes first: what is stored has no secret then.
///
/// It is pure. One pass over a text with all patterns at once says which occur
/// in it; only those are then looked for, each in time linear in the text.
/// Nothing is copied where none occurs. A secret is recognised within one
/// text: one that two content blocks share is not, nor is one in binary
/// contents. Messages that a call leaves for the model
/// ([`ContextMessage`](crate::ContextMessage)) are not the result's, and pass
/// as they are.
///
/// ```
/// use toolfall::redaction::SecretShapes;
///
/// let shapes = SecretShapes::known().pattern("ticket", r"\bTKT-[0-9]{6}\b").unwrap();
/// assert_eq!(
///     shapes.mask("TKT-123456 for postgres://app:hunter2@db/prod").unwrap(),
///     "[redacted: ticket] for postgres://app:[redacted: url-credentials]@db/prod"
/// );
/// assert_eq!(shapes.mask("nothing to see"), None);
/// ```
#[derive(Clone)]
pub struct SecretShapes {
    known: bool,
    own: Vec<(Arc<str>, String)>,
    compiled: Option<Arc<Compiled>>,
}

/// A pattern that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// A name that cannot stand in a mask.
    #[error(
        "expected a name of 1 to 64 lower-case letters, digits, \"-\" or \"_\", found {found:?}"
    )]
    Name {
        /// The name, cut.
        found: String,
    },
    /// No regular expression, or one that is too large.
    #[error("expected a regular expression for \"{name}\": {detail}")]
    Pattern {
        /// The name.
        name: String,
        /// What is wrong, and where.
        detail: String,
    },
    /// A pattern that is found everywhere.
    #[error("expected a regular expression for \"{name}\" that does not match the empty text")]
    Empty {
        /// The name.
        name: String,
    },
}

/// Patterns, together and one by one.
struct Compiled {
    set: RegexSet,
    each: Vec<(Arc<str>, Regex)>,
}

/// A compiled pattern may take so much memory, in bytes.
const SIZE: usize = 4 << 20;

impl Compiled {
    fn new(shapes: Vec<(Arc<str>, &str)>) -> Result<Self, (Arc<str>, regex::Error)> {
        let each = shapes
            .iter()
            .map(|(name, pattern)| {
                let regex = RegexBuilder::new(pattern).size_limit(SIZE).build();
                let regex = regex.map_err(|error| (name.clone(), error))?;
                Ok((name.clone(), regex))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let set = RegexSetBuilder::new(shapes.iter().map(|(_, pattern)| pattern))
            .size_limit(SIZE * 4)
            // All of them at once have many states; with too few kept the
            // search falls back to a slower engine.
            .dfa_size_limit(SIZE * 2)
            .build();
        let last = || {
            shapes
                .last()
                .map_or_else(|| "".into(), |(name, _)| name.clone())
        };
        let set = set.map_err(|error| (last(), error))?;
        Ok(Self { set, each })
    }
}

/// The table, compiled when it is first needed. A test compiles it, so that
/// nothing is left out here in silence.
static KNOWN: LazyLock<Compiled> = LazyLock::new(|| {
    let shapes = table::SHAPES.iter();
    let shapes = shapes.map(|shape| (Arc::from(shape.0), shape.1)).collect();
    Compiled::new(shapes).expect("the table's patterns compile")
});

impl SecretShapes {
    /// The well-known shapes.
    pub const fn known() -> Self {
        Self {
            known: true,
            own: Vec::new(),
            compiled: None,
        }
    }

    /// No shapes yet, for [`pattern`](Self::pattern).
    pub const fn none() -> Self {
        Self {
            known: false,
            own: Vec::new(),
            compiled: None,
        }
    }

    /// Adds what `regex` matches, or, if it has a group `secret`, what that
    /// one matches. The syntax is that of the crate `regex`.
    ///
    /// # Errors
    ///
    /// [`ShapeError`] for a name that is none, and for an expression that does
    /// not compile, is too large, or matches the empty text.
    pub fn pattern(mut self, name: &str, regex: &str) -> Result<Self, ShapeError> {
        let fits =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        if name.is_empty() || name.len() > 64 || !name.bytes().all(fits) {
            return Err(ShapeError::Name {
                found: toolfall_layers::printable(name, 64),
            });
        }
        self.own.push((name.into(), regex.to_owned()));
        let shapes = self
            .own
            .iter()
            .map(|(name, regex)| (name.clone(), regex.as_str()));
        let compiled = Compiled::new(shapes.collect());
        let compiled = compiled.map_err(|(name, error)| ShapeError::Pattern {
            name: name.as_ref().to_owned(),
            detail: error.to_string(),
        })?;
        if compiled
            .each
            .last()
            .is_some_and(|(_, regex)| regex.is_match(""))
        {
            return Err(ShapeError::Empty {
                name: name.to_owned(),
            });
        }
        self.compiled = Some(Arc::new(compiled));
        Ok(self)
    }

    /// The names of the well-known shapes, each once.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let mut last = "";
        table::SHAPES
            .iter()
            .map(|shape| shape.0)
            .filter(move |name| {
                let new = *name != last;
                last = name;
                new
            })
    }

    fn tables(&self) -> impl Iterator<Item = &Compiled> {
        let known = self.known.then(|| &*KNOWN);
        known.into_iter().chain(self.compiled.as_deref())
    }
}

impl Redaction for SecretShapes {
    /// Masks the texts among the values; of what is no JSON, the whole.
    fn arguments(&self, text: &str) -> Option<String> {
        if check_json(text).is_err() {
            return self.mask(text);
        }
        let mut masked = String::new();
        let mut from = 0;
        for leaf in walk::texts(text) {
            if let Some(other) = self.mask_leaf(leaf.name.as_deref(), &leaf.says) {
                masked.push_str(&text[from..leaf.at.start]);
                masked.push_str(&Value::String(other).to_string());
                from = leaf.at.end;
            }
        }
        if from == 0 {
            return None;
        }
        masked.push_str(&text[from..]);
        Some(masked)
    }

    fn text(&self, _: &str, text: &str) -> Option<String> {
        self.mask(text)
    }

    fn result(&self, _: &str, _: Option<&Value>, shown: &mut ShownResult) {
        for_each_text(&mut shown.content, |text| self.mask(text));
        if let Some(message) = &mut shown.message
            && let Some(masked) = self.mask(message)
        {
            *message = masked;
        }
        if let Some(meta) = &mut shown.meta {
            self.mask_value(meta);
        }
    }
}

impl fmt::Debug for SecretShapes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own: Vec<&str> = self.own.iter().map(|(name, _)| &**name).collect();
        f.debug_struct("SecretShapes")
            .field("known", &self.known)
            .field("own", &own)
            .finish_non_exhaustive()
    }
}
