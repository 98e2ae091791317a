//! Hiding inherited tools from a scope.

use std::collections::BTreeSet;

use foldhash::{HashSet, HashSetExt as _};

use super::layer::Placed;
use super::reserved::is_reserved;

/// Known names are listed in errors up to this many.
const MAX_KNOWN: usize = 50;

/// Which of the tools that a scope inherits it may see.
///
/// An allow-list shuts out everything else, also what is registered later; a
/// deny-list lets everything else through. With both, a tool must pass both.
///
/// ```
/// use toolfall::Filter;
///
/// let readers = Filter::allow(["read_file", "grep"]);
/// let no_shell = Filter::deny(["bash"]);
/// let both = Filter::allow(["read_file", "bash"]).and_deny(["bash"]);
/// # let _ = (readers, no_shell, both);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    allow: Option<BTreeSet<String>>,
    deny: BTreeSet<String>,
}

impl Filter {
    /// Only these may be seen. An empty list hides everything inherited.
    pub fn allow<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self {
            allow: Some(names.into_iter().map(Into::into).collect()),
            deny: BTreeSet::new(),
        }
    }

    /// These may not be seen.
    pub fn deny<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self::default().and_deny(names)
    }

    /// These may not be seen either.
    pub fn and_deny<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.deny.extend(names.into_iter().map(Into::into));
        self
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let allow = self.allow.iter().flatten();
        allow.chain(&self.deny).map(String::as_str)
    }

    /// Compiles the filter if every name is that of an `inherited` tool.
    pub(super) fn compile(&self, inherited: &[&Placed]) -> Result<Mask, RestrictError> {
        if self.allow.is_none() && self.deny.is_empty() {
            return Err(RestrictError::NoOp);
        }
        if let Some(name) = self.names().find(|name| is_reserved(name)) {
            return Err(RestrictError::Reserved {
                name: name.to_owned(),
            });
        }
        let known: BTreeSet<&str> = inherited.iter().map(|tool| tool.name()).collect();
        let unknown: BTreeSet<&str> = self.names().filter(|name| !known.contains(name)).collect();
        if !unknown.is_empty() {
            return Err(RestrictError::Unknown {
                names: unknown.into_iter().map(str::to_owned).collect(),
                known: known.into_iter().map(str::to_owned).collect(),
            });
        }
        let list = |names| Listed::new(names, inherited);
        Ok(Mask {
            allow: self.allow.as_ref().map(list),
            deny: list(&self.deny),
        })
    }
}

/// The tools of a list of names.
///
/// Those that are there when the list is made are known by their place in the
/// order of registrations: comparing names costs several times as much where
/// the list is long.
struct Listed {
    places: HashSet<u64>,
    names: HashSet<Box<str>>,
}

impl Listed {
    fn new(listed: &BTreeSet<String>, inherited: &[&Placed]) -> Self {
        let mut names = HashSet::with_capacity(listed.len());
        names.extend(listed.iter().map(|name| Box::from(name.as_str())));
        let mut places = HashSet::with_capacity(listed.len());
        let inherited = inherited.iter().filter(|tool| names.contains(tool.name()));
        places.extend(inherited.map(|tool| tool.order));
        Self { places, names }
    }

    fn contains(&self, tool: &Placed, is_older: bool) -> bool {
        if is_older {
            self.places.contains(&tool.order)
        } else {
            self.names.contains(tool.name())
        }
    }
}

/// A filter that is in force.
pub(super) struct Mask {
    allow: Option<Listed>,
    deny: Listed,
}

impl Mask {
    /// Whether the mask, made at the place `order`, hides an inherited tool.
    /// One that was registered before was known when the mask was made.
    pub(super) fn hides(&self, tool: &Placed, order: u64) -> bool {
        let contains = |list: &Listed| list.contains(tool, tool.order < order);
        !self.allow.as_ref().is_none_or(contains) || contains(&self.deny)
    }
}

/// Why a scope cannot be restricted so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RestrictError {
    /// A filter that hides nothing now or ever.
    #[error("expected a filter with names to allow or to deny: an empty one is a no-op")]
    NoOp,
    /// Names that the scope does not inherit: a mistyped one would hide
    /// nothing, and the scope's own tools are exempt.
    #[error("unknown global tool{} {}; known global tools: {}",
        if names.len() == 1 { "" } else { "s" }, quoted(names), listed(known))]
    Unknown {
        /// The names.
        names: Vec<String>,
        /// The names that the scope does inherit, sorted.
        known: Vec<String>,
    },
    /// A name that is no tool's.
    #[error("a filter cannot name reserved Code Mode presentation transport \"{name}\"")]
    Reserved {
        /// The name.
        name: String,
    },
    /// The scope was disposed.
    #[error("scope {scope:?} was disposed and cannot be restricted any more")]
    Disposed {
        /// The scope's name.
        scope: String,
    },
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    names.join(", ")
}

fn listed(names: &[String]) -> String {
    match names.len() {
        0 => "(none)".to_owned(),
        count if count > MAX_KNOWN => {
            format!(
                "{} and {} more",
                names[..MAX_KNOWN].join(", "),
                count - MAX_KNOWN
            )
        }
        _ => names.join(", "),
    }
}
