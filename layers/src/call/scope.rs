//! On whose behalf a call is made.

use std::fmt;
use std::sync::Arc;

/// A handle on the agent, preset or host that makes a call.
///
/// Handles compare by identity, not by name: a new scope under an old name is
/// another scope. A call without a scope has no agent.
///
/// ```
/// use toolfall_layers::Scope;
///
/// let host = Scope::new("host");
/// let agent = host.nested("reviewer");
/// let names: Vec<&str> = agent.chain().map(Scope::name).collect();
/// assert_eq!(names, ["reviewer", "host"]);
/// assert_ne!(host, Scope::new("host"));
/// ```
#[derive(Clone)]
pub struct Scope(Arc<Inner>);

struct Inner {
    name: Box<str>,
    parent: Option<Scope>,
}

impl Scope {
    /// A scope with nothing above it.
    pub fn new(name: impl Into<Box<str>>) -> Self {
        Self(Arc::new(Inner {
            name: name.into(),
            parent: None,
        }))
    }

    /// A scope nested in this one.
    pub fn nested(&self, name: impl Into<Box<str>>) -> Self {
        Self(Arc::new(Inner {
            name: name.into(),
            parent: Some(self.clone()),
        }))
    }

    /// The name, for people and spans.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The scope that this one is nested in.
    pub fn parent(&self) -> Option<&Self> {
        self.0.parent.as_ref()
    }

    /// This scope, then its ancestors, nearest first.
    pub fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |scope| scope.parent())
    }
}

impl PartialEq for Scope {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Scope {}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Scope").field(&self.name()).finish()
    }
}
