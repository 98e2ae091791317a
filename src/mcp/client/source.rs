//! A server that is loaded.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::{CancellationToken, DropGuard};
use toolfall_layers::Scope;

use super::error::LoadError;
use super::server_config::McpServer;
use super::session::Session;
use super::supervisor::Supervisor;
use crate::Registry;
use crate::mcp::tool::{CallFailure, Caller, McpTool, Quarantine, RawCall};

impl McpServer {
    /// Starts the server, and registers its tools for every caller.
    ///
    /// Returns when the tools are registered, or when it is known that they
    /// are not. A server that is not [strict](Self::strict) is loaded also if
    /// it cannot be reached; its tools come when it can be.
    ///
    /// # Errors
    ///
    /// [`LoadError`], and then nothing is left of the server.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it is ready, the server is disposed in the background.
    pub async fn load(&self, registry: &Registry) -> Result<McpSource, LoadError> {
        self.start(registry, None).await
    }

    /// [`load`](Self::load), with the tools for `scope` and what is nested in
    /// it. When the scope is disposed, the tools go; the server goes when the
    /// source is dropped, or with the next listing: see
    /// [`OpenScope::hold`](crate::host::OpenScope::hold). A name is used once
    /// on a registry, whatever the scope.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    ///
    /// # Cancel safety
    ///
    /// As [`load`](Self::load).
    pub async fn load_in(
        &self,
        registry: &Registry,
        scope: &Scope,
    ) -> Result<McpSource, LoadError> {
        self.start(registry, Some(scope.clone())).await
    }

    async fn start(
        &self,
        registry: &Registry,
        scope: Option<Scope>,
    ) -> Result<McpSource, LoadError> {
        self.check()?;
        let server = || self.name().to_owned();
        let runtime =
            Handle::try_current().map_err(|_| LoadError::NoRuntime { server: server() })?;
        let claim = registry.claim(&self.name);
        let claim = claim.ok_or_else(|| LoadError::InUse { server: server() })?;
        let shared = Shared::new(self.name.clone());
        let source = McpSource {
            shared: shared.clone(),
            _disposal: shared.disposal.clone().drop_guard(),
        };
        let (tell, told) = oneshot::channel();
        let supervisor = Supervisor::new(self.clone(), registry.clone(), scope, shared, claim);
        runtime.spawn(supervisor.supervise(tell));
        match told.await {
            Ok(Ok(())) => Ok(source),
            Ok(Err(error)) => Err(LoadError::Start {
                server: server(),
                error,
            }),
            Err(_) => Err(LoadError::Stopped { server: server() }),
        }
    }
}

/// Where a loaded server stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerState {
    /// A connection is being made, or its tools are being listed.
    Connecting,
    /// There is a connection, and its tools were listed.
    Up {
        /// The number of the connection; the first is 1.
        generation: u64,
    },
    /// There is no connection any more, and what is left of it is going.
    Closing,
    /// There is no connection, and an attempt to come.
    BackingOff {
        /// Which attempt that will be; the first is 1.
        attempt: u32,
        /// How long the wait before it is.
        delay: Duration,
    },
    /// There is no connection, and there will be none.
    GivenUp,
    /// Nothing of the server is left, or was left alone after a wait.
    Disposed,
}

/// A server whose tools are registered, for as long as it is held.
///
/// Dropping it disposes the server in the background: its tools go, calls
/// under way fail, its process is ended. [`dispose`](Self::dispose) does the
/// same and waits. A shutdown of the runtime does as much of it as it can.
#[must_use = "dropping the source disposes the server"]
pub struct McpSource {
    shared: Arc<Shared>,
    _disposal: DropGuard,
}

impl McpSource {
    /// The server's name, as the host gave it.
    pub fn server_name(&self) -> &str {
        &self.shared.server
    }

    /// Where the server stands now.
    pub fn state(&self) -> ServerState {
        *self.shared.states.borrow()
    }

    /// Where the server stands, to wait for something. States that last no
    /// time may be missed.
    pub fn states(&self) -> watch::Receiver<ServerState> {
        self.shared.states.subscribe()
    }

    /// The tools that are registered, in the order of the listing. They stay
    /// while a lost connection is made again.
    pub fn tools(&self) -> Arc<[McpTool]> {
        self.shared.listed().tools.clone()
    }

    /// The tools of the last listing that cannot be used, and why.
    pub fn quarantined(&self) -> Arc<[Quarantine]> {
        self.shared.listed().quarantined.clone()
    }

    /// Takes the tools away, closes the connection and waits until the server
    /// is gone: at most 5 seconds, then it is left alone. Its name is free
    /// afterwards. Once is enough; again does nothing.
    ///
    /// # Cancel safety
    ///
    /// Dropped, the disposal goes on in the background.
    pub async fn dispose(&self) {
        self.shared.disposal.cancel();
        let mut states = self.shared.states.subscribe();
        // An error would say that nobody is left to dispose anything.
        let _ = states
            .wait_for(|state| *state == ServerState::Disposed)
            .await;
    }
}

impl fmt::Debug for McpSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpSource")
            .field("server", &self.shared.server)
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}

/// What a source, its supervisor and its tools have in common.
pub(super) struct Shared {
    server: Arc<str>,
    /// Cancelled when the server shall go.
    pub(super) disposal: CancellationToken,
    states: watch::Sender<ServerState>,
    session: Mutex<Option<Session>>,
    listed: Mutex<Listed>,
}

#[derive(Clone)]
struct Listed {
    tools: Arc<[McpTool]>,
    quarantined: Arc<[Quarantine]>,
}

impl Shared {
    fn new(server: Arc<str>) -> Arc<Self> {
        Arc::new(Self {
            server,
            disposal: CancellationToken::new(),
            states: watch::Sender::new(ServerState::Connecting),
            session: Mutex::new(None),
            listed: Mutex::new(Listed {
                tools: [].into(),
                quarantined: [].into(),
            }),
        })
    }

    pub(super) fn set_state(&self, state: ServerState) {
        self.states.send_replace(state);
    }

    /// Where calls go from now on. What was there before is dropped outside
    /// the lock.
    pub(super) fn set_session(&self, session: Option<Session>) {
        let before = {
            let mut current = self.session.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *current, session)
        };
        drop(before);
    }

    fn session(&self) -> Option<Session> {
        let session = self.session.lock();
        session.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn listed(&self) -> Listed {
        let listed = self.listed.lock();
        listed.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_tools(&self, tools: Vec<McpTool>) {
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        listed.tools = tools.into();
    }

    pub(super) fn tool_count(&self) -> usize {
        self.listed().tools.len()
    }

    /// Says whether they are others than before.
    pub(super) fn set_quarantined(&self, quarantined: &[Quarantine]) -> bool {
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        let are_others = *listed.quarantined != *quarantined;
        if are_others {
            listed.quarantined = quarantined.into();
        }
        are_others
    }
}

/// Carries the calls of a server's tools to the connection that there is at
/// that moment. Without one they fail at once: nothing waits for a server
/// that may never come back.
impl Caller for Shared {
    fn call(&self, call: RawCall) -> BoxFuture<'static, Result<Value, CallFailure>> {
        match self.session() {
            Some(session) => async move { session.call(call).await }.boxed(),
            None => std::future::ready(Err(CallFailure::NotConnected)).boxed(),
        }
    }
}
