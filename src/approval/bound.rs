//! Answers that come by reference, from wherever the question was shown.

use serde::{Deserialize, Serialize};
use toolfall_layers::{ApprovalAnswer, printable};

use super::{QuestionDigest, SavedQuestion};

/// An answer that says which question it answers: by the question's id, and by
/// the digest of what was shown.
///
/// As JSON:
/// `{"question":"ask-…","digest":"…","outcome":"rejected","message":"…"}`; see
/// [`ApprovalAnswer`] for the last three fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundAnswer {
    /// The question's id.
    pub question: String,
    /// The digest of the question that was shown.
    pub digest: QuestionDigest,
    /// The answer to it.
    #[serde(flatten)]
    pub answer: ApprovalAnswer,
}

impl BoundAnswer {
    /// `answer` as the answer to `question`.
    pub fn to(question: &SavedQuestion, answer: impl Into<ApprovalAnswer>) -> Self {
        Self {
            question: question.id().to_owned(),
            digest: question.digest(),
            answer: answer.into(),
        }
    }

    /// The error that says that no open question has the id.
    pub(super) fn unknown(&self) -> AnswerError {
        AnswerError::Unknown {
            question: printable(&self.question, 64),
        }
    }

    /// Checks that the answer is for what has the digest `digest`.
    pub(super) fn must_match(&self, digest: QuestionDigest) -> Result<(), AnswerError> {
        if self.digest == digest {
            return Ok(());
        }
        Err(AnswerError::Mismatch {
            question: printable(&self.question, 64),
            expected: digest,
            found: self.digest,
        })
    }
}

/// Why an answer was not taken. Nothing is released by it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// No question with this id is open: there never was one, or it is settled
    /// and the answer comes late or again.
    #[error("expected the id of an open question, found \"{question}\"")]
    Unknown {
        /// The id, shortened.
        question: String,
    },
    /// The question is another one than was shown. It stays open.
    #[error(
        "expected an answer to {expected} for the question \"{question}\", found one to {found}"
    )]
    Mismatch {
        /// The id, shortened.
        question: String,
        /// The digest of the question that is open.
        expected: QuestionDigest,
        /// The digest that the answer named.
        found: QuestionDigest,
    },
    /// The call has no id, so an answer kept for later is bound to no call.
    #[error("expected a question about a call with an id, found none for \"{question}\"")]
    WithoutCallId {
        /// The id of the question.
        question: String,
    },
}
