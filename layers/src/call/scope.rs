//! On whose behalf a call is made.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

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
    id: ScopeId,
    name: Box<str>,
    parent: Option<Scope>,
}

/// What a scope is known by in tables. Never used again in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScopeId(NonZeroU64);

impl ScopeId {
    fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(NonZeroU64::new(id).unwrap_or(NonZeroU64::MAX))
    }
}

impl Scope {
    /// A scope with nothing above it.
    pub fn new(name: impl Into<Box<str>>) -> Self {
        Self::under(None, name.into())
    }

    /// A scope nested in this one. What a scope is nested in is settled here
    /// and never changes, so no chain of scopes has a cycle.
    pub fn nested(&self, name: impl Into<Box<str>>) -> Self {
        Self::under(Some(self.clone()), name.into())
    }

    fn under(parent: Option<Self>, name: Box<str>) -> Self {
        let id = ScopeId::next();
        Self(Arc::new(Inner { id, name, parent }))
    }

    /// What the scope is known by in tables.
    pub fn id(&self) -> ScopeId {
        self.0.id
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

    /// Whether this is `other` or nested in it.
    pub fn is_within(&self, other: &Self) -> bool {
        self.chain().any(|scope| scope == other)
    }

    /// A handle that does not keep the scope alive: for state that must end
    /// with the agent it belongs to.
    pub fn downgrade(&self) -> WeakScope {
        WeakScope(Arc::downgrade(&self.0))
    }
}

impl Drop for Inner {
    /// Chains may be long, and drops nest no deeper than the stack allows.
    fn drop(&mut self) {
        let mut above = self.parent.take();
        while let Some(Scope(scope)) = above {
            above = Arc::into_inner(scope).and_then(|mut inner| inner.parent.take());
        }
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

/// A handle on a scope that does not keep it alive.
///
/// Handles compare by identity, also after the scope is gone: the identity of
/// a scope is not used again while a weak handle on it exists.
///
/// ```
/// use toolfall_layers::Scope;
///
/// let agent = Scope::new("reviewer");
/// let weak = agent.downgrade();
/// assert_eq!(weak.upgrade().as_ref(), Some(&agent));
///
/// drop(agent);
/// assert!(weak.upgrade().is_none());
/// assert_ne!(weak, Scope::new("reviewer").downgrade());
/// ```
#[derive(Clone)]
pub struct WeakScope(Weak<Inner>);

impl WeakScope {
    /// The scope, if somebody still holds it.
    pub fn upgrade(&self) -> Option<Scope> {
        self.0.upgrade().map(Scope)
    }

    /// Whether nobody holds the scope any more.
    pub fn is_gone(&self) -> bool {
        self.0.strong_count() == 0
    }
}

impl PartialEq for WeakScope {
    fn eq(&self, other: &Self) -> bool {
        Weak::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for WeakScope {}

impl Hash for WeakScope {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.as_ptr().hash(state);
    }
}

impl fmt::Debug for WeakScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.upgrade() {
            Some(scope) => f.debug_tuple("WeakScope").field(&scope.name()).finish(),
            None => f.write_str("WeakScope(gone)"),
        }
    }
}
