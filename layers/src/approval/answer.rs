//! What an approver says: an outcome, and what goes with a refusal.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ApprovalOutcome;
use crate::arguments::printable;
use crate::error::BoxError;
use crate::policy::IntoAnswer;

/// The most characters of a refusal's message that are kept.
pub const MAX_MESSAGE: usize = 2000;

/// The answer to an [`ApprovalRequest`](super::ApprovalRequest).
///
/// An approver that has nothing to add answers an [`ApprovalOutcome`], which
/// becomes one of these. A refusal may tell the model why, and may end the
/// model's turn:
///
/// ```
/// use toolfall_layers::{ApprovalAnswer, ApprovalOutcome};
///
/// let answer = ApprovalAnswer::rejected("use the staging host").ending_turn();
/// assert_eq!(answer.outcome(), ApprovalOutcome::Rejected);
/// assert_eq!(answer.message(), Some("use the staging host"));
/// assert!(answer.ends_turn());
/// // Only a refusal ends the turn.
/// let grant = ApprovalAnswer::from(ApprovalOutcome::AllowedOnce).ending_turn();
/// assert!(!grant.ends_turn());
/// ```
///
/// As JSON it is `{"outcome":"rejected","message":"…","ends_turn":true}`; what
/// it lacks is left out. A word that is no outcome reads as
/// [`Unavailable`](ApprovalOutcome::Unavailable), never as a grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written")]
pub struct ApprovalAnswer {
    outcome: ApprovalOutcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    ends_turn: bool,
    #[serde(skip)]
    waited: Option<Duration>,
}

impl ApprovalAnswer {
    /// A refusal that tells the model why.
    ///
    /// The message is kept up to [`MAX_MESSAGE`] characters, control
    /// characters are written as escapes, and an empty one is none.
    pub fn rejected(message: impl AsRef<str>) -> Self {
        let message = message.as_ref().trim();
        Self {
            message: (!message.is_empty()).then(|| printable(message, MAX_MESSAGE)),
            ..Self::from(ApprovalOutcome::Rejected)
        }
    }

    /// Nobody answered within `waited`: [`ApprovalOutcome::Unavailable`], and
    /// the call fails with the code `APPROVAL_TIMEOUT`.
    pub fn expired(waited: Duration) -> Self {
        Self {
            waited: Some(waited),
            ..Self::from(ApprovalOutcome::Unavailable)
        }
    }

    /// A refusal that also ends the model's turn: its result carries the mark
    /// that a tool sets which concludes the turn, whatever becomes of the
    /// result on its way out. Any other answer is left as it is.
    pub fn ending_turn(mut self) -> Self {
        self.ends_turn = self.outcome == ApprovalOutcome::Rejected;
        self
    }

    /// The word for it.
    pub const fn outcome(&self) -> ApprovalOutcome {
        self.outcome
    }

    /// What a refusal tells the model.
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// Whether the refusal ends the model's turn.
    pub const fn ends_turn(&self) -> bool {
        self.ends_turn
    }

    /// How long was waited in vain, if the wait had a deadline that passed.
    pub const fn waited(&self) -> Option<Duration> {
        self.waited
    }
}

impl From<ApprovalOutcome> for ApprovalAnswer {
    fn from(outcome: ApprovalOutcome) -> Self {
        Self {
            outcome,
            message: None,
            ends_turn: false,
            waited: None,
        }
    }
}

/// An answer as it was written, perhaps elsewhere.
#[derive(Deserialize)]
struct Written {
    outcome: String,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    ends_turn: bool,
}

impl From<Written> for ApprovalAnswer {
    fn from(written: Written) -> Self {
        let answer = match ApprovalOutcome::from_wire(&written.outcome) {
            ApprovalOutcome::Rejected => Self::rejected(written.message.unwrap_or_default()),
            outcome => Self::from(outcome),
        };
        if written.ends_turn {
            answer.ending_turn()
        } else {
            answer
        }
    }
}

// Approvers and answerers that only have an outcome to give.

impl IntoAnswer<ApprovalAnswer> for ApprovalOutcome {
    fn into_answer(self) -> Result<ApprovalAnswer, BoxError> {
        Ok(self.into())
    }
}

impl<E: Into<BoxError>> IntoAnswer<ApprovalAnswer> for Result<ApprovalOutcome, E> {
    fn into_answer(self) -> Result<ApprovalAnswer, BoxError> {
        self.map(Into::into).map_err(Into::into)
    }
}

impl IntoAnswer<Option<ApprovalAnswer>> for Option<ApprovalOutcome> {
    fn into_answer(self) -> Result<Option<ApprovalAnswer>, BoxError> {
        Ok(self.map(Into::into))
    }
}

impl<E: Into<BoxError>> IntoAnswer<Option<ApprovalAnswer>> for Result<Option<ApprovalOutcome>, E> {
    fn into_answer(self) -> Result<Option<ApprovalAnswer>, BoxError> {
        self.map(|outcome| outcome.map(Into::into))
            .map_err(Into::into)
    }
}
