//! Grants for the life of the process.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Grant, GrantError, GrantStore};
use crate::{Arguments, BoxError, CallView};

/// How many grants a store keeps unless told otherwise.
const LIMIT: usize = 1000;

/// A [`GrantStore`] in memory: what it keeps stands until it is used up, its
/// time is over, its scope is gone or it is revoked. Of several grants that
/// cover a call the one added first is used.
///
/// Clones share the grants. What has ended is freed when the store is next
/// asked, added to or listed.
///
/// ```
/// use toolfall::policy::grants::{Grant, MemoryGrants};
///
/// let store = MemoryGrants::new();
/// store.add(Grant::tool("reading is fine", "read_file")).unwrap();
/// let twice = store.add(Grant::tool("reading is fine", "list_dir")).unwrap_err();
/// assert_eq!(
///     twice.to_string(),
///     "expected a name that no standing grant has, found \"reading is fine\"",
/// );
/// assert!(store.revoke("reading is fine"));
/// assert!(!store.revoke("reading is fine"));
/// ```
#[derive(Clone)]
pub struct MemoryGrants(Arc<Inner>);

struct Inner {
    limit: usize,
    standing: Mutex<Vec<Standing>>,
}

struct Standing {
    grant: Grant,
    /// What is left of its uses; `None` is without limit.
    left: Option<NonZeroU32>,
}

impl MemoryGrants {
    /// An empty store that keeps at most 1000 standing grants.
    pub fn new() -> Self {
        Self::with_limit(LIMIT)
    }

    /// An empty store that keeps at most `limit` standing grants.
    pub fn with_limit(limit: usize) -> Self {
        Self(Arc::new(Inner {
            limit,
            standing: Mutex::default(),
        }))
    }

    /// The grants that stand; those that have ended go.
    fn standing(&self) -> MutexGuard<'_, Vec<Standing>> {
        let standing = self.0.standing.lock();
        let mut standing = standing.unwrap_or_else(PoisonError::into_inner);
        standing.retain(|standing| !standing.grant.is_over());
        standing
    }

    /// Lets `grant` stand.
    ///
    /// # Errors
    ///
    /// [`GrantError`] if it has no name, or one that a standing grant has, or
    /// if there are as many as there may be.
    pub fn add(&self, grant: Grant) -> Result<(), GrantError> {
        if grant.name().trim().is_empty() {
            return Err(GrantError::NoName);
        }
        let limit = self.0.limit;
        let mut standing = self.standing();
        if standing.iter().any(|s| s.grant.name() == grant.name()) {
            let name = grant.name().to_owned();
            return Err(GrantError::NameTaken { name });
        }
        if standing.len() >= limit {
            return Err(GrantError::Full { limit });
        }
        let left = grant.allowed_uses();
        standing.push(Standing { grant, left });
        Ok(())
    }

    /// Takes the grant `name` back; `false` if none of that name stands. Once
    /// this has returned the grant is never used again. Calls that it allowed
    /// before go on.
    pub fn revoke(&self, name: &str) -> bool {
        let mut standing = self.standing();
        let before = standing.len();
        standing.retain(|standing| standing.grant.name() != name);
        standing.len() < before
    }

    /// The names of the grants that stand, oldest first.
    pub fn names(&self) -> Vec<String> {
        let standing = self.standing();
        let names = standing.iter().map(|s| s.grant.name().to_owned());
        names.collect()
    }

    /// How many uses the grant `name` has left: `None` if it does not stand,
    /// `Some(None)` if it is without limit.
    pub fn uses_left(&self, name: &str) -> Option<Option<NonZeroU32>> {
        let standing = self.standing();
        let found = standing.iter().find(|s| s.grant.name() == name)?;
        Some(found.left)
    }
}

impl GrantStore for MemoryGrants {
    fn spend(&self, call: &CallView) -> Result<Option<String>, BoxError> {
        // The slow parts of matching, which the call remembers, before the lock.
        if let Some(arguments) = call.arguments() {
            let _ = (Arguments::digest(arguments), Arguments::value(arguments));
        }
        let mut standing = self.standing();
        let Some(place) = standing.iter().position(|s| s.grant.covers(call)) else {
            return Ok(None);
        };
        let found = &mut standing[place];
        let name = found.grant.name().to_owned();
        if let Some(left) = found.left {
            found.left = NonZeroU32::new(left.get() - 1);
            if found.left.is_none() {
                standing.remove(place);
            }
        }
        Ok(Some(name))
    }
}

impl Default for MemoryGrants {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryGrants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryGrants")
            .field("limit", &self.0.limit)
            .finish_non_exhaustive()
    }
}
