//! The count of logs where they are made.

use serde_json::Value;

use super::book::{LOSSY, limit_message};
use super::meter::{CompletionFault, check_completion, cut, string_bytes};
use crate::code::protocol::Done;
use crate::code::{RunFailure, RunFailureKind};

/// Counts logs before they leave a program's own process, so that what a
/// host would drop is never sent.
///
/// ```
/// use toolfall::code::ledger::{LogBuffer, Pushed};
///
/// let mut logs = LogBuffer::new(15);
/// assert_eq!(logs.push("12345"), Pushed::Whole);
/// // `["12345","123"]` takes 15 bytes.
/// assert_eq!(logs.push("123456"), Pushed::Cut("123"));
/// assert_eq!(logs.push("dropped"), Pushed::Dropped);
/// assert_eq!(logs.remaining(), 0);
/// ```
#[derive(Clone, Debug)]
pub struct LogBuffer {
    cap: usize,
    remaining: usize,
    first: bool,
    full: bool,
}

/// What became of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed<'a> {
    /// It counts, and is to be sent as it is.
    Whole,
    /// The limit is reached, which is told this once: this much of the log,
    /// perhaps nothing, is to be sent, marked as truncated.
    Cut(&'a str),
    /// The limit was reached before.
    Dropped,
}

impl LogBuffer {
    /// A buffer for logs that take `cap` bytes as a JSON list.
    pub fn new(cap: usize) -> Self {
        Self {
            cap,
            remaining: cap.saturating_sub(2),
            first: true,
            full: false,
        }
    }

    /// So many bytes are left.
    pub fn remaining(&self) -> usize {
        self.remaining
    }

    /// Counts one more log.
    pub fn push<'a>(&mut self, text: &'a str) -> Pushed<'a> {
        if self.full {
            return Pushed::Dropped;
        }
        let room = self.remaining.saturating_sub(usize::from(!self.first));
        if let Some(cost) = string_bytes(text, room) {
            self.remaining = room - cost;
            self.first = false;
            return Pushed::Whole;
        }
        self.full = true;
        self.remaining = 0;
        Pushed::Cut(cut(text, room))
    }

    /// What to say at the program's end, if it returned `value`: the value,
    /// or why it is none.
    pub fn completion(&self, value: Option<Value>) -> Done {
        let Some(value) = value else {
            return Done::Completed(None);
        };
        match check_completion(&value, self.remaining) {
            Err(CompletionFault::OverBudget) => self.over(),
            Err(CompletionFault::Lossy) => Done::Failed(RunFailure {
                kind: RunFailureKind::InvalidOutput,
                message: LOSSY.to_owned(),
            }),
            Ok(_) => Done::Completed(Some(value)),
        }
    }

    /// What to say at the program's end, if it failed so: the message only
    /// where there is room for it.
    pub fn failure(&self, kind: RunFailureKind, message: impl Into<String>) -> Done {
        let message = message.into();
        if string_bytes(&message, self.remaining).is_none() {
            return self.over();
        }
        Done::Failed(RunFailure { kind, message })
    }

    fn over(&self) -> Done {
        Done::Failed(RunFailure {
            kind: RunFailureKind::OutputLimit,
            message: limit_message(self.cap),
        })
    }
}
