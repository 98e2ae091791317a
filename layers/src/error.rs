//! Errors with codes, and how an error becomes a failure.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use tower::load_shed::error::Overloaded;
use tower::timeout::error::Elapsed;

use crate::outcome::{DecidedBy, ErrorInfo, FailureKind, ToolOutcome, codes};
use crate::panic;

/// The error type of the stages: tower's own.
pub type BoxError = tower::BoxError;

/// An error with a name and a stable code.
///
/// Bodies, policies and wrappers return it, alone or as the
/// [`source`](Error::source) of another error, to give the failure that the
/// model sees its `info`.
///
/// ```
/// use toolfall_layers::CodedError;
///
/// let error = CodedError::new("QuotaError", "QUOTA", "the quota is used up");
/// assert_eq!(error.to_string(), "the quota is used up");
/// assert_eq!(error.info().code(), "QUOTA");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodedError {
    info: ErrorInfo,
    message: Cow<'static, str>,
}

impl CodedError {
    /// An error of class `name` with `code`.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        code: impl Into<Cow<'static, str>>,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            info: ErrorInfo::new(name, code),
            message: message.into(),
        }
    }

    /// Name and code.
    pub fn info(&self) -> &ErrorInfo {
        &self.info
    }
}

impl fmt::Display for CodedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for CodedError {}

/// Which user-supplied part of a stage failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// A pre-decision policy.
    Policy,
    /// The approver.
    Approver,
    /// A guard.
    Guard,
    /// A post-execute policy.
    PostPolicy,
    /// Whatever records calls before they run.
    Recorder,
}

/// What a policy, a guard or an approver failed with, wrapped so that its own
/// `Elapsed` or `Overloaded` is not taken for the tool's.
#[derive(Debug)]
pub struct StageError {
    part: Part,
    source: BoxError,
}

impl StageError {
    /// Wraps what `part` failed with.
    pub fn new(part: Part, source: impl Into<BoxError>) -> Self {
        Self {
            part,
            source: source.into(),
        }
    }

    /// Which part failed.
    pub const fn part(&self) -> Part {
        self.part
    }
}

impl fmt::Display for StageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.part {
            Part::Policy => "a pre-decision policy failed",
            Part::Approver => "the approver failed",
            Part::Guard => "a guard failed",
            Part::PostPolicy => "a post-execute policy failed",
            Part::Recorder => "the call could not be recorded",
        })
    }
}

impl Error for StageError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.source)
    }
}

/// Turns what a body failed with into its outcome.
pub(crate) fn body_failure(error: &(dyn Error + 'static)) -> ToolOutcome {
    let outcome = ToolOutcome::failure(panic::display(&error)).of_kind(FailureKind::Body);
    match coded(error) {
        Some(info) if info.code() == codes::INVALID_TOOL_OUTPUT => outcome
            .with_info(info.clone())
            .of_kind(FailureKind::InvalidOutput),
        Some(info) => outcome.with_info(info.clone()),
        None => outcome,
    }
}

/// Turns an error that came up the stack into the failure to publish.
pub(crate) fn pipeline_failure(error: &(dyn Error + 'static)) -> ToolOutcome {
    let mut message_of = error;
    let mut decided_by = DecidedBy::Pipeline;
    let mut kind = FailureKind::Pipeline;
    if let Some(stage) = find::<StageError>(error) {
        message_of = stage.source().unwrap_or(error);
        (kind, decided_by) = match stage.part {
            Part::Policy => (FailureKind::Policy, DecidedBy::policy(None)),
            Part::Approver => (FailureKind::Policy, DecidedBy::Approver),
            Part::Guard => (FailureKind::Policy, DecidedBy::guard(None)),
            Part::PostPolicy => (FailureKind::Policy, DecidedBy::post_policy(None)),
            Part::Recorder => (FailureKind::Unrecorded, DecidedBy::Pipeline),
        };
    }
    let outcome = if let Some(info) = coded(error) {
        ToolOutcome::failure(panic::display(&message_of)).with_info(info.clone())
    } else if kind == FailureKind::Pipeline && find::<Elapsed>(error).is_some() {
        kind = FailureKind::TimedOut;
        ToolOutcome::failure("tool call timed out")
            .with_info(ErrorInfo::new("ToolTimeoutError", codes::TOOL_TIMEOUT))
    } else if kind == FailureKind::Pipeline && find::<Overloaded>(error).is_some() {
        kind = FailureKind::Overloaded;
        ToolOutcome::failure("the tool is overloaded; try again later")
            .with_info(ErrorInfo::new("OverloadedError", codes::OVERLOADED))
    } else {
        ToolOutcome::failure(panic::display(&message_of))
    };
    outcome.of_kind(kind).by(decided_by)
}

fn coded<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a ErrorInfo> {
    find::<CodedError>(error).map(CodedError::info)
}

/// Looks for a `T` along `source()`. The walk is bounded: a chain that loops
/// must not hang the pipeline, and a `source` may panic.
fn find<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    const LONGEST: usize = 64;
    let mut next = Some(error);
    for _ in 0..LONGEST {
        let error = next?;
        if let Some(found) = error.downcast_ref::<T>() {
            return Some(found);
        }
        next = panic::catch(|| error.source()).ok().flatten();
    }
    None
}
