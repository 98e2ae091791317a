//! What becomes of a server, as it happens.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use toolfall_layers::panic::catch;
use toolfall_layers::printable;

use crate::RegisterError;
use crate::mcp::tool::{ChangeKind, DefinitionChange, Quarantine};

/// Characters of a message that a server may have written.
const ECHO: usize = 500;

/// Something that happened to a server. Everything that is told so is logged
/// through `tracing` as well, in the same words.
///
/// See [`McpServer::on_event`](super::McpServer::on_event).
#[derive(Clone, Debug)]
pub struct ServerEvent {
    server: Arc<str>,
    kind: EventKind,
}

impl ServerEvent {
    /// The server's name, as the host gave it.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// What happened.
    pub const fn kind(&self) -> &EventKind {
        &self.kind
    }
}

impl fmt::Display for ServerEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mcp-client({}): {}", self.server, self.kind)
    }
}

/// What happened to a server. `Display` is one line for people; whatever the
/// server wrote in it is cut and fit to be printed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum EventKind {
    /// The first connection is there, and its tools are registered.
    Connected {
        /// How many tools.
        tools: usize,
    },
    /// A lost connection is there again, with the tools of now.
    Reconnected {
        /// The number of the connection; the first is 1.
        generation: u64,
        /// How many tools.
        tools: usize,
    },
    /// The server said that its tools are others, and they were replaced.
    Resynced {
        /// How many tools there are now.
        tools: usize,
    },
    /// A tool's definition is not what it was, see
    /// [`Definitions`](crate::mcp::tool::Definitions).
    Definition(DefinitionChange),
    /// Tools of a listing that cannot be used, when they are others than in
    /// the listing before.
    Quarantined(Vec<Quarantine>),
    /// A whole listing was not registered because one tool could not be, for
    /// its name is taken; what was registered before is as it was.
    Conflict(RegisterError),
    /// The first connection or its listing failed; the host goes on without.
    InitialFailed {
        /// Why.
        error: String,
    },
    /// A new listing failed; the tools are those of the last good one.
    SyncFailed {
        /// Why.
        error: String,
    },
    /// The connection was lost, and another will be made.
    Reconnecting {
        /// So long from now.
        delay: Duration,
        /// Which attempt that will be; the first is 1.
        attempt: u32,
        /// How many attempts there are.
        attempts: u32,
    },
    /// A later attempt to connect, or its listing, failed.
    AttemptFailed {
        /// Why.
        error: String,
    },
    /// There was no connection, and another attempt will be made.
    Retrying {
        /// So long from now.
        delay: Duration,
        /// Which attempt that will be; the first is 1.
        attempt: u32,
        /// How many attempts there are.
        attempts: u32,
    },
    /// There will be no more attempts, and the tools were removed.
    GaveUp {
        /// How many attempts failed.
        attempts: u32,
    },
    /// What was left of the last attempt did not go; the tools were removed.
    OverlapAvoided,
    /// The connection is gone, and the host wants no other.
    NotReconnecting {
        /// Whether there was one: its tools stay, and their calls fail.
        was_connected: bool,
    },
    /// The server wrote something that is no message. The first 16 of a
    /// connection are told, and then ever fewer.
    Garbage {
        /// What it was, and why it is none.
        what: String,
        /// Which one of this connection it is; the first is 1.
        count: u64,
    },
    /// The server was disposed, but may not be gone.
    ShutdownIncomplete,
    /// The server was disposed.
    Disposed,
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connected { tools } => write!(f, "connected, {tools} tools registered"),
            Self::Reconnected { .. } => f.write_str("reconnected and re-synced tools"),
            Self::Resynced { tools } => write!(f, "re-synced tools, {tools} registered"),
            Self::Definition(change) => definition(change, f),
            Self::Quarantined(tools) => match tools.first() {
                None => f.write_str("all listed tools can be used again"),
                Some(first) => {
                    write!(f, "{} listed tools cannot be used; {first}", tools.len())
                }
            },
            Self::Conflict(error) => write!(f, "the listed tools were not registered: {error}"),
            Self::InitialFailed { error } => write!(
                f,
                "initial connection or tool synchronization failed: {error}"
            ),
            Self::SyncFailed { error } => {
                write!(
                    f,
                    "tool synchronization failed, the last tools stay: {error}"
                )
            }
            Self::Reconnecting {
                delay,
                attempt,
                attempts,
            } => write!(
                f,
                "connection lost; reconnecting in {}ms (attempt {attempt}/{attempts})",
                Milliseconds(*delay)
            ),
            Self::AttemptFailed { error } => write!(f, "connection attempt failed: {error}"),
            Self::Retrying {
                delay,
                attempt,
                attempts,
            } => write!(
                f,
                "connection failed; retrying in {}ms (attempt {attempt}/{attempts})",
                Milliseconds(*delay)
            ),
            Self::GaveUp { attempts } => write!(
                f,
                "giving up after {attempts} consecutive failed reconnect attempts"
            ),
            Self::OverlapAvoided => {
                f.write_str("reconnect stopped to avoid overlapping server processes")
            }
            Self::NotReconnecting {
                was_connected: true,
            } => f.write_str("connection lost and reconnect is disabled"),
            Self::NotReconnecting {
                was_connected: false,
            } => {
                f.write_str("connection failed and reconnect is disabled; no tools were registered")
            }
            Self::Garbage { what, count } => {
                let what = printable(what, ECHO);
                write!(f, "the server wrote no message ({count} so far): {what}")
            }
            Self::ShutdownIncomplete => f.write_str("server shutdown may be incomplete"),
            Self::Disposed => f.write_str("disposed"),
        }
    }
}

fn definition(change: &DefinitionChange, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let tool = printable(&change.tool, ECHO);
    match &change.kind {
        ChangeKind::Added => write!(f, "tool \"{tool}\" is new"),
        ChangeKind::Removed => write!(f, "tool \"{tool}\" is gone"),
        ChangeKind::Changed(parts) => {
            write!(f, "the definition of tool \"{tool}\" changed (")?;
            for (place, part) in parts.iter().enumerate() {
                let comma = if place > 0 { ", " } else { "" };
                write!(f, "{comma}{}", part.as_str())?;
            }
            f.write_str(")")
        }
        _ => write!(
            f,
            "the definition of tool \"{tool}\" could not be remembered"
        ),
    }
}

/// Whole milliseconds as such, others with what is left.
struct Milliseconds(Duration);

impl fmt::Display for Milliseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.subsec_nanos().is_multiple_of(1_000_000) {
            write!(f, "{}", self.0.as_millis())
        } else {
            write!(f, "{}", self.0.as_secs_f64() * 1000.0)
        }
    }
}

/// `error` with everything that it comes from, in one line.
pub(super) fn in_full(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    // Chains are short; one that is not, or is a circle, is cut.
    for _ in 0..16 {
        let Some(cause) = source else { break };
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    printable(&text, ECHO)
}

pub(super) type Listener = Arc<dyn Fn(&ServerEvent) + Send + Sync>;

/// Tells of events: the log first, then who listens.
#[derive(Clone)]
pub(super) struct Reporter {
    server: Arc<str>,
    listeners: Arc<[Listener]>,
}

impl Reporter {
    pub(super) fn new(server: Arc<str>, listeners: &[Listener]) -> Self {
        Self {
            server,
            listeners: listeners.into(),
        }
    }

    /// No lock may be held: listeners are user code.
    pub(super) fn tell(&self, kind: EventKind) {
        let event = ServerEvent {
            server: self.server.clone(),
            kind,
        };
        log(&event);
        for listener in &*self.listeners {
            if let Err(panic) = catch(|| listener(&event)) {
                tracing::warn!(
                    "mcp-client({}): an event listener panicked: {panic}",
                    self.server
                );
            }
        }
    }
}

fn log(event: &ServerEvent) {
    match &event.kind {
        EventKind::Connected { .. }
        | EventKind::Reconnected { .. }
        | EventKind::Resynced { .. } => tracing::info!("{event}"),
        EventKind::Disposed => tracing::debug!("{event}"),
        EventKind::Definition(change)
            if matches!(change.kind, ChangeKind::Added | ChangeKind::Removed) =>
        {
            tracing::debug!("{event}");
        }
        EventKind::InitialFailed { .. }
        | EventKind::GaveUp { .. }
        | EventKind::OverlapAvoided
        | EventKind::NotReconnecting { .. } => tracing::error!("{event}"),
        _ => tracing::warn!("{event}"),
    }
}
