//! What a check can find.

use std::fmt;

/// One broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The record's line, counted from 1.
    pub line: u64,
    /// What is wrong there.
    pub problem: Problem,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

/// What is wrong with a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Records are missing, repeated or out of order.
    #[error("expected record {expected}, found record {found}")]
    Sequence {
        /// The `seq` after the one before.
        expected: u64,
        /// The record's `seq`.
        found: u64,
    },
    /// A second call record has the same ordinal.
    #[error("a second call {call}")]
    RepeatedCall {
        /// The ordinal.
        call: u64,
    },
    /// A call cites an enclosing call that is not open.
    #[error("call {call} is nested in call {enclosing}, which is not open")]
    NestedInNoCall {
        /// The nested call.
        call: u64,
        /// The cited one.
        enclosing: u64,
    },
    /// A call never ended.
    #[error("call {call} has no result")]
    CallWithoutResult {
        /// The call.
        call: u64,
    },
    /// A record cites a call that the log does not hold.
    #[error("there is no call {call}")]
    NoSuchCall {
        /// The cited call.
        call: u64,
    },
    /// A record cites a call that already has its result.
    #[error("call {call} already has its result")]
    CallEnded {
        /// The cited call.
        call: u64,
    },
    /// A call was marked as started twice, or started though it was never begun.
    #[error("call {call} cannot start here")]
    UnexpectedStart {
        /// The call.
        call: u64,
    },
    /// A result carries another id than its call.
    #[error("the result of call {call} has another id than the call")]
    OtherId {
        /// The call.
        call: u64,
    },
    /// A result comes before that of an earlier call of its batch.
    #[error("the result of call {call} comes before that of call {earlier}")]
    OutOfOrder {
        /// The call whose result this is.
        call: u64,
        /// The first earlier call that is still open.
        earlier: u64,
    },
    /// A call's result says that no body started, but it is a body's and one did.
    #[error("call {call} started, but its result says it did not")]
    StartedAfterAll {
        /// The call.
        call: u64,
    },
    /// A message stands between a call of its batch and that call's result.
    #[error("a message of call {call} comes before the result of call {open}")]
    MessageInsideCall {
        /// The call that left the message.
        call: u64,
        /// The open call.
        open: u64,
    },
    /// The record of a program's call stands between turns.
    #[error("the call {sub:?} of a program stands outside any open turn")]
    DispatchOutsideTurn {
        /// The call's id.
        sub: String,
    },
    /// The record of a program's call does not say which call it is.
    #[error(
        "the records of a program's calls must carry non-empty rootCallId, parentCallId and \
         subCallId"
    )]
    DispatchWithoutId,
    /// Another call of a program had the same id, below another root.
    #[error("changed rootCallId for subCallId {sub}")]
    RootChanged {
        /// The call's id.
        sub: String,
    },
    /// A call cites a parent that stands below another root.
    #[error("parentCallId {parent} does not belong to rootCallId {root}")]
    ForeignParent {
        /// The cited parent.
        parent: String,
        /// The cited root.
        root: String,
    },
    /// A question has the id of one that is still open.
    #[error("question {id:?} is asked while it is open")]
    RepeatedQuestion {
        /// The question's id.
        id: String,
    },
    /// A question names no tool.
    #[error("question {id:?} names no tool")]
    QuestionWithoutTool {
        /// The question's id.
        id: String,
    },
    /// A question was never settled.
    #[error("question {id:?} is never decided")]
    Undecided {
        /// The question's id.
        id: String,
    },
    /// A decision settles no open question.
    #[error("question {id:?} is decided but not open")]
    NotAsked {
        /// The question's id.
        id: String,
    },
    /// A decision is none of the known outcomes.
    #[error("expected an outcome for question {id:?}, found {found:?}")]
    UnknownOutcome {
        /// The question's id.
        id: String,
        /// The word that was written.
        found: String,
    },
    /// A question or decision stands between turns.
    #[error("question {id:?} is asked or decided outside a turn")]
    OutsideTurn {
        /// The question's id.
        id: String,
    },
    /// A policy is neither `ask` nor `never`.
    #[error("expected the policy \"ask\" or \"never\", found {found:?}")]
    UnknownPolicy {
        /// The word that was written.
        found: String,
    },
    /// A preset that the table does not hold; found only where
    /// [`Audit::presets`](super::Audit::presets) says which there are.
    #[error("unknown preset {found:?}")]
    UnknownPreset {
        /// The name that was written.
        found: String,
    },
    /// A sandbox mode that is none.
    #[error(
        "expected the sandbox mode \"read-only\", \"workspace-write\" or \
         \"danger-full-access\", found {found:?}"
    )]
    UnknownSandboxMode {
        /// The word that was written.
        found: String,
    },
    /// An effective approval policy, or its source, that is none.
    #[error("expected {expected}, found {found:?}")]
    UnknownEffective {
        /// What the word stands for: an approval policy or its source.
        expected: &'static str,
        /// The word that was written.
        found: String,
    },
}
