//! Keeps one server connected, and its tools those that it lists.
//!
//! One task owns everything; what it waits for, it waits for beside the
//! disposal. So no two connections, listings or changes of the registry ever
//! overlap, and whatever comes late comes to nobody.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep, timeout};
use toolfall_layers::Scope;

use super::connector::{ConnectError, Connector, Gone, Wire};
use super::error::StartError;
use super::events::{EventKind, Reporter, in_full};
use super::generation::{Generation, Listing};
use super::server_config::McpServer;
use super::session::{Endpoint, Session, SessionEvent, SessionOptions};
use super::source::{ServerState, Shared};
use crate::policy::Contained;
use crate::registry::Claim;
use crate::{RegisterError, Registry};

/// So long the end of a server is waited for.
const END: Duration = Duration::from_secs(5);
/// So long a listing that was asked for by the server waits after the last
/// one: a server that answers each listing with a notice is not asked on and on.
const PAUSE: Duration = Duration::from_millis(50);

type First = oneshot::Sender<Result<(), StartError>>;

pub(super) struct Supervisor {
    server: McpServer,
    shared: Arc<Shared>,
    reporter: Reporter,
    generation: Generation,
    /// Keeps the server's name.
    claim: Option<Claim>,
    /// What of the last attempt is not known to be gone.
    left: Left,
    /// Whether that was waited for in vain.
    overdue: bool,
    connections: u64,
}

/// What is left of an attempt to connect.
enum Left {
    Nothing,
    /// A connection was being made; what it made is there, if it did.
    Opening(Arc<Mutex<Option<Gone>>>),
    /// There is no connection, but maybe a peer.
    Peer(Option<BoxFuture<'static, ()>>),
    Session(Session),
}

/// A connection with listed tools.
struct Up {
    session: Session,
    /// Holds one notice at most: many of them are one.
    changed: Arc<Notify>,
}

impl Supervisor {
    pub(super) fn new(
        server: McpServer,
        registry: Registry,
        scope: Option<Scope>,
        shared: Arc<Shared>,
        claim: Claim,
    ) -> Self {
        Self {
            reporter: Reporter::new(server.name.clone(), &server.listeners),
            generation: Generation::new(registry, scope),
            server,
            shared,
            claim: Some(claim),
            left: Left::Nothing,
            overdue: false,
            connections: 0,
        }
    }

    /// Runs until the server is disposed. `first` hears what became of the
    /// first attempt; if it hears of an error, nothing is left of the server.
    pub(super) async fn supervise(mut self, first: First) {
        let mut first = Some(first);
        let disposal = self.shared.disposal.clone();
        let refused = tokio::select! {
            biased;
            () = disposal.cancelled() => None,
            refused = self.run(&mut first) => refused,
        };
        self.shared.set_session(None);
        self.remove_tools();
        if !self.settle().await {
            self.tell(EventKind::ShutdownIncomplete);
        }
        self.tell(EventKind::Disposed);
        drop(self);
        if let (Some(first), Some(error)) = (first, refused) {
            let _ = first.send(Err(error));
        }
    }

    /// Connects again and again. Comes back with an error if the first
    /// attempt decides, and without one when the server is to be disposed.
    async fn run(&mut self, first: &mut Option<First>) -> Option<StartError> {
        let policy = self.server.reconnect;
        let mut used = 0;
        loop {
            self.shared.set_state(ServerState::Connecting);
            let was_connected = match self.attempt().await {
                Ok(up) => {
                    let since = Instant::now();
                    self.tell_up(first.is_some());
                    succeed(first);
                    let stays = self.stay(&up).await;
                    if !stays {
                        return None;
                    }
                    if since.elapsed() >= policy.longest_delay() {
                        used = 0;
                    }
                    true
                }
                Err(error) => {
                    let decides = self.server.strict || is_disposed(&error);
                    if decides && first.is_some() {
                        return Some(error);
                    }
                    let ends = is_disposed(&error);
                    let error = in_full(&error);
                    self.tell(if first.is_some() {
                        EventKind::InitialFailed { error }
                    } else {
                        EventKind::AttemptFailed { error }
                    });
                    if ends {
                        return None;
                    }
                    false
                }
            };
            self.shared.set_session(None);
            self.shared.set_state(ServerState::Closing);
            if !policy.is_enabled() {
                self.tell(EventKind::NotReconnecting { was_connected });
                self.settle().await;
                return self.give_up(first).await;
            }
            if !self.settle().await {
                self.remove_tools();
                self.tell(EventKind::OverlapAvoided);
                return self.give_up(first).await;
            }
            if used >= policy.attempts() {
                self.remove_tools();
                self.tell(EventKind::GaveUp { attempts: used });
                return self.give_up(first).await;
            }
            used += 1;
            let (delay, attempt, attempts) = (policy.delay(used), used, policy.attempts());
            self.shared
                .set_state(ServerState::BackingOff { attempt, delay });
            self.tell(if was_connected {
                EventKind::Reconnecting {
                    delay,
                    attempt,
                    attempts,
                }
            } else {
                EventKind::Retrying {
                    delay,
                    attempt,
                    attempts,
                }
            });
            succeed(first);
            sleep(delay).await;
        }
    }

    /// There will be no connection; what is there stays until the disposal.
    async fn give_up(&mut self, first: &mut Option<First>) -> Option<StartError> {
        self.shared.set_state(ServerState::GivenUp);
        succeed(first);
        std::future::pending().await
    }

    /// Makes a connection and registers its tools.
    async fn attempt(&mut self) -> Result<Up, StartError> {
        let changed = Arc::new(Notify::new());
        let session = self.open(changed.clone()).await?;
        let up = Up { session, changed };
        let mut synced = self.sync_while_connected(&up).await;
        // A notice that came before is about a listing that may be older.
        if !matches!(synced, Err(StartError::Lost))
            && up.changed.notified().now_or_never().is_some()
        {
            synced = self.sync_while_connected(&up).await;
        }
        synced?;
        self.connections += 1;
        self.shared.set_state(ServerState::Up {
            generation: self.connections,
        });
        Ok(up)
    }

    async fn open(&mut self, changed: Arc<Notify>) -> Result<Session, StartError> {
        let peer = Arc::new(Mutex::new(None));
        let endpoint = match &self.server.endpoint {
            Endpoint::Wire(connector) => Endpoint::Wire(Arc::new(Noted {
                connector: connector.clone(),
                peer: peer.clone(),
            })),
            other @ Endpoint::Http(_) => other.clone(),
        };
        let reporter = self.reporter.clone();
        let mut options = SessionOptions::new(&*self.server.name, move |event| match event {
            SessionEvent::ToolsChanged => changed.notify_one(),
            SessionEvent::Garbage(what) => reporter.tell(EventKind::Garbage { what }),
        });
        options.connect_timeout = self.server.connect_timeout;
        options.list_timeout = self.server.connect_timeout;
        options.legacy = self.server.legacy;
        options.progress_prolongs = self.server.progress_prolongs;
        self.overdue = false;
        self.left = Left::Opening(peer);
        match Session::open(&endpoint, &options).await {
            Ok(session) => {
                self.left = Left::Session(session.clone());
                Ok(session)
            }
            Err(error) => {
                self.left = Left::Peer(Some(error.gone()));
                Err(error.into())
            }
        }
    }

    /// Lists again whenever the server says so, until the connection is lost.
    /// Says whether the server stays; it does not if its scope is gone.
    async fn stay(&mut self, up: &Up) -> bool {
        loop {
            tokio::select! {
                biased;
                () = up.session.lost() => return true,
                () = up.changed.notified() => {}
            }
            match self.sync_while_connected(up).await {
                Ok(tools) => self.tell(EventKind::Resynced { tools }),
                Err(StartError::Lost) => return true,
                Err(error) => {
                    let ends = is_disposed(&error);
                    let error = in_full(&error);
                    self.tell(EventKind::SyncFailed { error });
                    if ends {
                        return false;
                    }
                }
            }
            tokio::select! {
                biased;
                () = up.session.lost() => return true,
                () = sleep(PAUSE) => {}
            }
        }
    }

    async fn sync_while_connected(&mut self, up: &Up) -> Result<usize, StartError> {
        tokio::select! {
            biased;
            () = up.session.lost() => Err(StartError::Lost),
            synced = self.sync(&up.session) => synced,
        }
    }

    /// Makes the registered tools those that the server lists now; says how
    /// many there are. An error changes none of them.
    ///
    /// Cancel safe: the tools change in one step, after the last wait.
    async fn sync(&mut self, session: &Session) -> Result<usize, StartError> {
        let definitions = session.list_tools().await?;
        let mut listing = Listing::read(&self.server.name, definitions).await?;
        let options = self.server.options();
        let entries = listing.compile(&options, &self.shared).await;
        if self.shared.set_quarantined(&listing.quarantined) {
            self.tell(EventKind::Quarantined(listing.quarantined));
        }
        if let Some(definitions) = &self.server.definitions {
            // Before the tools can be called: a policy may refuse them.
            for change in definitions.observe(&self.server.name, &listing.tools) {
                self.tell(EventKind::Definition(change));
            }
        }
        self.shared.set_session(Some(session.clone()));
        match self.generation.replace(&listing.tools, entries) {
            Ok(()) => {
                let count = listing.tools.len();
                self.shared.set_tools(listing.tools);
                Ok(count)
            }
            Err(
                error @ RegisterError::NameTaken { .. }
                | error @ RegisterError::NameTakenInScope { .. },
            ) if !self.server.strict => {
                self.tell(EventKind::Conflict(error));
                Ok(self.shared.tool_count())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn remove_tools(&mut self) {
        self.generation.clear();
        self.shared.set_tools(Vec::new());
    }

    /// Waits until nothing is left of the last attempt; says whether that is
    /// so. What was waited for in vain is not waited for again.
    ///
    /// Cancel safe.
    async fn settle(&mut self) -> bool {
        let limit = if self.overdue { Duration::ZERO } else { END };
        let gone = async {
            match &mut self.left {
                Left::Nothing | Left::Peer(None) => {}
                Left::Opening(peer) => {
                    let peer = peer.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    if let Some(peer) = peer {
                        peer.wait().await;
                    }
                }
                Left::Peer(Some(gone)) => gone.await,
                Left::Session(session) => session.close().await,
            }
        };
        // What panics there is as gone as it will ever be.
        let ended = timeout(limit, Contained::new(gone)).await.is_ok();
        if ended {
            self.left = Left::Nothing;
        }
        self.overdue = !ended;
        ended
    }

    fn tell_up(&self, is_first: bool) {
        let tools = self.shared.tool_count();
        let generation = self.connections;
        self.tell(if is_first || generation == 1 {
            EventKind::Connected { tools }
        } else {
            EventKind::Reconnected { generation, tools }
        });
    }

    fn tell(&self, kind: EventKind) {
        self.reporter.tell(kind);
    }
}

/// Also when the runtime shuts down and takes the task away.
impl Drop for Supervisor {
    fn drop(&mut self) {
        self.shared.set_session(None);
        self.remove_tools();
        self.left = Left::Nothing;
        self.claim = None;
        self.shared.set_state(ServerState::Disposed);
    }
}

fn succeed(first: &mut Option<First>) {
    if let Some(first) = first.take() {
        // Nobody may listen any more; then the disposal follows.
        let _ = first.send(Ok(()));
    }
}

fn is_disposed(error: &StartError) -> bool {
    matches!(error, StartError::Register(RegisterError::Disposed { .. }))
}

/// A connector, with a note of the peer that it connected to last.
struct Noted {
    connector: Arc<dyn Connector>,
    peer: Arc<Mutex<Option<Gone>>>,
}

impl Connector for Noted {
    fn connect(&self) -> BoxFuture<'static, Result<Wire, ConnectError>> {
        let peer = self.peer.clone();
        let connector = self.connector.clone();
        let connecting = async move {
            let wire = connector.connect().await?;
            *peer.lock().unwrap_or_else(PoisonError::into_inner) = wire.gone.clone();
            Ok(wire)
        };
        Contained::new(connecting)
            .map(|connected| {
                connected.unwrap_or_else(|panic| {
                    Err(ConnectError::new(format!(
                        "the connector panicked: {panic}"
                    )))
                })
            })
            .boxed()
    }
}
