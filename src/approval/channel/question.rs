//! The end that answers.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::Stream;
use tokio::sync::{mpsc, oneshot};
use toolfall_layers::{ApprovalAnswer, ApprovalOutcome, ApprovalRequest};

use crate::approval::{QuestionDigest, SavedQuestion};

/// The questions of a [`ChannelApprover`](super::ChannelApprover), in the
/// order in which they were put: a stream, or [`recv`](Self::recv).
///
/// Dropping it settles every question that was not received as cancelled;
/// those put later have nobody to answer them.
#[derive(Debug)]
pub struct Questions(mpsc::Receiver<PendingQuestion>);

impl Questions {
    pub(super) const fn new(receiver: mpsc::Receiver<PendingQuestion>) -> Self {
        Self(receiver)
    }

    /// The next question that is still open; `None` once no approver is left.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses no question.
    pub async fn recv(&mut self) -> Option<PendingQuestion> {
        std::future::poll_fn(|cx| self.poll_recv(cx)).await
    }

    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<PendingQuestion>> {
        loop {
            match self.0.poll_recv(cx) {
                // Withdrawn while it waited: there is nothing to show.
                Poll::Ready(Some(question)) if question.is_withdrawn() => {}
                poll => return poll,
            }
        }
    }
}

impl Stream for Questions {
    type Item = PendingQuestion;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_recv(cx)
    }
}

/// An open question. It is answered once; dropping it unanswered settles it as
/// cancelled.
#[must_use = "a question that is dropped is settled as cancelled"]
pub struct PendingQuestion {
    id: String,
    request: ApprovalRequest,
    digest: QuestionDigest,
    reply: oneshot::Sender<ApprovalAnswer>,
}

impl PendingQuestion {
    pub(super) fn new(request: ApprovalRequest, reply: oneshot::Sender<ApprovalAnswer>) -> Self {
        Self {
            id: request.id(),
            digest: QuestionDigest::of_request(&request),
            request,
            reply,
        }
    }

    /// What is asked: the call with the arguments that will run, and why.
    pub const fn request(&self) -> &ApprovalRequest {
        &self.request
    }

    /// The question's own id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What an answer by reference must name.
    pub const fn digest(&self) -> QuestionDigest {
        self.digest
    }

    /// The question as data.
    pub fn saved(&self) -> SavedQuestion {
        SavedQuestion::with_digest(&self.request, self.digest)
    }

    /// Whether nobody waits for an answer any more: the call was cancelled or
    /// dropped, or a deadline passed.
    pub fn is_withdrawn(&self) -> bool {
        self.reply.is_closed()
    }

    /// Waits until nobody waits for an answer any more: to take the question
    /// off the screen.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn withdrawn(&mut self) {
        self.reply.closed().await;
    }

    /// Answers it.
    ///
    /// The answer is handed over, which is not yet its effect: a call that is
    /// cancelled at this moment does not run.
    ///
    /// # Errors
    ///
    /// [`Withdrawn`] if nobody waits for the answer any more.
    pub fn answer(self, answer: impl Into<ApprovalAnswer>) -> Result<(), Withdrawn> {
        self.reply.send(answer.into()).map_err(|_| Withdrawn)
    }

    /// Lets this one call run. Errors as for [`answer`](Self::answer).
    pub fn allow(self) -> Result<(), Withdrawn> {
        self.answer(ApprovalOutcome::AllowedOnce)
    }

    /// Refuses the call. Errors as for [`answer`](Self::answer).
    pub fn reject(self) -> Result<(), Withdrawn> {
        self.answer(ApprovalOutcome::Rejected)
    }

    /// Refuses the call and tells the model why. Errors as for
    /// [`answer`](Self::answer).
    pub fn reject_with(self, message: impl AsRef<str>) -> Result<(), Withdrawn> {
        self.answer(ApprovalAnswer::rejected(message))
    }

    /// Refuses the call, tells the model why, unless `message` is empty, and
    /// ends the model's turn. Errors as for [`answer`](Self::answer).
    pub fn reject_and_end_turn(self, message: impl AsRef<str>) -> Result<(), Withdrawn> {
        self.answer(ApprovalAnswer::rejected(message).ending_turn())
    }
}

impl fmt::Debug for PendingQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingQuestion")
            .field("request", &self.request)
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}

/// An answer came after its question was settled. It has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a question that is open, found one that was withdrawn")]
pub struct Withdrawn;
