//! Putting the stages in their order.

use std::sync::Arc;

use toolfall_layers::Redaction;
use toolfall_layers::approval::NoApprover;
use toolfall_layers::policy::IntoPolicy;
use toolfall_layers::result_notify::Notice;
use tower::layer::util::{Identity, Stack};
use tower_layer::Layer;
use tower_service::Service;

use super::Pipeline;
use crate::registry::Registry;
use crate::tool::Reentry;
use crate::{
    ApprovalAnswer, ApprovalLayer, ApprovalRequest, BoxError, CallView, ClearedCall, DecidedCall,
    Decision, Denial, Guard, GuardLayer, Observer, PostDecision, PostExecuteLayer, PostRequest,
    PreDecisionLayer, Recorder, ResultNotifyLayer, RetryLayer, TimeoutLayer, ToolCall, ToolOutcome,
    ToolResult, ToolService,
};

/// Assembles a [`Pipeline`]; every method adds to one stage.
///
/// `Post`, `Pre` and `Around` are the layers of those places, `A` the
/// approver and `G` the guard.
#[must_use = "a builder does nothing until it is built"]
#[derive(Clone, Debug)]
pub struct PipelineBuilder<Post, Pre, A, G, Around> {
    registry: Registry,
    result: ResultNotifyLayer,
    post: Post,
    pre: Pre,
    approval: ApprovalLayer<A>,
    guard: G,
    around: Around,
}

/// No guard: clears every decided call.
#[derive(Clone, Copy, Debug)]
pub struct NoGuard(());

impl Guard for NoGuard {
    fn check(&self, _: &CallView) -> Result<Option<Denial>, BoxError> {
        Ok(None)
    }
}

/// A builder in which no policy was set yet.
pub type Fresh = PipelineBuilder<Identity, Identity, NoApprover, NoGuard, Identity>;

pub(super) fn fresh(registry: Registry) -> Fresh {
    PipelineBuilder {
        result: ResultNotifyLayer::new().catalog(registry.catalog()),
        registry,
        post: Identity::new(),
        pre: Identity::new(),
        approval: ApprovalLayer::unavailable(),
        guard: NoGuard(()),
        around: Identity::new(),
    }
}

// Each method spells out the one type parameter that it changes.
#[expect(
    clippy::type_complexity,
    reason = "aliases would hide what changes from step to step"
)]
impl<Post, Pre, A, G, Around> PipelineBuilder<Post, Pre, A, G, Around> {
    /// Adds a pre-decision policy inside those added before. Across policies
    /// decisions only get stricter.
    pub fn pre_decision<M, I>(
        self,
        policy: I,
    ) -> PipelineBuilder<Post, Stack<PreDecisionLayer<I::Policy>, Pre>, A, G, Around>
    where
        I: IntoPolicy<CallView, Decision, M>,
    {
        self.decision_layer(PreDecisionLayer::new(policy))
    }

    /// Adds a layer of your own among the decision stages, inside those added
    /// before.
    pub fn decision_layer<L>(self, layer: L) -> PipelineBuilder<Post, Stack<L, Pre>, A, G, Around> {
        PipelineBuilder {
            registry: self.registry,
            result: self.result,
            post: self.post,
            pre: Stack::new(layer, self.pre),
            approval: self.approval,
            guard: self.guard,
            around: self.around,
        }
    }

    /// Asks `approver` where a policy asks. Without one every `ask` is a
    /// denial.
    pub fn approval<M, I>(self, approver: I) -> PipelineBuilder<Post, Pre, I::Policy, G, Around>
    where
        I: IntoPolicy<ApprovalRequest, ApprovalAnswer, M>,
    {
        PipelineBuilder {
            registry: self.registry,
            result: self.result,
            post: self.post,
            pre: self.pre,
            approval: ApprovalLayer::new(approver),
            guard: self.guard,
            around: self.around,
        }
    }

    /// Sets the guard; [`GuardList`](crate::GuardList) holds several.
    pub fn guard<H: Guard>(self, guard: H) -> PipelineBuilder<Post, Pre, A, H, Around> {
        PipelineBuilder {
            registry: self.registry,
            result: self.result,
            post: self.post,
            pre: self.pre,
            approval: self.approval,
            guard,
            around: self.around,
        }
    }

    /// Adds a layer around the dispatch, inside those added before.
    pub fn around<L>(self, layer: L) -> PipelineBuilder<Post, Pre, A, G, Stack<L, Around>> {
        PipelineBuilder {
            registry: self.registry,
            result: self.result,
            post: self.post,
            pre: self.pre,
            approval: self.approval,
            guard: self.guard,
            around: Stack::new(layer, self.around),
        }
    }

    /// Enforces budgets, inside the around layers added before.
    pub fn timeout(
        self,
        timeout: TimeoutLayer,
    ) -> PipelineBuilder<Post, Pre, A, G, Stack<TimeoutLayer, Around>> {
        self.around(timeout)
    }

    /// Retries repeatable tools, inside the around layers added before.
    pub fn retry(
        self,
        retry: RetryLayer,
    ) -> PipelineBuilder<Post, Pre, A, G, Stack<RetryLayer, Around>> {
        self.around(retry)
    }

    /// Adds a post-execute policy inside those added before.
    pub fn post_execute<M, I>(
        self,
        policy: I,
    ) -> PipelineBuilder<Stack<PostExecuteLayer<I::Policy>, Post>, Pre, A, G, Around>
    where
        I: IntoPolicy<PostRequest, PostDecision, M>,
    {
        PipelineBuilder {
            registry: self.registry,
            result: self.result,
            post: Stack::new(PostExecuteLayer::new(policy), self.post),
            pre: self.pre,
            approval: self.approval,
            guard: self.guard,
            around: self.around,
        }
    }

    /// Adds an observer of every result.
    pub fn observer<F, R>(mut self, observer: F) -> Self
    where
        F: Fn(&CallView, &ToolResult) -> R + Send + Sync + 'static,
        R: Notice,
    {
        self.result = self.result.observer(observer);
        self
    }

    /// Adds an observer that is a type of its own.
    pub fn observe_with(mut self, observer: Arc<dyn Observer>) -> Self {
        self.result = self.result.observe_with(observer);
        self
    }

    /// Hides from people and from the log what `redaction` says, of every
    /// call: [`SecretShapes`](crate::redaction) for instance. What single
    /// tools hide they say themselves.
    pub fn redact(mut self, redaction: impl Redaction) -> Self {
        self.result = self.result.redact(Arc::new(redaction));
        self
    }

    /// Keeps the durable record, a
    /// [`SessionRecorder`](crate::session::SessionRecorder) for instance.
    pub fn recorder(mut self, recorder: Arc<dyn Recorder>) -> Self {
        self.result = self.result.recorder(recorder);
        self
    }

    /// Assembles the stack.
    pub fn build<Wrapped, Decided, Posted>(
        self,
    ) -> Pipeline<<ResultNotifyLayer as Layer<Posted>>::Service>
    where
        Around: Layer<ToolService, Service = Wrapped>,
        Wrapped: Service<ClearedCall, Response = ToolOutcome> + Clone,
        Wrapped::Error: Into<BoxError>,
        G: Guard + Clone,
        A: toolfall_layers::policy::Policy<ApprovalRequest, ApprovalAnswer> + Clone,
        Pre: Layer<Guarded<Wrapped, A, G>, Service = Decided>,
        Decided: Service<ToolCall, Response = ToolOutcome>,
        Post: Layer<Decided, Service = Posted>,
        Posted: Service<ToolCall, Response = ToolOutcome> + Clone + Send + Sync + 'static,
        Posted::Error: Into<BoxError>,
        Posted::Future: Send,
    {
        let reentry = Arc::new(Reentry::default());
        let leaf = ToolService::with_reentry(self.registry.clone(), &reentry);
        let guarded = guarded(self.around.layer(leaf), self.guard);
        let decided = self.pre.layer(self.approval.layer(guarded));
        let service = self.result.layer(self.post.layer(decided));
        reentry.set(tower::util::BoxCloneSyncService::new(service.clone()));
        Pipeline {
            service,
            registry: self.registry,
            reentry,
        }
    }
}

/// The two stages that make the proofs, around a wrapped leaf.
pub type Guarded<Wrapped, A, G> =
    <ApprovalLayer<A> as Layer<<GuardLayer<G> as Layer<Wrapped>>::Service>>::Service;

/// Where the compiler says what it expected of an around layer.
fn guarded<S, G>(inner: S, guard: G) -> <GuardLayer<G> as Layer<S>>::Service
where
    S: Service<ClearedCall, Response = ToolOutcome> + Clone,
    S::Error: Into<BoxError>,
    G: Guard + Clone,
    <GuardLayer<G> as Layer<S>>::Service: Service<DecidedCall, Response = ToolOutcome>,
{
    GuardLayer::with(guard).layer(inner)
}
