//! State of policies that ends with the scope it belongs to.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolfall_layers::{Scope, WeakScope};

/// One `T` for each scope that was seen and still lives.
///
/// The handles are weak, and a weak handle keeps its scope's identity from
/// being used again, so nobody ever inherits another's state. What belongs to
/// scopes that are gone is freed when the next new scope is seen.
pub(crate) struct PerScope<T>(Mutex<HashMap<WeakScope, Arc<T>>>);

impl<T: Default> Default for PerScope<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Default> PerScope<T> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(HashMap::new()))
    }

    fn map(&self) -> MutexGuard<'_, HashMap<WeakScope, Arc<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state of `scope`, made now if there is none.
    pub(crate) fn of(&self, scope: &Scope) -> Arc<T> {
        let key = scope.downgrade();
        let mut map = self.map();
        if let Some(state) = map.get(&key) {
            return state.clone();
        }
        map.retain(|scope, _| !scope.is_gone());
        map.entry(key).or_default().clone()
    }

    /// The state of `scope`, if there is any.
    pub(crate) fn get(&self, scope: &Scope) -> Option<Arc<T>> {
        self.map().get(&scope.downgrade()).cloned()
    }

    /// Forgets the state of `scope`.
    pub(crate) fn forget(&self, scope: &Scope) {
        self.map().remove(&scope.downgrade());
    }

    /// How many scopes that live have state; the rest is freed.
    pub(crate) fn live(&self) -> usize {
        let mut map = self.map();
        map.retain(|scope, _| !scope.is_gone());
        map.len()
    }
}
