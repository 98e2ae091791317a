//! The records of questions to people.

use serde::{Deserialize, Serialize};

use super::bodies::is_false;
use crate::approval::QuestionDigest;
use crate::{ApprovalAnswer, ApprovalOutcome};

/// An `approval/asked` record: somebody is being asked for permission.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedRecord {
    /// The question's own id.
    pub id: String,
    /// The ordinal of the call it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<u64>,
    /// The model's id for that call, if the model gave it one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The tool's name.
    pub tool: String,
    /// Why permission is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What an answer must name: see [`QuestionDigest`]. Absent if the call has
    /// no id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<QuestionDigest>,
    /// The SHA-256 of the arguments as they were sent, in hexadecimal digits.
    /// Only where the call's record has them redacted: the digest is over it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<String>,
}

/// The word in [`DecidedRecord::why`] for a deadline that passed.
pub const WHY_DEADLINE: &str = "deadline";

/// An `approval/decided` record: a question is settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "WrittenDecision")]
pub struct DecidedRecord {
    /// The question's id.
    pub id: String,
    /// How it was settled. A word that is no outcome reads as
    /// [`ApprovalOutcome::Unavailable`]: never as a grant.
    pub outcome: ApprovalOutcome,
    /// What a refusal told the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Whether the refusal ended the model's turn.
    #[serde(skip_serializing_if = "is_false")]
    pub ends_turn: bool,
    /// What settled it, where that was no answer: [`WHY_DEADLINE`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The word that was read, where it is no outcome. Never written.
    #[serde(skip_serializing)]
    pub unknown: Option<String>,
}

impl DecidedRecord {
    /// The question `id` was settled as `outcome`.
    pub fn new(id: impl Into<String>, outcome: ApprovalOutcome) -> Self {
        Self {
            id: id.into(),
            outcome,
            message: None,
            ends_turn: false,
            why: None,
            unknown: None,
        }
    }

    /// The question `id` was settled by `answer`.
    pub fn answered(id: impl Into<String>, answer: &ApprovalAnswer) -> Self {
        Self {
            message: answer.message().map(ToOwned::to_owned),
            ends_turn: answer.ends_turn(),
            why: answer.waited().map(|_| WHY_DEADLINE.to_owned()),
            ..Self::new(id, answer.outcome())
        }
    }
}

#[derive(Deserialize)]
struct WrittenDecision {
    id: String,
    outcome: String,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    ends_turn: bool,
    #[serde(default)]
    why: Option<String>,
}

impl From<WrittenDecision> for DecidedRecord {
    fn from(written: WrittenDecision) -> Self {
        let outcome = ApprovalOutcome::from_word(&written.outcome);
        Self {
            id: written.id,
            outcome: outcome.unwrap_or(ApprovalOutcome::Unavailable),
            message: written.message,
            ends_turn: written.ends_turn,
            why: written.why,
            unknown: outcome.is_none().then_some(written.outcome),
        }
    }
}

/// An `approval/policy` record: whether questions may be asked was switched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyRecord {
    /// The policy as it was written: `ask` or `never`.
    pub policy: String,
}
