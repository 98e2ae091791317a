//! Observers that come and go while calls run.

use std::fmt;
use std::sync::Arc;

use toolfall_layers::result_notify::notify_each;

use crate::policy::{ListenerRegistration, Listeners};
use crate::{BoxError, CallView, Observer, Scope, ToolResult};

/// A live list of observers, told in the order of registration.
///
/// The list is fixed when a result is told. Observers that fail or panic are
/// logged. Clones share the list.
#[derive(Clone)]
pub struct Observers(Arc<Listeners<dyn Observer>>);

impl Default for Observers {
    fn default() -> Self {
        Self::new()
    }
}

impl Observers {
    /// An empty list.
    pub fn new() -> Self {
        Self(Listeners::new())
    }

    /// Adds an observer of every result; closures take `(&CallView,
    /// &ToolResult)`.
    pub fn register(&self, observer: impl Observer + 'static) -> ListenerRegistration {
        self.0.insert(Arc::new(observer), None, false)
    }

    /// Adds an observer of the results of `scope` and of scopes nested in it,
    /// and of nobody else's.
    pub fn register_in(
        &self,
        scope: &Scope,
        observer: impl Observer + 'static,
    ) -> ListenerRegistration {
        self.0.insert(Arc::new(observer), Some(scope), false)
    }

    /// Takes away the observers of `scope` and of what is nested in it.
    pub fn dispose(&self, scope: &Scope) {
        self.0.dispose(scope);
    }

    /// How many observers are registered.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no observer is registered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Observer for Observers {
    fn notify(&self, call: &CallView, result: &ToolResult) -> Result<(), BoxError> {
        let mut heard = self.0.heard();
        while let Some(observer) = heard.next(call) {
            notify_each([&observer], call, result);
        }
        Ok(())
    }
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observers")
            .field("len", &self.len())
            .finish()
    }
}
