//! The records of questions to people.

use serde::{Deserialize, Serialize};

use crate::ApprovalOutcome;

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
}

/// An `approval/decided` record: a question is settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "WrittenDecision")]
pub struct DecidedRecord {
    /// The question's id.
    pub id: String,
    /// How it was settled. A word that is no outcome reads as
    /// [`ApprovalOutcome::Unavailable`]: never as a grant.
    pub outcome: ApprovalOutcome,
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
            unknown: None,
        }
    }
}

#[derive(Deserialize)]
struct WrittenDecision {
    id: String,
    outcome: String,
}

impl From<WrittenDecision> for DecidedRecord {
    fn from(written: WrittenDecision) -> Self {
        match ApprovalOutcome::from_word(&written.outcome) {
            Some(outcome) => Self::new(written.id, outcome),
            None => Self {
                id: written.id,
                outcome: ApprovalOutcome::Unavailable,
                unknown: Some(written.outcome),
            },
        }
    }
}

/// An `approval/policy` record: whether questions may be asked was switched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyRecord {
    /// The policy as it was written: `ask` or `never`.
    pub policy: String,
}
