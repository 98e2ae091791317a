//! The question and its answers.

use std::borrow::Cow;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio_util::sync::CancellationToken;

use crate::arguments::Arguments;
use crate::call::{CallId, CallView, Scope};

/// A question to whoever approves calls: asked once per call, with every
/// reason that the policies gave.
#[derive(Clone, Debug)]
pub struct ApprovalRequest {
    /// Its text is made when somebody asks for it: most approvers never do.
    number: u64,
    view: CallView,
    reason: Option<String>,
}

impl ApprovalRequest {
    pub(crate) fn new(view: CallView, reason: Option<String>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        // A policy that saw the original may quote it.
        let reason = reason.map(|reason| match view.shown_text(&reason) {
            Cow::Owned(shown) => shown,
            Cow::Borrowed(_) => reason,
        });
        Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            view,
            reason,
        }
    }

    /// The question's own id: unique in the process, and unlikely to be met
    /// in another one. Clones share it; a call that is asked about again has
    /// another one.
    pub fn id(&self) -> String {
        question_id(self.number)
    }

    /// The call, to show it: its arguments are the ones that will run.
    pub const fn call(&self) -> &CallView {
        &self.view
    }

    /// The model's id for the call.
    pub fn call_id(&self) -> &CallId {
        self.view.id()
    }

    /// The tool's name.
    pub fn tool(&self) -> &str {
        self.view.name()
    }

    /// The text of the arguments as the person who is asked may see it; see
    /// [`redaction`](crate::redaction).
    pub fn shown_arguments(&self) -> Cow<'_, str> {
        self.view.shown_arguments()
    }

    /// The frozen arguments, the very ones that will run: for an approver
    /// that decides by itself. To show them, take
    /// [`shown_arguments`](Self::shown_arguments).
    pub fn arguments(&self) -> Option<&Arguments> {
        self.view.arguments()
    }

    /// On whose behalf the call is made.
    pub fn scope(&self) -> Option<&Scope> {
        self.view.scope()
    }

    /// Why the policies ask, joined by `; `; absent if none said.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// The caller's own token.
    pub fn cancellation(&self) -> &CancellationToken {
        self.view.cancellation()
    }
}

/// A question's id. The first half tells processes apart that write one log
/// one after the other.
fn question_id(number: u64) -> String {
    static PROCESS: OnceLock<u64> = OnceLock::new();
    let process = PROCESS.get_or_init(|| RandomState::new().hash_one(()));
    format!("ask-{process:016x}-{number}")
}

/// How a question ended, in one of four words: see [`ApprovalAnswer`] for what
/// goes with it. Nothing here lasts beyond the call.
///
/// [`ApprovalAnswer`]: super::ApprovalAnswer
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalOutcome {
    /// This call may run.
    AllowedOnce,
    /// Refused.
    Rejected,
    /// The question was withdrawn.
    Cancelled,
    /// Nobody could answer.
    Unavailable,
}

impl ApprovalOutcome {
    /// The word used in records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AllowedOnce => "allowed-once",
            Self::Rejected => "rejected",
            Self::Cancelled => "cancelled",
            Self::Unavailable => "unavailable",
        }
    }

    /// Reads the word used in records; an unknown one is [`Unavailable`]
    /// (never a grant).
    ///
    /// [`Unavailable`]: Self::Unavailable
    pub fn from_wire(word: &str) -> Self {
        Self::from_word(word).unwrap_or(Self::Unavailable)
    }

    /// The outcome that `word` names, if it names one.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "allowed-once" => Some(Self::AllowedOnce),
            "rejected" => Some(Self::Rejected),
            "cancelled" => Some(Self::Cancelled),
            "unavailable" => Some(Self::Unavailable),
            _ => None,
        }
    }
}

impl fmt::Display for ApprovalOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
