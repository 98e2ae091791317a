//! An ordered list of listeners that come and go while calls run.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use toolfall_layers::{ApprovalRequest, CallView, PostRequest, Scope};

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

pub(crate) struct Entry<L: ?Sized> {
    id: u64,
    scope: Option<Scope>,
    pub(crate) listener: Arc<L>,
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
        let Some(wanted) = &self.scope else {
            return true;
        };
        call.scope()
            .is_some_and(|scope| scope.chain().any(|scope| scope == wanted))
    }
}

/// The list; whoever reads it takes a copy, so that it is fixed from then on.
pub(crate) struct Listeners<L: ?Sized>(Mutex<Inner<L>>);

struct Inner<L: ?Sized> {
    next: u64,
    list: Arc<[Entry<L>]>,
}

impl<L: ?Sized + Send + Sync + 'static> Listeners<L> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Inner {
            next: 0,
            list: Arc::new([]),
        })))
    }

    fn inner(&self) -> std::sync::MutexGuard<'_, Inner<L>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn len(&self) -> usize {
        self.inner().list.len()
    }

    /// The listeners as they are now, from the first on.
    pub(crate) fn heard(&self) -> Heard<L> {
        Heard {
            list: self.inner().list.clone(),
            place: 0,
        }
    }

    pub(crate) fn insert(
        self: &Arc<Self>,
        listener: Arc<L>,
        scope: Option<Scope>,
        outermost: bool,
    ) -> ListenerRegistration {
        let mut inner = self.inner();
        let id = inner.next;
        inner.next += 1;
        let entry = [Entry {
            id,
            scope,
            listener,
        }];
        let (first, second): (&[Entry<L>], &[Entry<L>]) = if outermost {
            (&entry, &inner.list)
        } else {
            (&inner.list, &entry)
        };
        let list = first.iter().chain(second).cloned().collect();
        // No user code is dropped here: the new list holds every old entry.
        inner.list = list;
        drop(inner);
        let list: Weak<Self> = Arc::downgrade(self);
        ListenerRegistration {
            list: Some(list),
            id,
        }
    }
}

/// What is left of a list for one call: it does not change any more.
pub(crate) struct Heard<L: ?Sized> {
    list: Arc<[Entry<L>]>,
    place: usize,
}

impl<L: ?Sized> Heard<L> {
    /// The next listener that hears `call`.
    pub(crate) fn next(&mut self, call: &CallView) -> Option<Arc<L>> {
        let rest = self.list.get(self.place..)?;
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
        // The old list ends after the lock: a listener's drop is user code.
        let _old = {
            let mut inner = self.inner();
            let list = inner.list.iter().filter(|entry| entry.id != id).cloned();
            let list = list.collect();
            std::mem::replace(&mut inner.list, list)
        };
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
    /// Leaves the listener registered for as long as the list lives.
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
