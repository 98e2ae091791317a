//! Keeps one server connected, and its tools those that it lists.
//!
//! One task owns everything; what it waits for, it waits for beside the
//! disposal. So no two connections, listings or changes of the registry ever
//! overlap, and whatever comes late comes to nobody.

mod attempt;
mod noted;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};
use toolfall_layers::Scope;

use super::connector::Gone;
use super::error::StartError;
use super::events::{EventKind, Reporter, in_full};
use super::generation::Generation;
use super::server_config::McpServer;
use super::session::Session;
use super::source::{ServerState, Shared};
use crate::policy::Contained;
use crate::registry::Claim;
use crate::{RegisterError, Registry};

/// So long the end of a server is waited for.
const END: Duration = Duration::from_secs(5);

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
