//! What became of a program.

use std::fmt;

use serde_json::Value;

/// What a program printed, and what it returned or how it failed.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RunOutcome {
    /// What it printed, in order.
    pub logs: Vec<String>,
    /// What it returned; nothing is no value, and not `null`. Never beside a
    /// failure.
    pub value: Option<Value>,
    /// How it failed.
    pub error: Option<RunFailure>,
}

impl RunOutcome {
    /// A program that came to its end.
    pub fn completed(logs: Vec<String>, value: Option<Value>) -> Self {
        Self {
            logs,
            value,
            error: None,
        }
    }

    /// A program that failed.
    pub fn failed(logs: Vec<String>, kind: RunFailureKind, message: impl Into<String>) -> Self {
        Self {
            logs,
            value: None,
            error: Some(RunFailure {
                kind,
                message: message.into(),
            }),
        }
    }
}

/// How a program failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFailure {
    /// The class of the failure.
    pub kind: RunFailureKind,
    /// The failure in a sentence; the program's own words in an exception.
    pub message: String,
}

/// The six ways in which a program fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunFailureKind {
    /// The program threw, or cannot be read.
    Exception,
    /// It used up its time.
    Timeout,
    /// It was cancelled.
    Abort,
    /// What ran it is gone: memory, a signal, an exit.
    WorkerExit,
    /// What it returned is no lossless JSON.
    InvalidOutput,
    /// What it printed and returned is too much.
    OutputLimit,
}

impl RunFailureKind {
    /// The kind's name on the wire: `exception`, `timeout`, `abort`,
    /// `worker-exit`, `invalid-output` or `output-limit`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exception => "exception",
            Self::Timeout => "timeout",
            Self::Abort => "abort",
            Self::WorkerExit => "worker-exit",
            Self::InvalidOutput => "invalid-output",
            Self::OutputLimit => "output-limit",
        }
    }
}

impl fmt::Display for RunFailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
