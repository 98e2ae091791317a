//! How a command ended, and what it wrote.

use std::fmt::{self, Write as _};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::card::Ending;
use crate::card::shell::End;

/// The value of a call of the tool `bash`.
///
/// Its text is what the model reads: what was written, then a line in
/// brackets for each thing that is out of the ordinary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct BashReport {
    /// What was written, as far as it was kept: the beginning, a line about
    /// the gap if there is one, and the end.
    pub output: String,
    /// The exit status, unless a signal ended the shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended the shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// The time after which it was asked to end, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_out_after_ms: Option<u64>,
    /// How many bytes were left out for the budget.
    #[serde(default)]
    pub omitted_bytes: u64,
    /// How many sequences that are no UTF-8 were written.
    #[serde(default)]
    pub malformed: u64,
    /// The output was not read to its end: something that left the shell's
    /// group still holds it.
    #[serde(default)]
    pub incomplete: bool,
}

impl BashReport {
    fn end(&self) -> End {
        let ending = match (&self.signal, self.exit_code) {
            (Some(signal), _) => Ending::Signal(signal.clone()),
            (None, code) => Ending::ExitCode(code.unwrap_or(0)),
        };
        End {
            ending,
            timed_out_ms: self.timed_out_after_ms,
        }
    }
}

impl fmt::Display for BashReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut output = self.output.clone();
        if self.malformed > 0 {
            let sequences = if self.malformed == 1 {
                "sequence"
            } else {
                "sequences"
            };
            write!(output, "\n[{} malformed UTF-8 {sequences}]", self.malformed)?;
        }
        if self.incomplete {
            output.push_str("\n[output incomplete: another process still holds it]");
        }
        f.write_str(&self.end().text(&output))
    }
}
