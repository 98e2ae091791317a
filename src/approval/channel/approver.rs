//! The end that asks.

use std::fmt;
use std::future::Future;
use std::num::NonZeroUsize;
use std::pin::Pin;

use tokio::sync::{Semaphore, mpsc, oneshot};
use toolfall_layers::policy::{Answer, Asked, Policy};
use toolfall_layers::{ApprovalAnswer, ApprovalOutcome, ApprovalRequest, BoxError};

use super::{PendingQuestion, Questions};

/// An approver that puts each question into a bounded channel and waits for
/// its answer. See the [module docs](super) for an example.
///
/// Alone it is the approver of a pipeline; as an
/// [`answerer`](Self::answerer) it is one of several in
/// [`Answerers`](crate::approval::Answerers), which keep the trail, the mode
/// and the deadline.
///
/// Clones put their questions into the same channel.
#[derive(Clone)]
pub struct ChannelApprover(mpsc::Sender<PendingQuestion>);

impl ChannelApprover {
    /// An approver, and the questions that it asks.
    ///
    /// At most `capacity` questions wait to be received; a call that has one
    /// more waits, parked, until there is room, and its cancellation settles
    /// it there.
    pub fn new(capacity: NonZeroUsize) -> (Self, Questions) {
        let capacity = capacity.get().min(Semaphore::MAX_PERMITS);
        let (sender, receiver) = mpsc::channel(capacity);
        (Self(sender), Questions::new(receiver))
    }

    /// Whether somebody is there to receive questions.
    pub fn is_open(&self) -> bool {
        !self.0.is_closed()
    }

    /// An answerer for [`Answerers::register`]: it leaves a question to the
    /// next one if there is nobody to receive it.
    ///
    /// [`Answerers::register`]: crate::approval::Answerers::register
    pub fn answerer(&self) -> impl Fn(ApprovalRequest) -> AnswererFuture + Send + Sync + 'static {
        let approver = self.clone();
        move |request| AnswererFuture(Box::pin(put(approver.0.clone(), request)))
    }
}

/// Puts the question and waits for its answer; `None` if nobody receives.
async fn put(
    sender: mpsc::Sender<PendingQuestion>,
    request: ApprovalRequest,
) -> Option<ApprovalAnswer> {
    if sender.is_closed() {
        return None;
    }
    let withdrawn = ApprovalAnswer::from(ApprovalOutcome::Cancelled);
    // Room first: only a question that can be received is put together.
    let Ok(room) = sender.reserve().await else {
        return Some(withdrawn);
    };
    let (reply, answer) = oneshot::channel();
    room.send(PendingQuestion::new(request, reply));
    Some(answer.await.unwrap_or(withdrawn))
}

/// The future of an [answerer](ChannelApprover::answerer). Dropping it
/// withdraws the question.
pub struct AnswererFuture(Pin<Box<dyn Future<Output = Option<ApprovalAnswer>> + Send>>);

impl Future for AnswererFuture {
    type Output = Option<ApprovalAnswer>;

    fn poll(
        mut self: Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Self::Output> {
        self.0.as_mut().poll(cx)
    }
}

impl fmt::Debug for AnswererFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswererFuture").finish_non_exhaustive()
    }
}

impl Policy<ApprovalRequest, ApprovalAnswer> for ChannelApprover {
    // Boxed to have a name; asking is rare and waits for a person.
    type Future = Pin<Box<dyn Future<Output = Result<ApprovalAnswer, BoxError>> + Send>>;

    fn ask(&self, request: &ApprovalRequest) -> Asked<ApprovalAnswer, Self::Future> {
        let answer = put(self.0.clone(), request.clone());
        Answer::Later(Box::pin(async move {
            let nobody = ApprovalOutcome::Unavailable;
            Ok(answer.await.unwrap_or_else(|| nobody.into()))
        }))
    }
}

impl fmt::Debug for ChannelApprover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelApprover")
            .field("open", &self.is_open())
            .finish_non_exhaustive()
    }
}
