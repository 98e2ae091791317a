//! Which results are stored, and with what.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use toolfall_layers::policy::{Answer, Asked, IntoPolicy, Policy};

use super::blocks::{BlockBudgets, TooMuch};
use super::future::{Decided, Deciding};
use super::{SpillConfig, SpillSlot};
use crate::policy::{Delegated, ListenerRegistration, Next, Waterfall};
use crate::{CallView, ContentBlock, FailureKind, PostDecision, PostRequest};

pub(super) type Owner = dyn Fn(&CallView) -> Option<String> + Send + Sync;

/// Stores results that are too long and shows both of their ends instead, and
/// blocks that are too big and shows a note instead; see the
/// [module docs](super).
///
/// Cheap to clone; clones store in the same place.
#[derive(Clone)]
pub struct SpillPolicy {
    pub(super) slot: SpillSlot,
    pub(super) cap: Option<usize>,
    budgets: Option<BlockBudgets>,
    pub(super) owner: Arc<Owner>,
    exempt: Arc<[String]>,
    pub(super) deadline: Duration,
}

impl SpillPolicy {
    /// Stores what is longer than `config` says in the store of `slot`.
    ///
    /// It is stored for a session, and nothing is before
    /// [`owner`](Self::owner) says for which.
    pub fn new(slot: SpillSlot, config: &SpillConfig) -> Self {
        Self {
            slot,
            cap: config.max_inline_bytes,
            budgets: BlockBudgets::of(config),
            owner: Arc::new(|_| None),
            exempt: Arc::new(["read".to_owned()]),
            deadline: Duration::from_secs(30),
        }
    }

    /// Says which session a call belongs to: the id under which the session
    /// is known for good, by the call's scope for instance. Texts of calls that
    /// it knows no session of stay whole, as they do where it panics; blocks
    /// over a budget are left out without being stored.
    pub fn owner(
        mut self,
        owner: impl Fn(&CallView) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.owner = Arc::new(owner);
        self
    }

    /// Names the tools whose results always stay whole, instead of `read`
    /// alone: those that a model reads stored texts with.
    pub fn exempt<N: Into<String>>(mut self, tools: impl IntoIterator<Item = N>) -> Self {
        self.exempt = tools.into_iter().map(Into::into).collect();
        self
    }

    /// How long a save is waited for, by tokio's clock; 30 seconds unless said
    /// otherwise. The blocks of one result have it together. Later results of
    /// the batch wait with it.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Registers the policy outside the listeners that are there, so that it
    /// measures what they made of a result. Nothing is registered where the
    /// configuration sets nothing.
    ///
    /// Of those registered later it is outside all but the outermost.
    pub fn register(
        &self,
        listeners: &Waterfall<PostRequest, PostDecision>,
    ) -> Option<ListenerRegistration> {
        if self.cap.is_none() && self.budgets.is_none() {
            return None;
        }
        let policy = self.clone();
        Some(listeners.register_outermost(move |post, next| policy.listen(post, next)))
    }

    /// The policy as a listener of a [`Waterfall`]: delegates first.
    ///
    /// # Errors
    ///
    /// The future's are those of the inner listeners.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the inner listeners or the save.
    pub fn listen(
        &self,
        post: PostRequest,
        next: Next<PostRequest, PostDecision>,
    ) -> Deciding<Delegated<PostDecision>> {
        Deciding::inner(next.run(), self.clone(), post)
    }

    /// The policy `inner` with this one around it. What `inner` decides but
    /// for the text stands; if it fails, nothing is stored.
    pub fn around<M, I>(self, inner: I) -> SpillAround<I::Policy>
    where
        I: IntoPolicy<PostRequest, PostDecision, M>,
    {
        SpillAround {
            policy: self,
            inner: inner.into_policy(),
        }
    }

    /// The blocks that `decision` shows, if they are this policy's to judge.
    fn judged<'a>(
        &self,
        post: &'a PostRequest,
        decision: &'a PostDecision,
    ) -> Option<&'a [ContentBlock]> {
        let (call, outcome) = (post.call(), post.outcome());
        let withheld = decision.is_block() || outcome.kind() == Some(FailureKind::Blocked);
        let shown_whole = call.parent().is_some() || self.exempt.iter().any(|it| it == call.name());
        if withheld || shown_whole || decision.value().is_some() {
            return None;
        }
        Some(decision.content().unwrap_or_else(|| outcome.content()))
    }

    /// The texts of what `decision` shows, if they are to be stored, and the
    /// most bytes that may stand for them.
    fn too_long(&self, post: &PostRequest, decision: &PostDecision) -> Option<(Arc<str>, usize)> {
        let cap = self.cap?;
        let content = self.judged(post, decision)?;
        let texts = || content.iter().map_while(ContentBlock::as_text);
        let bytes = texts().map(str::len).sum::<usize>();
        if bytes <= cap || texts().count() < content.len() {
            return None;
        }
        let text = match content {
            [ContentBlock::Text { text }] => text.as_str().into(),
            _ => texts().collect::<String>().into(),
        };
        Some((text, cap))
    }

    /// What of the blocks that `decision` shows is over a budget of blocks.
    pub(super) fn too_many(&self, post: &PostRequest, decision: &PostDecision) -> Option<TooMuch> {
        let budgets = self.budgets?;
        budgets.too_much(self.judged(post, decision)?)
    }

    /// What becomes of `decision`: itself, or what is shown for what is
    /// stored.
    pub(super) fn judge(&self, post: &PostRequest, decision: PostDecision) -> Decided {
        if let Some((text, cap)) = self.too_long(post, &decision) {
            let (policy, post) = (self.clone(), post.clone());
            return Answer::Later(Box::pin(policy.spill(post, decision, text, cap)));
        }
        if let Some(too_much) = self.too_many(post, &decision) {
            let (policy, post) = (self.clone(), post.clone());
            return Answer::Later(Box::pin(policy.omit(post, decision, too_much)));
        }
        Answer::Now(decision)
    }
}

impl Policy<PostRequest, PostDecision> for SpillPolicy {
    type Future = Deciding<std::future::Pending<Result<PostDecision, crate::BoxError>>>;

    fn ask(&self, post: &PostRequest) -> Asked<PostDecision, Self::Future> {
        Deciding::decided(self.judge(post, PostDecision::accept()))
    }
}

impl fmt::Debug for SpillPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpillPolicy")
            .field("slot", &self.slot)
            .field("cap", &self.cap)
            .field("budgets", &self.budgets)
            .field("exempt", &self.exempt)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

/// A post-execute policy whose long results are stored: what
/// [`SpillPolicy::around`] makes.
#[derive(Clone)]
pub struct SpillAround<P> {
    policy: SpillPolicy,
    inner: P,
}

impl<P> Policy<PostRequest, PostDecision> for SpillAround<P>
where
    P: Policy<PostRequest, PostDecision>,
{
    type Future = Deciding<P::Future>;

    fn ask(&self, post: &PostRequest) -> Asked<PostDecision, Self::Future> {
        match self.inner.ask(post) {
            Answer::Now(Ok(decision)) => Deciding::decided(self.policy.judge(post, decision)),
            Answer::Now(Err(error)) => Answer::Now(Err(error)),
            Answer::Later(inner) => {
                Answer::Later(Deciding::inner(inner, self.policy.clone(), post.clone()))
            }
        }
    }
}

impl<P> fmt::Debug for SpillAround<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpillAround")
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}
