//! One session, while it lasts.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rmcp::RoleServer;
use rmcp::model::RequestId;
use rmcp::service::RequestContext;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::Session;
use super::shared::Shared;
use crate::Scope;

/// Beside calls, so many requests may be unanswered at once.
const OTHERS: usize = 64;

/// What the transport and the handler of a session both know.
pub(super) struct State {
    number: u64,
    calls: AtomicU64,
    /// Requests that were read and are not answered yet.
    unanswered: Mutex<HashMap<RequestId, Unanswered>>,
    limit: usize,
    /// Told whenever a request is answered.
    pub(super) settled: Notify,
    /// For calls that run, also those that were cancelled and still end.
    running: Arc<Semaphore>,
    /// Whose cancellation ends the session, without waiting for anything.
    pub(super) token: CancellationToken,
    /// Whose cancellation has the session end politely.
    pub(super) stop: CancellationToken,
    life: Life,
    /// Whether somebody tells the client of changes.
    watched: AtomicBool,
    chosen: OnceLock<Option<(Session, Scope)>>,
    /// Streams over HTTP that somebody reads.
    pub(super) readers: AtomicUsize,
}

struct Unanswered {
    is_call: bool,
    is_cancelled: bool,
}

/// A call whose handler runs.
pub(super) struct Answering {
    state: Arc<State>,
    id: RequestId,
}

impl Drop for Answering {
    fn drop(&mut self) {
        let is_over = {
            let unanswered = self.state.unanswered();
            unanswered.get(&self.id).is_some_and(|it| it.is_cancelled)
        };
        if is_over {
            self.state.answered(&self.id);
        }
    }
}

/// Why a request is not taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Refused {
    /// One with that id is not answered yet.
    Repeated,
    /// There are too many.
    TooMany,
}

impl State {
    pub(super) fn new(shared: &Shared, life: &Life) -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Arc::new(Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            calls: AtomicU64::new(1),
            unanswered: Mutex::default(),
            limit: shared.limits.calls,
            settled: Notify::new(),
            running: Arc::new(Semaphore::new(
                shared.limits.calls.min(Semaphore::MAX_PERMITS),
            )),
            token: life.end.child_token(),
            stop: life.stop.child_token(),
            life: life.clone(),
            watched: AtomicBool::new(false),
            chosen: OnceLock::new(),
            readers: AtomicUsize::new(0),
        })
    }

    fn unanswered(&self) -> MutexGuard<'_, HashMap<RequestId, Unanswered>> {
        self.unanswered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a request, to be answered once.
    pub(super) fn begin(&self, id: &RequestId, is_call: bool) -> Result<(), Refused> {
        let mut unanswered = self.unanswered();
        if unanswered.contains_key(id) {
            return Err(Refused::Repeated);
        }
        let same = unanswered
            .values()
            .filter(|it| it.is_call == is_call)
            .count();
        if same >= if is_call { self.limit } else { OTHERS } {
            return Err(Refused::TooMany);
        }
        let new = Unanswered {
            is_call,
            is_cancelled: false,
        };
        unanswered.insert(id.clone(), new);
        Ok(())
    }

    /// Notes that a request has its answer.
    pub(super) fn answered(&self, id: &RequestId) {
        self.unanswered().remove(id);
        self.settled.notify_waiters();
    }

    /// Notes that a request will have no answer. A call keeps its id until it
    /// [has ended](Self::call): what it still comes to must not be taken for
    /// the answer to another one.
    pub(super) fn cancelled(&self, id: &RequestId) {
        {
            let mut unanswered = self.unanswered();
            match unanswered.get_mut(id) {
                Some(call) if call.is_call => call.is_cancelled = true,
                _ => {
                    unanswered.remove(id);
                }
            }
        }
        self.settled.notify_waiters();
    }

    /// A call that is being answered, until what is returned is dropped.
    pub(super) fn call(self: &Arc<Self>, id: RequestId) -> Answering {
        Answering {
            state: self.clone(),
            id,
        }
    }

    pub(super) fn is_settled(&self) -> bool {
        self.unanswered().is_empty()
    }

    pub(super) fn is_unanswered(&self, id: &RequestId) -> bool {
        self.unanswered().contains_key(id)
    }

    /// Waits until every request has its answer.
    pub(super) async fn wait_settled(&self) {
        loop {
            let settled = self.settled.notified();
            tokio::pin!(settled);
            settled.as_mut().enable();
            if self.is_settled() {
                return;
            }
            settled.await;
        }
    }

    /// Room for one more call.
    pub(super) fn permit(&self) -> Option<OwnedSemaphorePermit> {
        self.running.clone().try_acquire_owned().ok()
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// What calls end with: the session, if the state is one's; a call of a
    /// single request may go on until its client comes back.
    pub(super) fn token_for_calls(&self, is_session: bool) -> CancellationToken {
        if is_session {
            self.token.clone()
        } else {
            self.life.end.clone()
        }
    }

    /// What has calls that wait for their client give up.
    pub(super) fn stop_for_calls(&self, is_session: bool) -> CancellationToken {
        if is_session {
            self.stop.clone()
        } else {
            self.life.stop.clone()
        }
    }

    /// Whether nobody told the client of changes so far.
    pub(super) fn watch_once(&self) -> bool {
        !self.watched.swap(true, Ordering::AcqRel)
    }

    /// An id for the next call, like no other in the process.
    pub(super) fn next_call(&self) -> String {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        format!("mcp-{}-{call}", self.number)
    }

    /// The scope of the session's calls, chosen when the first request needs
    /// it; none if the choice panicked.
    pub(super) fn scope(
        &self,
        shared: &Shared,
        context: &RequestContext<RoleServer>,
    ) -> Option<Scope> {
        let chosen = self.chosen.get_or_init(|| {
            let session = self.describe(context);
            let name = session.id().to_owned();
            let scope = match &shared.scope {
                None => Scope::new(name),
                Some(choose) => match toolfall_layers::panic::catch(|| choose(&session)) {
                    Ok(scope) => scope.nested(name),
                    Err(panic) => {
                        tracing::error!("choosing the scope of {session:?} panicked: {panic}");
                        return None;
                    }
                },
            };
            Some((session, scope))
        });
        chosen.as_ref().map(|(_, scope)| scope.clone())
    }

    /// The scope, if it was chosen already.
    pub(super) fn known_scope(&self) -> Option<Scope> {
        let (_, scope) = self.chosen.get()?.as_ref()?;
        Some(scope.clone())
    }

    fn describe(&self, context: &RequestContext<RoleServer>) -> Session {
        let client = context.client_info().map(|it| (it.name, it.version));
        let protocol = context.protocol_version().map(|it| it.as_str().to_owned());
        let parts = context.extensions.get::<http::request::Parts>();
        Session::new(
            format!("mcp session {}", self.number),
            client,
            protocol,
            parts.map(|parts| parts.headers.clone()),
        )
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.token.cancel();
    }
}

/// When what came in one way ends: a pipe, or a router.
#[derive(Clone)]
pub(super) struct Life {
    /// Politely.
    pub(super) stop: CancellationToken,
    /// At once.
    pub(super) end: CancellationToken,
}

/// Rides in the extensions of every request that came through a transport.
#[derive(Clone)]
pub(super) struct Within(pub(super) Arc<State>);
