//! The count of a whole run, on the host's side.

use serde_json::Value;
use toolfall_layers::{check_value, discard_value};

use super::meter::{CompletionFault, check_completion, cut, string_bytes};
use crate::code::{RunFailureKind, RunOutcome};

/// The smallest budget: no logs, `[]`, and an empty message, `""`.
pub const SMALLEST: usize = 4;

/// What is said of a value that JSON does not keep.
pub(crate) const LOSSY: &str = "program completion must be lossless JSON";

/// What is said of a run that put out more than `cap` bytes.
pub fn limit_message(cap: usize) -> String {
    format!("outer output exceeded {cap} bytes")
}

/// What a run has put out, within its budget.
///
/// Whatever is taken out of it fits the budget: the logs as a JSON list and
/// the value, or the failure's message, as JSON. A budget that is exceeded
/// outranks every other way to end.
#[derive(Clone, Debug)]
pub struct Ledger {
    cap: usize,
    used: usize,
    logs: Vec<String>,
    over: bool,
}

impl Ledger {
    /// A budget of `cap` bytes, at least [`SMALLEST`].
    pub fn new(cap: usize) -> Self {
        Self {
            cap: cap.max(SMALLEST),
            used: 2,
            logs: Vec::new(),
            over: false,
        }
    }

    /// Adds a log. False, also for every later one, if the budget is
    /// exceeded: the run is to be ended.
    pub fn push(&mut self, text: impl Into<String>) -> bool {
        if self.over {
            return false;
        }
        let text = text.into();
        let comma = usize::from(!self.logs.is_empty());
        let room = self.room().saturating_sub(comma);
        match string_bytes(&text, room) {
            Some(cost) => self.used += cost + comma,
            // Kept once more, for what of it may stay beside the message.
            None => self.over = true,
        }
        self.logs.push(text);
        !self.over
    }

    /// So many bytes are left for the value or the message.
    pub fn room(&self) -> usize {
        self.cap - self.used
    }

    /// Takes the budget for exceeded: more was put out than came here.
    pub fn exceed(&mut self) {
        self.over = true;
    }

    /// Whether the budget is exceeded.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// The outcome of a program that returned `value`.
    pub fn completed(self, value: Option<Value>) -> RunOutcome {
        if self.over {
            if let Some(value) = value {
                discard_value(value);
            }
            return self.limit();
        }
        let Some(value) = value else {
            return RunOutcome::completed(self.logs, None);
        };
        let judged = check_completion(&value, self.room());
        if judged.is_ok() && check_value(&value).is_ok() {
            return RunOutcome::completed(self.logs, Some(value));
        }
        discard_value(value);
        match judged {
            Err(CompletionFault::OverBudget) => self.limit(),
            _ => self.lossy(),
        }
    }

    /// The outcome of a program that failed so. Of an
    /// [output limit](RunFailureKind::OutputLimit) the message is the
    /// ledger's own.
    pub fn failed(self, kind: RunFailureKind, message: impl Into<String>) -> RunOutcome {
        let message = message.into();
        let exceeded = self.over || kind == RunFailureKind::OutputLimit;
        if exceeded || string_bytes(&message, self.room()).is_none() {
            return self.limit();
        }
        RunOutcome::failed(self.logs, kind, message)
    }

    /// The outcome of a program that returned what JSON does not keep.
    pub fn lossy(self) -> RunOutcome {
        self.failed(RunFailureKind::InvalidOutput, LOSSY)
    }

    /// Whole logs while they and the message fit, the beginning of one more,
    /// and of the message what then fits.
    fn limit(self) -> RunOutcome {
        let message = limit_message(self.cap);
        let fixed = string_bytes(&message, usize::MAX).unwrap_or(usize::MAX);
        let mut room = self.cap.saturating_sub(fixed).saturating_sub(2);
        let mut kept: Vec<String> = Vec::new();
        for mut text in self.logs {
            room = room.saturating_sub(usize::from(!kept.is_empty()));
            if let Some(cost) = string_bytes(&text, room) {
                room -= cost;
                kept.push(text);
                continue;
            }
            let end = cut(&text, room).len();
            if end > 0 {
                text.truncate(end);
                // What was read is not kept beside what stays of it.
                text.shrink_to_fit();
                kept.push(text);
            }
            break;
        }
        let left = if kept.is_empty() { self.cap - 2 } else { fixed };
        let message = cut(&message, left).to_owned();
        RunOutcome::failed(kept, RunFailureKind::OutputLimit, message)
    }
}
