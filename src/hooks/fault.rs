//! How a hook can fail to answer.

use std::fmt;
use std::time::Duration;

/// Why a hook's answer cannot be relied on.
///
/// In front of a call a fault denies, unless the hook says
/// [`OnFault::Ignore`](super::OnFault::Ignore).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HookFault {
    /// It could not be started.
    NotStarted(String),
    /// It did not end within this time and was killed.
    TimedOut(Duration),
    /// It ended without an exit code: a signal killed it.
    NoExitCode,
    /// It ended with a code other than 0 and 2.
    ExitCode(i32),
    /// It wrote more than this many bytes and was killed.
    TooMuchOutput(usize),
    /// What it wrote is not one JSON object that can be kept exactly.
    NotAnObject(String),
    /// A field has another type than it must have.
    WrongType {
        /// The field's JSON pointer.
        pointer: &'static str,
        /// What is expected there.
        expected: &'static str,
    },
    /// It decided in a word that is no decision there.
    UnknownDecision {
        /// The field's JSON pointer.
        pointer: &'static str,
        /// The word, cut if it is long.
        word: String,
    },
    /// It answered to another event than the one that was told it.
    OtherEvent {
        /// The event that was told.
        expected: &'static str,
        /// The event that was named, cut if it is long; none was if absent.
        found: Option<String>,
    },
}

impl fmt::Display for HookFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted(cause) => write!(f, "it cannot be started: {cause}"),
            Self::TimedOut(after) => write!(f, "it did not end within {}ms", after.as_millis()),
            Self::NoExitCode => f.write_str("it ended without an exit code"),
            Self::ExitCode(code) => {
                write!(f, "expected the exit code 0 or 2, found {code}")
            }
            Self::TooMuchOutput(limit) => {
                write!(
                    f,
                    "expected at most {limit} bytes on standard output, found more"
                )
            }
            Self::NotAnObject(found) => {
                write!(f, "expected a JSON object on standard output, {found}")
            }
            Self::WrongType { pointer, expected } => {
                write!(f, "expected {expected} at {pointer}, found something else")
            }
            Self::UnknownDecision { pointer, word } => {
                write!(f, "expected a decision at {pointer}, found {word:?}")
            }
            Self::OtherEvent { expected, found } => {
                write!(f, "expected an answer to {expected:?}, found one to ")?;
                match found {
                    Some(found) => write!(f, "{found:?}"),
                    None => f.write_str("no event"),
                }
            }
        }
    }
}

impl std::error::Error for HookFault {}
