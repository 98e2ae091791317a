//! The closed vocabularies beside the interoperable `info`.

use std::borrow::Cow;
use std::fmt;

/// Name and code of an error, as records and other implementations know them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorInfo {
    name: Cow<'static, str>,
    code: Cow<'static, str>,
}

impl ErrorInfo {
    /// The error's class and its code.
    pub fn new(name: impl Into<Cow<'static, str>>, code: impl Into<Cow<'static, str>>) -> Self {
        Self {
            name: name.into(),
            code: code.into(),
        }
    }

    /// The error's class.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The stable code.
    pub fn code(&self) -> &str {
        &self.code
    }
}

/// Why a call failed: what a host branches on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The arguments are malformed, cannot be kept exactly, or break the schema.
    InvalidArguments,
    /// No such tool, as far as the caller may know.
    UnknownTool,
    /// A policy, a guard or a person refused.
    Denied,
    /// The caller cancelled.
    Cancelled,
    /// A deadline passed.
    TimedOut,
    /// The body failed.
    Body,
    /// The body's value breaks the output contract.
    InvalidOutput,
    /// A post-execute policy withheld the result.
    Blocked,
    /// A policy, a guard, an approver or a finalizer itself failed.
    Policy,
    /// A layer of the stack failed.
    Pipeline,
    /// A load-shedding layer refused.
    Overloaded,
    /// The call could not be recorded, so it did not run.
    Unrecorded,
    /// The model's reply was cut off, so the call did not run.
    Truncated,
    /// The process ended while the call was open.
    Interrupted,
}

impl FailureKind {
    /// A stable name, for records and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidArguments => "invalid_arguments",
            Self::UnknownTool => "unknown_tool",
            Self::Denied => "denied",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
            Self::Body => "body",
            Self::InvalidOutput => "invalid_output",
            Self::Blocked => "blocked",
            Self::Policy => "policy",
            Self::Pipeline => "pipeline",
            Self::Overloaded => "overloaded",
            Self::Unrecorded => "unrecorded",
            Self::Truncated => "truncated",
            Self::Interrupted => "interrupted",
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who decided the outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecidedBy {
    /// A pre-decision policy, with the name of the rule if it gave one.
    Policy(Option<Cow<'static, str>>),
    /// The approver: a person, or whoever answers for one.
    Approver,
    /// An `ask` that nobody could answer.
    Nobody,
    /// A guard, with its name if it gave one.
    Guard(Option<Cow<'static, str>>),
    /// A post-execute policy, with its name if it gave one.
    PostPolicy(Option<Cow<'static, str>>),
    /// The pipeline itself.
    Pipeline,
}

impl DecidedBy {
    pub(crate) const fn policy(name: Option<Cow<'static, str>>) -> Self {
        Self::Policy(name)
    }

    pub(crate) const fn guard(name: Option<Cow<'static, str>>) -> Self {
        Self::Guard(name)
    }

    pub(crate) const fn post_policy(name: Option<Cow<'static, str>>) -> Self {
        Self::PostPolicy(name)
    }
}

impl fmt::Display for DecidedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (who, name) = match self {
            Self::Policy(name) => ("policy", name.as_deref()),
            Self::Approver => ("approver", None),
            Self::Nobody => ("nobody", None),
            Self::Guard(name) => ("guard", name.as_deref()),
            Self::PostPolicy(name) => ("post policy", name.as_deref()),
            Self::Pipeline => ("pipeline", None),
        };
        match name {
            Some(name) => write!(f, "{who} {name:?}"),
            None => f.write_str(who),
        }
    }
}

/// What may have happened in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// No body was entered.
    NotStarted,
    /// Every body that was entered came to its own end.
    Stopped,
    /// A body was dropped, or the runtime went away under it.
    Unknown,
}

impl Effect {
    /// A stable name, for records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotStarted => "not_started",
            Self::Stopped => "stopped",
            Self::Unknown => "unknown",
        }
    }
}
