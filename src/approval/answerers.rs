//! The live list of answerers.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use toolfall_layers::policy::{Answer, Asked, IntoAnswer, Policy};
use toolfall_layers::{ApprovalAnswer, ApprovalOutcome, ApprovalRequest, BoxError, Scope};

use super::audit::Trail;
use super::question::Question;
use super::session_mode::Modes;
use super::{ApprovalAudit, ApprovalMode, SessionMode};
use crate::policy::{ListenerRegistration, Listeners};
use crate::session::{LogError, SessionLog};

pub(super) type Answerer = dyn Fn(
        ApprovalRequest,
    ) -> Pin<Box<dyn Future<Output = Result<Option<ApprovalAnswer>, BoxError>> + Send>>
    + Send
    + Sync;

/// An approver that asks a live list of answerers in order.
///
/// An answerer gives an [`ApprovalOutcome`] or an [`ApprovalAnswer`], or `None`
/// to leave the question to the next. The first answer counts; if nobody gives one the answer is `unavailable`,
/// and so it is if an answerer fails or panics. Nothing is remembered: every
/// question is asked anew.
///
/// Cancelled calls are settled as `cancelled`: at once, without anybody being
/// asked, or, while a question is open, without waiting for the answerer,
/// whose future is dropped. The mode is read before each question and is no
/// answerer, so no order of answerers gets around [`ApprovalMode::Never`].
///
/// See the [module docs](super) for an example. Clones share everything.
#[derive(Clone)]
pub struct Answerers(Arc<Inner>);

struct Inner {
    answerers: Arc<Listeners<Answerer>>,
    audit: Option<Arc<dyn ApprovalAudit>>,
    modes: Arc<Modes>,
    deadline: Mutex<Option<Duration>>,
    closed: CancellationToken,
}

impl Default for Answerers {
    fn default() -> Self {
        Self::new()
    }
}

impl Answerers {
    /// An empty list that keeps no trail.
    pub fn new() -> Self {
        Self::with(None)
    }

    /// An empty list whose questions leave their trail in `audit`.
    pub fn audited(audit: Arc<dyn ApprovalAudit>) -> Self {
        Self::with(Some(audit))
    }

    fn with(audit: Option<Arc<dyn ApprovalAudit>>) -> Self {
        Self(Arc::new(Inner {
            answerers: Listeners::new(),
            audit,
            modes: Arc::new(Modes::new()),
            deadline: Mutex::new(None),
            closed: CancellationToken::new(),
        }))
    }

    /// Limits the wait for an answer to `after`, from now on, for all clones.
    ///
    /// The clock is the question's own: it starts as the question is asked and
    /// covers all answerers, and a tool's budget starts after it. When it
    /// runs out, whoever still thinks is let go of, and the call is denied
    /// with the code `APPROVAL_TIMEOUT`; the trail says `unavailable`. An
    /// answer at that very moment counts.
    pub fn deadline(self, after: Duration) -> Self {
        *self
            .0
            .deadline
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(after);
        self
    }

    /// Adds an answerer after those added before.
    ///
    /// It returns an `Option<ApprovalOutcome>` or a result of one.
    pub fn register<F, Fut, R>(&self, answerer: F) -> ListenerRegistration
    where
        F: Fn(ApprovalRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoAnswer<Option<ApprovalAnswer>> + 'static,
    {
        self.insert(answerer, None, false)
    }

    /// Adds an answerer before all those added so far.
    pub fn register_first<F, Fut, R>(&self, answerer: F) -> ListenerRegistration
    where
        F: Fn(ApprovalRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoAnswer<Option<ApprovalAnswer>> + 'static,
    {
        self.insert(answerer, None, true)
    }

    /// Adds an answerer for the calls from `scope` and from scopes nested in
    /// it, and nobody else's.
    pub fn register_in<F, Fut, R>(&self, scope: &Scope, answerer: F) -> ListenerRegistration
    where
        F: Fn(ApprovalRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoAnswer<Option<ApprovalAnswer>> + 'static,
    {
        self.insert(answerer, Some(scope), false)
    }

    fn insert<F, Fut, R>(
        &self,
        answerer: F,
        scope: Option<&Scope>,
        first: bool,
    ) -> ListenerRegistration
    where
        F: Fn(ApprovalRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoAnswer<Option<ApprovalAnswer>> + 'static,
    {
        let answerer: Arc<Answerer> = Arc::new(move |request| {
            let answer = answerer(request);
            Box::pin(async move { answer.await.into_answer() })
        });
        self.0.answerers.insert(answerer, scope, first)
    }

    /// Takes away the answerers of `scope` and of what is nested in it. Open
    /// questions keep those that they started with.
    pub fn dispose(&self, scope: &Scope) {
        self.0.answerers.dispose(scope);
    }

    /// Whether questions are asked from now on, where no
    /// [session](Self::session) says otherwise. Open ones stay open.
    pub fn set_mode(&self, mode: ApprovalMode) {
        self.0.modes.set_common(mode);
    }

    /// Whether questions are asked, where no session says otherwise.
    pub fn mode(&self) -> ApprovalMode {
        self.0.modes.common()
    }

    /// Whether questions are asked for calls from `scope`: what the nearest
    /// scope says that has a session with a mode of its own, else
    /// [`mode`](Self::mode).
    pub fn mode_in(&self, scope: &Scope) -> ApprovalMode {
        self.0.modes.of(Some(scope))
    }

    /// Lets the session whose log is `log` say whether questions are asked
    /// for calls from `scope` and from scopes nested in it. Reads the whole
    /// log, so it blocks.
    ///
    /// # Errors
    ///
    /// [`LogError::Read`] if the log cannot be read.
    pub fn session(&self, scope: &Scope, log: SessionLog) -> Result<SessionMode, LogError> {
        SessionMode::of(log, self.0.modes.clone(), scope.clone())
    }

    /// The paragraph for the prompt of `agent`: what counts for it now. Empty
    /// without an agent, and once the answerers are closed.
    pub fn prompt(&self, agent: Option<&Scope>) -> &'static str {
        match agent {
            Some(agent) if !self.0.closed.is_cancelled() => self.mode_in(agent).prompt(),
            _ => "",
        }
    }

    /// Settles every open question as `cancelled`; later ones are
    /// `unavailable`. There is no way back.
    pub fn close(&self) {
        self.0.closed.cancel();
    }

    /// The outcome of a question that need not be asked.
    fn settled(&self, request: &ApprovalRequest) -> Option<ApprovalOutcome> {
        if request.cancellation().is_cancelled() {
            Some(ApprovalOutcome::Cancelled)
        } else if self.0.modes.of(request.call().scope()) == ApprovalMode::Never {
            Some(ApprovalOutcome::Rejected)
        } else if self.0.closed.is_cancelled() {
            Some(ApprovalOutcome::Unavailable)
        } else {
            None
        }
    }
}

impl Policy<ApprovalRequest, ApprovalAnswer> for Answerers {
    type Future = Question;

    fn ask(&self, request: &ApprovalRequest) -> Asked<ApprovalAnswer, Question> {
        let trail = match Trail::begin(self.0.audit.clone(), request.clone()) {
            Ok(trail) => trail,
            Err(error) => return Answer::Now(Err(error)),
        };
        match self.settled(request) {
            Some(outcome) => Answer::Now(trail.end(outcome.into())),
            None => Answer::Later(Question::new(
                trail,
                self.0.answerers.heard(),
                self.0.closed.clone(),
                *self
                    .0
                    .deadline
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner),
            )),
        }
    }
}

impl fmt::Debug for Answerers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answerers")
            .field("len", &self.0.answerers.len())
            .field("mode", &self.mode())
            .finish_non_exhaustive()
    }
}
