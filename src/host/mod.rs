//! A host with many agents: everything that comes and goes, by scope.
//!
//! A [`Host`] holds the live parts of a pipeline: tools, guards, pre-decision
//! listeners, post-execute listeners and observers. What is registered with
//! the host itself is there for every call. [`Host::open`] opens a scope, a
//! preset or an agent say, and an [`OpenScope`] opens further ones inside it;
//! what is registered there counts for the calls from that scope and from
//! those nested in it. Dropping an open scope disposes it.
//!
//! ```
//! use tokio_util::sync::CancellationToken;
//! use toolfall::host::Host;
//! use toolfall::*;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BoxError> {
//! # fn tool(name: &'static str) -> ToolDef {
//! #     tool_fn(name, "", move |_: serde_json::Value, _: ToolContext| async move { Ok::<_, BoxError>(name.to_owned()) })
//! # }
//! let host = Host::new();
//! host.registry().register_all([tool("read"), tool("bash")])?.into_iter().for_each(Registration::keep);
//! let pipeline = host.pipeline().build();
//!
//! let reviewers = host.open("reviewers");
//! reviewers.restrict(&Filter::deny(["bash"]))?.keep();
//! let agent = reviewers.open("reviewer 7");
//! agent.register(tool("comment"))?.keep();
//! agent.guard(|call: &CallView| {
//!     (call.name() == "comment").then(|| Denial::new("not before the tests ran"))
//! }).keep();
//!
//! let call = |name: &'static str| {
//!     CallRequest::new("1", name, "{}", CancellationToken::new()).with_scope(agent.scope().clone())
//! };
//! assert_eq!(pipeline.run(call("read")).await.text(), "read");
//! assert_eq!(pipeline.run(call("bash")).await.message(), Some("unknown tool \"bash\""));
//! let comment = pipeline.run(call("comment")).await;
//! assert_eq!(comment.text(), "Error: not before the tests ran");
//!
//! // Disposing the outer scope disposes what is nested in it.
//! drop(reviewers);
//! assert_eq!(pipeline.run(call("read")).await.message(), Some("unknown tool \"read\""));
//! # Ok(()) }
//! ```

mod observers;
mod open_scope;

use std::fmt;

use toolfall_layers::approval::NoApprover;
use tower::layer::util::{Identity, Stack};

pub use self::observers::Observers;
pub use self::open_scope::OpenScope;
use crate::policy::Waterfall;
use crate::{
    CallView, Decision, GuardList, Pipeline, PipelineBuilder, PostDecision, PostExecuteLayer,
    PostRequest, PreDecisionLayer, Registry, Scope,
};

/// The live parts of a pipeline. See the [module docs](self). Clones share
/// everything.
#[derive(Clone)]
pub struct Host {
    registry: Registry,
    guards: GuardList,
    pre: Waterfall<CallView, Decision>,
    post: Waterfall<PostRequest, PostDecision>,
    observers: Observers,
}

/// The pipeline of a host, to be completed and built.
pub type HostPipeline = PipelineBuilder<
    Stack<PostExecuteLayer<Waterfall<PostRequest, PostDecision>>, Identity>,
    Stack<PreDecisionLayer<Waterfall<CallView, Decision>>, Identity>,
    NoApprover,
    GuardList,
    Identity,
>;

impl Default for Host {
    fn default() -> Self {
        Self::new()
    }
}

impl Host {
    /// A host without tools and policies. Calls that no listener judges are
    /// allowed.
    pub fn new() -> Self {
        Self::over(Registry::new())
    }

    /// A host over the tools of `registry`.
    pub fn over(registry: Registry) -> Self {
        Self {
            registry,
            guards: GuardList::new(),
            pre: Waterfall::new(Decision::Allow),
            post: Waterfall::new(PostDecision::accept()),
            observers: Observers::new(),
        }
    }

    /// A pipeline with the host's live parts at their places: its
    /// pre-decision listeners are the outermost policy, its post-execute
    /// listeners likewise, and its guards are the guards.
    pub fn pipeline(&self) -> HostPipeline {
        Pipeline::builder(self.registry.clone())
            .observe_with(std::sync::Arc::new(self.observers.clone()))
            .post_execute(self.post.clone())
            .pre_decision(self.pre.clone())
            .guard(self.guards.clone())
    }

    /// Opens a scope with nothing above it.
    pub fn open(&self, name: impl Into<Box<str>>) -> OpenScope {
        OpenScope::new(self.clone(), Scope::new(name))
    }

    /// The tools.
    pub const fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The guards.
    pub const fn guards(&self) -> &GuardList {
        &self.guards
    }

    /// The listeners of the pre-decision stage.
    pub const fn pre_decision(&self) -> &Waterfall<CallView, Decision> {
        &self.pre
    }

    /// The listeners of the post-execute stage.
    pub const fn post_execute(&self) -> &Waterfall<PostRequest, PostDecision> {
        &self.post
    }

    /// The observers of results.
    pub const fn observers(&self) -> &Observers {
        &self.observers
    }

    /// Takes away everything that `scope` and the scopes nested in it
    /// registered. Bodies that run go on to their end, later calls from there
    /// find no tool.
    pub fn dispose(&self, scope: &Scope) {
        // Tools first: a call that is on its way must not find a tool whose
        // guard is gone.
        self.registry.dispose(scope);
        self.guards.dispose(scope);
        self.pre.dispose(scope);
        self.post.dispose(scope);
        self.observers.dispose(scope);
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host")
            .field("registry", &self.registry)
            .field("guards", &self.guards)
            .finish_non_exhaustive()
    }
}
