//! Guards that come and go while calls run.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use arc_swap::ArcSwap;

use super::tables::{Entry, Tables};
use super::{Denial, Guard};
use crate::call::{CallView, Scope, ScopeId};
use crate::error::BoxError;

/// A live list of guards, for everybody or for one scope and what is nested
/// in it.
///
/// Those for everybody are evaluated first, then those of the farthest
/// ancestor of the calling scope, and so on to the scope itself; within one
/// scope in the order of registration. The first reason wins.
///
/// A guard that is registered while another one runs takes part in that very
/// call, unless the guards of its scope had all been lifted in between: then
/// it belongs to the next. No lock is taken to read the list, and none is
/// held while a guard runs, so a guard may change the list.
///
/// ```
/// use toolfall_layers::{CallView, Denial, GuardList, Scope};
///
/// let guards = GuardList::new();
/// let read_only = guards.register(|call: &CallView| {
///     (call.name() == "write").then(|| Denial::new("read only"))
/// });
/// let agent = Scope::new("reviewer");
/// let _no_network = guards.register_in(&agent, |call: &CallView| {
///     (call.name() == "fetch").then(|| Denial::new("the reviewer works offline"))
/// });
/// assert_eq!(guards.len(), 2);
///
/// drop(read_only);
/// guards.dispose(&agent);
/// assert_eq!(guards.len(), 0);
/// ```
#[derive(Clone, Default)]
pub struct GuardList(Arc<Inner>);

#[derive(Default)]
struct Inner {
    tables: ArcSwap<Tables>,
    /// Held while new tables are made, never while a guard runs.
    writing: Mutex<()>,
}

impl Inner {
    fn change<R>(&self, change: impl FnOnce(&mut Tables) -> R) -> R {
        let (replaced, answer) = {
            let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
            let mut tables = Tables::clone(&self.tables.load());
            let answer = change(&mut tables);
            (self.tables.swap(Arc::new(tables)), answer)
        };
        // Guards end outside the lock: their drop is user code.
        drop(replaced);
        answer
    }
}

impl GuardList {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a guard for every call; it stays until the registration is
    /// dropped.
    pub fn register<G>(&self, guard: G) -> GuardRegistration
    where
        G: Guard + Send + Sync + 'static,
    {
        self.insert(None, Arc::new(guard))
    }

    /// Adds a guard for the calls from `scope` and from scopes nested in it,
    /// and nobody else's; it stays until the registration is dropped or the
    /// scope is gone.
    pub fn register_in<G>(&self, scope: &Scope, guard: G) -> GuardRegistration
    where
        G: Guard + Send + Sync + 'static,
    {
        self.insert(Some(scope), Arc::new(guard))
    }

    fn insert(&self, scope: Option<&Scope>, guard: Entry) -> GuardRegistration {
        let id = self.0.change(|tables| tables.insert(scope, guard));
        GuardRegistration {
            list: Arc::downgrade(&self.0),
            scope: scope.map(Scope::id),
            id,
        }
    }

    /// Lifts every guard of `scope` and of the scopes nested in it.
    pub fn dispose(&self, scope: &Scope) {
        if !self.0.tables.load().is_plain() {
            self.0.change(|tables| tables.dispose(scope));
        }
    }

    /// How many guards are registered.
    pub fn len(&self) -> usize {
        self.0.tables.load().len()
    }

    /// Whether no guard is registered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Evaluates the guards of one scope, or those for everybody.
    fn check_in(
        &self,
        scope: Option<ScopeId>,
        call: &CallView,
    ) -> Result<Option<Denial>, BoxError> {
        let mut from = 0;
        let mut born = None;
        loop {
            let next = {
                let tables = self.0.tables.load();
                let Some(table) = tables.table(scope) else {
                    return Ok(None);
                };
                if *born.get_or_insert(table.born()) != table.born() {
                    return Ok(None);
                }
                table.from(from)
            };
            let Some((id, guard)) = next else {
                return Ok(None);
            };
            if let Some(denial) = guard.check(call)? {
                return Ok(Some(denial));
            }
            from = id + 1;
        }
    }
}

impl Guard for GuardList {
    fn check(&self, call: &CallView) -> Result<Option<Denial>, BoxError> {
        if let Some(denial) = self.check_in(None, call)? {
            return Ok(Some(denial));
        }
        let Some(scope) = call.scope() else {
            return Ok(None);
        };
        if self.0.tables.load().is_plain() {
            return Ok(None);
        }
        let chain: Vec<ScopeId> = scope.chain().map(Scope::id).collect();
        for scope in chain.into_iter().rev() {
            if let Some(denial) = self.check_in(Some(scope), call)? {
                return Ok(Some(denial));
            }
        }
        Ok(None)
    }
}

impl fmt::Debug for GuardList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardList")
            .field("len", &self.len())
            .finish()
    }
}

/// Keeps a guard registered; dropping it lifts exactly that guard.
#[must_use = "dropping the registration lifts the guard"]
pub struct GuardRegistration {
    list: Weak<Inner>,
    scope: Option<ScopeId>,
    id: u64,
}

impl GuardRegistration {
    /// Leaves the guard registered for as long as the list lives, or its
    /// scope.
    pub fn keep(mut self) {
        self.list = Weak::new();
    }
}

impl Drop for GuardRegistration {
    fn drop(&mut self) {
        if let Some(list) = self.list.upgrade() {
            list.change(|tables| tables.remove(self.scope, self.id));
        }
    }
}

impl fmt::Debug for GuardRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardRegistration").finish_non_exhaustive()
    }
}
