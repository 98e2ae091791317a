//! A scope while it is open.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::sync::{Mutex, PoisonError};

use toolfall_layers::policy::IntoAnswer;

use super::Host;
use crate::policy::{ListenerRegistration, Next};
use crate::registry::{
    Filter, PresentError, Presentation, RegisterError, Registration, RestrictError,
};
use crate::{
    CallView, Decision, Guard, GuardRegistration, Observer, PostDecision, PostRequest, Scope,
    ToolDef,
};

/// A scope that may register things for its calls and for those of scopes
/// nested in it; dropping it disposes the scope.
///
/// Every registration is a value whose drop takes exactly that one away;
/// `keep` leaves it until the scope is disposed. Nothing is in force after
/// that, see [`Host::dispose`].
pub struct OpenScope {
    host: Host,
    scope: Scope,
    held: Mutex<Vec<Box<dyn Any + Send>>>,
}

impl OpenScope {
    pub(super) const fn new(host: Host, scope: Scope) -> Self {
        Self {
            host,
            scope,
            held: Mutex::new(Vec::new()),
        }
    }

    /// The handle that calls are made with, see
    /// [`CallRequest::with_scope`](crate::CallRequest::with_scope).
    pub const fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The host that the scope belongs to.
    pub const fn host(&self) -> &Host {
        &self.host
    }

    /// Opens a scope inside this one. Disposing this one disposes it too, so
    /// keep both: in `host.open("a").open("b")` the outer one is gone, and the
    /// inner one with it, at the end of the statement.
    pub fn open(&self, name: impl Into<Box<str>>) -> Self {
        Self::new(self.host.clone(), self.scope.nested(name))
    }

    /// Adds a tool, see [`Registry::register_in`](crate::Registry::register_in).
    ///
    /// # Errors
    ///
    /// [`RegisterError`], and nothing changes.
    pub fn register(&self, tool: ToolDef) -> Result<Registration, RegisterError> {
        self.host.registry.register_in(&self.scope, tool)
    }

    /// Hides inherited tools, see [`Registry::restrict`](crate::Registry::restrict).
    ///
    /// # Errors
    ///
    /// [`RestrictError`], and nothing changes.
    pub fn restrict(&self, filter: &Filter) -> Result<Registration, RestrictError> {
        self.host.registry.restrict(&self.scope, filter)
    }

    /// Says how the tools are presented to the models of this scope, see
    /// [`Registry::present`](crate::Registry::present).
    ///
    /// # Errors
    ///
    /// [`PresentError`], and nothing changes.
    pub fn present(&self, presentation: Presentation) -> Result<Registration, PresentError> {
        self.host.registry.present(&self.scope, presentation)
    }

    /// Adds a guard, evaluated after those of the host and of the scopes that
    /// this one is nested in.
    pub fn guard<G>(&self, guard: G) -> GuardRegistration
    where
        G: Guard + Send + Sync + 'static,
    {
        self.host.guards.register_in(&self.scope, guard)
    }

    /// Adds a pre-decision listener inside those added before.
    pub fn pre_decision<F, Fut, R>(&self, listener: F) -> ListenerRegistration
    where
        F: Fn(CallView, Next<CallView, Decision>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoAnswer<Decision> + 'static,
    {
        self.host.pre.register_in(&self.scope, listener)
    }

    /// Adds a post-execute listener inside those added before.
    pub fn post_execute<F, Fut, R>(&self, listener: F) -> ListenerRegistration
    where
        F: Fn(PostRequest, Next<PostRequest, PostDecision>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoAnswer<PostDecision> + 'static,
    {
        self.host.post.register_in(&self.scope, listener)
    }

    /// Adds an observer, told after those added before.
    pub fn observer(&self, observer: impl Observer + 'static) -> ListenerRegistration {
        self.host.observers.register_in(&self.scope, observer)
    }

    /// Holds something until the scope is disposed: a registration made
    /// elsewhere, of an answerer for instance. What was held last is dropped
    /// first, after everything that the scope registered is gone.
    pub fn hold(&self, held: impl Any + Send) {
        self.held
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Box::new(held));
    }
}

impl Drop for OpenScope {
    fn drop(&mut self) {
        self.host.dispose(&self.scope);
        let held = self.held.get_mut().unwrap_or_else(PoisonError::into_inner);
        while let Some(last) = held.pop() {
            drop(last);
        }
    }
}

impl fmt::Debug for OpenScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenScope")
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}
