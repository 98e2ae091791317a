//! Which results are stored, and with what.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use toolfall_layers::policy::{Answer, Asked, IntoPolicy, Policy};

use super::future::{Decided, Deciding};
use super::{SpillConfig, SpillSlot};
use crate::policy::{Delegated, ListenerRegistration, Next, Waterfall};
use crate::{CallView, ContentBlock, FailureKind, PostDecision, PostRequest};

pub(super) type Owner = dyn Fn(&CallView) -> Option<String> + Send + Sync;

/// Stores results that are too long and shows both of their ends instead; see
/// the [module docs](super).
///
/// Cheap to clone; clones store in the same place.
#[derive(Clone)]
pub struct SpillPolicy {
    pub(super) slot: SpillSlot,
    cap: Option<usize>,
    pub(super) owner: Arc<Owner>,
    exempt: Arc<[String]>,
    pub(super) deadline: Duration,
}

impl SpillPolicy {
    /// Stores what is longer than `config` says in the store of `slot`.
    ///
    /// Texts are stored for a session, and nothing is before
    /// [`owner`](Self::owner) says for which.
    pub fn new(slot: SpillSlot, config: &SpillConfig) -> Self {
        Self {
            slot,
            cap: config.max_inline_bytes,
            owner: Arc::new(|_| None),
            exempt: Arc::new(["read".to_owned()]),
            deadline: Duration::from_secs(30),
        }
    }

    /// Says which session a call belongs to: the id under which the session
    /// is known for good, by the call's scope for instance. Results of calls
    /// that it knows no session of stay whole, as they do where it panics.
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
    /// otherwise. Later results of the batch wait with it.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Registers the policy outside the listeners that are there, so that it
    /// measures what they made of a result. Nothing is registered where the
    /// configuration gives no length.
    ///
    /// Of those registered later it is outside all but the outermost.
    pub fn register(
        &self,
        listeners: &Waterfall<PostRequest, PostDecision>,
    ) -> Option<ListenerRegistration> {
        self.cap?;
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

    /// The texts of what `decision` shows, if they are to be stored, and the
    /// most bytes that may stand for them.
    pub(super) fn too_long(
        &self,
        post: &PostRequest,
        decision: &PostDecision,
    ) -> Option<(Arc<str>, usize)> {
        let cap = self.cap?;
        let (call, outcome) = (post.call(), post.outcome());
        let withheld = decision.is_block() || outcome.kind() == Some(FailureKind::Blocked);
        let shown_whole = call.parent().is_some() || self.exempt.iter().any(|it| it == call.name());
        if withheld || shown_whole || decision.value().is_some() {
            return None;
        }
        let content = decision.content().unwrap_or_else(|| outcome.content());
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

    /// What becomes of `decision`: itself, or what is shown for a stored text.
    pub(super) fn judge(&self, post: &PostRequest, decision: PostDecision) -> Decided {
        match self.too_long(post, &decision) {
            None => Answer::Now(decision),
            Some((text, cap)) => Answer::Later(Box::pin(self.clone().spill(
                post.clone(),
                decision,
                text,
                cap,
            ))),
        }
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
