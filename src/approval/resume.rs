//! Answers for calls that are made again.

use std::collections::HashSet;
use std::fmt;
use std::future::{Ready, ready};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolfall_layers::{ApprovalAnswer, ApprovalRequest};

use super::{AnswerError, BoundAnswer, QuestionDigest, SavedQuestion};

/// Answers to questions of a process that has ended, for the calls that this
/// one makes again.
///
/// A process ends while a question is open; a new one finds the question, in
/// [`Recovery::questions`] or wherever the host kept it, shows it, and
/// [adds](Self::add) the answer. When the call is made again, under the same
/// id and with the same arguments, its question is answered at once, and the
/// answer is used up. Any other question is left to the answerers behind.
///
/// The policies, the guards and the mode judge the call anew: a saved grant
/// stands in for the person, and for nothing else.
///
/// Drop the answerer's registration, or [clear](Self::clear) the answers, once
/// the calls are made: an answer to a call that is never made again would wait
/// for one that is the same.
///
/// The log lists a question to one process only. A host that keeps questions
/// in a file of its own must take one out before it adds the answer, or a third
/// process could use it again.
///
/// See [the module docs](super#a-question-that-outlives-its-process) for an
/// example. Clones share everything.
///
/// [`Recovery::questions`]: crate::session::Recovery::questions
#[derive(Clone, Default)]
pub struct SavedAnswers(Arc<Mutex<Store>>);

#[derive(Default)]
struct Store {
    waiting: Vec<(QuestionDigest, ApprovalAnswer)>,
    /// The ids of questions that were answered: each is answered once.
    answered: HashSet<String>,
}

impl SavedAnswers {
    /// No answers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps the answer to `question` for its call.
    ///
    /// # Errors
    ///
    /// [`AnswerError::Unknown`] if the answer is to a question with another
    /// id, or the question was answered before; [`AnswerError::Mismatch`] if
    /// it is to something else than was asked;
    /// [`AnswerError::WithoutCallId`] if the call has no id by which it could
    /// be told from others.
    pub fn add(&self, question: &SavedQuestion, answer: BoundAnswer) -> Result<(), AnswerError> {
        if answer.question != question.id() {
            return Err(answer.unknown());
        }
        answer.must_match(question.digest())?;
        if question.call_id().is_empty() {
            return Err(AnswerError::WithoutCallId {
                question: question.id().to_owned(),
            });
        }
        let mut store = self.store();
        if !store.answered.insert(question.id().to_owned()) {
            return Err(answer.unknown());
        }
        store.waiting.push((question.digest(), answer.answer));
        Ok(())
    }

    /// Forgets the answers that were not used. Their questions stay answered.
    pub fn clear(&self) {
        self.store().waiting.clear();
    }

    /// How many answers wait for their calls.
    pub fn waiting(&self) -> usize {
        self.store().waiting.len()
    }

    /// An answerer that gives each answer once, for
    /// [`Answerers::register_first`](super::Answerers::register_first).
    pub fn answerer(
        &self,
    ) -> impl Fn(ApprovalRequest) -> Ready<Option<ApprovalAnswer>> + Send + Sync + 'static {
        let answers = self.clone();
        move |request| ready(answers.take(&request))
    }

    fn take(&self, request: &ApprovalRequest) -> Option<ApprovalAnswer> {
        if self.waiting() == 0 {
            return None;
        }
        let digest = QuestionDigest::of_request(request);
        let mut store = self.store();
        let place = store.waiting.iter().position(|(of, _)| *of == digest)?;
        Some(store.waiting.remove(place).1)
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SavedAnswers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SavedAnswers")
            .field("waiting", &self.waiting())
            .finish_non_exhaustive()
    }
}
