//! An ordered list of listeners that come and go while calls run.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use arc_swap::{ArcSwap, Guard};
use toolfall_layers::{ApprovalRequest, CallView, PostRequest, Scope, ScopeId, WeakScope};

/// What a listener is asked about: always one call.
///
/// ```
/// use toolfall::policy::Subject;
/// use toolfall::{CallView, PostRequest};
///
/// fn agent<S: Subject>(subject: &S) -> &str {
///     subject.call().scope().map_or("nobody", |scope| scope.name())
/// }
/// let of_call: fn(&CallView) -> &str = agent;
/// let of_outcome: fn(&PostRequest) -> &str = agent;
/// # let _ = (of_call, of_outcome);
/// ```
pub trait Subject {
    /// The call.
    fn call(&self) -> &CallView;
}

impl Subject for CallView {
    fn call(&self) -> &CallView {
        self
    }
}

impl Subject for PostRequest {
    fn call(&self) -> &CallView {
        Self::call(self)
    }
}

impl Subject for ApprovalRequest {
    fn call(&self) -> &CallView {
        Self::call(self)
    }
}

struct Entry<L: ?Sized> {
    id: u64,
    scope: Option<(ScopeId, WeakScope)>,
    listener: Arc<L>,
}

impl<L: ?Sized> Clone for Entry<L> {
    fn clone(&self) -> Self {
        Self {
            id: self.id,
            scope: self.scope.clone(),
            listener: self.listener.clone(),
        }
    }
}

impl<L: ?Sized> Entry<L> {
    fn hears(&self, call: &CallView) -> bool {
        let Some((wanted, _)) = &self.scope else {
            return true;
        };
        call.scope()
            .is_some_and(|scope| scope.chain().any(|scope| scope.id() == *wanted))
    }

    /// No call can come from a scope that nobody holds.
    fn is_heard_no_more(&self) -> bool {
        self.scope
            .as_ref()
            .is_some_and(|(_, scope)| scope.is_gone())
    }

    fn is_within(&self, wanted: &Scope) -> bool {
        let scope = self.scope.as_ref().and_then(|(_, scope)| scope.upgrade());
        scope.is_some_and(|scope| scope.is_within(wanted))
    }
}

/// The list; whoever reads it keeps what he read, so that it is fixed from
/// then on. Reading takes no lock.
pub(crate) struct Listeners<L: ?Sized> {
    list: ArcSwap<Vec<Entry<L>>>,
    next: Mutex<u64>,
}

impl<L: ?Sized + Send + Sync + 'static> Listeners<L> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            list: ArcSwap::default(),
            next: Mutex::new(0),
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.list.load().len()
    }

    /// The listeners as they are now, from the first on.
    pub(crate) fn heard(&self) -> Heard<L> {
        // A call that nobody listens to does not count as a reader.
        let list = self.list.load();
        Heard {
            list: (!list.is_empty()).then(|| Guard::into_inner(list)),
            place: 0,
        }
    }

    /// Replaces the list. The old one ends after the lock: a listener's drop
    /// is user code.
    fn change(&self, change: impl FnOnce(&mut Vec<Entry<L>>, &mut u64)) {
        let _old = {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            let mut list = Vec::clone(&self.list.load());
            change(&mut list, &mut next);
            self.list.swap(Arc::new(list))
        };
    }

    pub(crate) fn insert(
        self: &Arc<Self>,
        listener: Arc<L>,
        scope: Option<&Scope>,
        outermost: bool,
    ) -> ListenerRegistration {
        let mut id = 0;
        self.change(|list, next| {
            list.retain(|entry| !entry.is_heard_no_more());
            id = *next;
            *next += 1;
            let place = if outermost { 0 } else { list.len() };
            let scope = scope.map(|scope| (scope.id(), scope.downgrade()));
            list.insert(
                place,
                Entry {
                    id,
                    scope,
                    listener,
                },
            );
        });
        let list: Weak<Self> = Arc::downgrade(self);
        ListenerRegistration {
            list: Some(list),
            id,
        }
    }

    /// Takes away the listeners of `scope` and of what is nested in it.
    pub(crate) fn dispose(&self, scope: &Scope) {
        if self.list.load().iter().any(|entry| entry.is_within(scope)) {
            self.change(|list, _| list.retain(|entry| !entry.is_within(scope)));
        }
    }
}

/// What is left of a list for one call: it does not change any more.
pub(crate) struct Heard<L: ?Sized> {
    list: Option<Arc<Vec<Entry<L>>>>,
    place: usize,
}

impl<L: ?Sized> Heard<L> {
    /// The next listener that hears `call`.
    pub(crate) fn next(&mut self, call: &CallView) -> Option<Arc<L>> {
        let rest = self.list.as_ref()?.get(self.place..)?;
        let step = rest.iter().position(|entry| entry.hears(call))?;
        self.place += step + 1;
        Some(rest[step].listener.clone())
    }
}

trait Remove: Send + Sync {
    fn remove(&self, id: u64);
}

impl<L: ?Sized + Send + Sync + 'static> Remove for Listeners<L> {
    fn remove(&self, id: u64) {
        self.change(|list, _| list.retain(|entry| entry.id != id));
    }
}

/// Keeps a listener registered; dropping it takes exactly that one away.
///
/// A stage that is running keeps the list that it started with. Dropping is
/// allowed anywhere, also inside a listener.
#[must_use = "dropping the registration takes the listener away"]
pub struct ListenerRegistration {
    list: Option<Weak<dyn Remove>>,
    id: u64,
}

impl ListenerRegistration {
    /// Leaves the listener registered for as long as the list lives, or its
    /// scope.
    pub fn keep(mut self) {
        self.list = None;
    }
}

impl Drop for ListenerRegistration {
    fn drop(&mut self) {
        if let Some(list) = self.list.take().and_then(|list| list.upgrade()) {
            list.remove(self.id);
        }
    }
}

impl fmt::Debug for ListenerRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListenerRegistration")
            .finish_non_exhaustive()
    }
}
