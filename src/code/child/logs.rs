//! Logs of both kinds into one ledger.

use crate::code::ledger::{Ledger, LogBuffer, Pushed};
use crate::code::protocol::{Log, truncation_marker};

/// The run's ledger, and the bound of its logs if there is one.
pub(in crate::code) struct Logs {
    pub(in crate::code) ledger: Ledger,
    bound: Option<Bound>,
}

struct Bound {
    bytes: usize,
    buffer: LogBuffer,
    marked: bool,
}

impl Logs {
    pub(in crate::code) fn new(output: usize, logs: Option<usize>) -> Self {
        Self {
            ledger: Ledger::new(output),
            bound: logs.filter(|bytes| *bytes < output).map(|bytes| Bound {
                bytes,
                buffer: LogBuffer::new(bytes),
                marked: false,
            }),
        }
    }

    /// Takes a log of the program's. False if the run is to be ended.
    pub(in crate::code) fn push(&mut self, log: Log) -> bool {
        let Some(bound) = &mut self.bound else {
            let pushed = self.ledger.push(log.text);
            if log.truncated {
                // What was cut there would have been too much here.
                self.ledger.exceed();
            }
            return pushed && !log.truncated;
        };
        let kept = match bound.buffer.push(&log.text) {
            Pushed::Whole => Some(log.text.as_str()),
            Pushed::Cut(begin) => Some(begin).filter(|begin| !begin.is_empty()),
            Pushed::Dropped => None,
        };
        // The one who cut it first, host or guest, counts.
        let cut = log.truncated || kept.is_none_or(|kept| kept.len() < log.text.len());
        if bound.marked {
            return !self.ledger.is_over();
        }
        let kept = kept.is_none_or(|kept| self.ledger.push(kept));
        if !cut {
            return kept;
        }
        bound.marked = true;
        kept && self.ledger.push(truncation_marker(bound.bytes))
    }

    /// Takes a line that was written past the protocol.
    pub(in crate::code) fn push_raw(&mut self, text: String) -> bool {
        self.push(Log {
            text,
            truncated: false,
        })
    }
}
