//! What a server says of itself, and what it allows.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use super::Session;
use super::parked::Parked;
use super::questions::Desks;
use super::serve::PipelineServer;
use super::shared::{ChooseScope, Entry, Identity, Limits, Served, Shared};
use crate::Scope;
use crate::approval::Answerers;
use crate::registry::Registry;

/// So many clients without a session may listen to changes at once.
const LISTENERS: usize = 256;

/// Puts a [`PipelineServer`] together.
#[must_use = "a builder does nothing until it is built"]
pub struct PipelineServerBuilder {
    served: Served,
    identity: Identity,
    limits: Limits,
    structured: bool,
    scope: Option<Box<ChooseScope>>,
    answerers: Option<Answerers>,
}

impl PipelineServerBuilder {
    pub(super) fn new(pipeline: Entry, registry: Registry) -> Self {
        Self {
            served: Served { pipeline, registry },
            identity: Identity {
                name: env!("CARGO_PKG_NAME").to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                title: None,
                instructions: None,
            },
            limits: Limits {
                calls: 256,
                page: 200,
                line: crate::mcp::lines::LONGEST,
                grace: Duration::from_secs(2),
            },
            structured: true,
            scope: None,
            answerers: None,
        }
    }

    /// What the server calls itself, `toolfall` unless it is said otherwise.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.identity.name = name.into();
        self
    }

    /// The server's version; this crate's unless it is said otherwise.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.identity.version = version.into();
        self
    }

    /// A name for people.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.identity.title = Some(title.into());
        self
    }

    /// What a client may tell its model of the server.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.identity.instructions = Some(instructions.into());
        self
    }

    /// On whose behalf the calls of a session are made. It is asked once a
    /// session; every session then has a scope of its own nested in the one
    /// chosen, so that it sees the same tools and meets the same rules.
    ///
    /// Without this, sessions are nested in nothing: they see what is there
    /// for everybody. A choice that panics refuses the session's requests.
    pub fn scope(mut self, choose: impl Fn(&Session) -> Scope + Send + Sync + 'static) -> Self {
        self.scope = Some(Box::new(choose));
        self
    }

    /// Puts the questions of a session's calls to the session's own client,
    /// where that offers elicitation, before any other of the answerers.
    ///
    /// The pipeline must ask these very answerers
    /// ([`PipelineBuilder::approval`](crate::PipelineBuilder::approval)); else
    /// nobody hears a question. What a client cannot be asked goes on to the
    /// answerers that are there beside it, and with none to an answer of
    /// `unavailable`, which refuses the call.
    pub fn answerers(mut self, answerers: &Answerers) -> Self {
        self.answerers = Some(answerers.clone());
        self
    }

    /// Sends no structured content and lists no output schemas. For pipelines
    /// that often replace what a model sees: see the
    /// [module docs](super#structured-content).
    pub fn without_structured_content(mut self) -> Self {
        self.structured = false;
        self
    }

    /// The most calls in flight of one session, 256 unless it is said
    /// otherwise; one more is answered by a JSON-RPC error. At least 1.
    pub fn max_calls(mut self, calls: usize) -> Self {
        self.limits.calls = calls.max(1);
        self
    }

    /// The most tools on one page of a listing, 200 unless it is said
    /// otherwise. At least 1.
    pub fn page_size(mut self, tools: usize) -> Self {
        self.limits.page = tools.max(1);
        self
    }

    /// The longest line that a client may send over a pipe, in bytes: 64 MiB
    /// unless it is said otherwise.
    pub fn max_line(mut self, bytes: usize) -> Self {
        self.limits.line = bytes;
        self
    }

    /// How long calls in flight may go on once the input of their session has
    /// ended or the server shuts down, before they are cancelled: 2 seconds
    /// unless it is said otherwise.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.limits.grace = grace;
        self
    }

    /// The server. Nothing runs before it is told where to serve.
    pub fn build(self) -> PipelineServer {
        let desks = Arc::<Desks>::default();
        let asking = self.answerers.as_ref().map(|answerers| {
            let desks = desks.clone();
            answerers.register_first(move |request| {
                let desks = desks.clone();
                async move { desks.ask(&request).await }
            })
        });
        PipelineServer::new(Shared {
            identity: self.identity,
            limits: self.limits,
            structured: self.structured,
            scope: self.scope,
            served: ArcSwap::from_pointee(self.served),
            replaced: watch::Sender::new(0),
            end: CancellationToken::new(),
            desks,
            parked: Parked::default(),
            single: Arc::new(Semaphore::new(
                self.limits.calls.min(Semaphore::MAX_PERMITS),
            )),
            listeners: Arc::new(Semaphore::new(LISTENERS)),
            _asking: asking,
        })
    }
}

impl std::fmt::Debug for PipelineServerBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PipelineServerBuilder")
            .field("name", &self.identity.name)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
