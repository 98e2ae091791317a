//! What ends the program.

use std::fmt;
use std::path::Path;

/// A message for people, and the exit status that goes with it.
#[derive(Debug)]
pub(crate) struct Error {
    message: String,
    status: u8,
}

impl Error {
    /// Bad input: it names the file, the line and what was expected.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            status: 2,
        }
    }

    /// Bad input at a line of a file.
    pub(crate) fn at(file: &Path, line: u64, message: impl fmt::Display) -> Self {
        Self::input(format!("{}:{line}: {message}", file.display()))
    }

    /// Something of our own failed.
    pub(crate) fn own(what: &str, error: &(dyn std::error::Error + 'static)) -> Self {
        Self {
            message: format!("{what}: {}", chain(error)),
            status: 1,
        }
    }

    pub(crate) const fn status(&self) -> u8 {
        self.status
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// An error with its causes, which do not repeat each other.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

/// The chain of a log error that was not found by us.
pub(crate) fn log_error(error: &toolfall::session::LogError) -> Error {
    use toolfall::session::LogError;
    let message = chain(error);
    let status = match error {
        LogError::Read(_)
        | LogError::Open { .. }
        | LogError::NotAFile { .. }
        | LogError::Locked { .. } => 2,
        _ => 1,
    };
    Error { message, status }
}
