//! Open questions that are answered by reference.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::PendingQuestion;
use crate::approval::{AnswerError, BoundAnswer, SavedQuestion};

/// The open questions of a host, for answers that come from elsewhere: a
/// browser, another process.
///
/// An answer must name the id of a question that is open, and the digest of
/// what was asked; then the question is taken out, so that no id is answered
/// twice. Questions that were withdrawn are no longer listed.
///
/// Clones share everything; dropping the last settles what is open as
/// cancelled. See the [module docs](super) for an example.
#[derive(Clone, Default)]
pub struct PendingQuestions(Arc<Mutex<Vec<PendingQuestion>>>);

impl PendingQuestions {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps `question` until it is answered or withdrawn, and gives it as
    /// data, to be shown.
    pub fn hold(&self, question: PendingQuestion) -> SavedQuestion {
        let saved = question.saved();
        self.prune();
        self.open().push(question);
        saved
    }

    /// The open questions, in the order in which they were held.
    pub fn list(&self) -> Vec<SavedQuestion> {
        self.prune();
        let open: Vec<_> = self
            .open()
            .iter()
            .map(|question| (question.request().clone(), question.digest()))
            .collect();
        open.iter()
            .map(|(request, digest)| SavedQuestion::with_digest(request, *digest))
            .collect()
    }

    /// Answers the question that `answer` names.
    ///
    /// # Errors
    ///
    /// [`AnswerError::Unknown`] if no open question has the id: the answer is
    /// late, was given before, or was never asked for.
    /// [`AnswerError::Mismatch`] if the question is another one than was
    /// shown; it stays open.
    pub fn answer(&self, answer: BoundAnswer) -> Result<(), AnswerError> {
        let question = {
            let mut open = self.open();
            let Some(place) = open.iter().position(|open| open.id() == answer.question) else {
                return Err(answer.unknown());
            };
            answer.must_match(open[place].digest())?;
            open.remove(place)
        };
        question
            .answer(answer.answer.clone())
            .map_err(|_| answer.unknown())
    }

    /// Lets go of what was withdrawn.
    fn prune(&self) {
        let mut open = self.open();
        let withdrawn: Vec<_> = open
            .extract_if(.., |question| question.is_withdrawn())
            .collect();
        drop(open);
        // A call may carry data of the host, whose drop is not run under the
        // lock.
        drop(withdrawn);
    }

    fn open(&self) -> MutexGuard<'_, Vec<PendingQuestion>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for PendingQuestions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingQuestions")
            .field("len", &self.open().len())
            .finish_non_exhaustive()
    }
}
