//! From the result of a program's call to its record.
//!
//! A program goes on with the value before the copy for the log is ready, so
//! the recorder hands the record to whoever runs the program. Whatever becomes
//! of that one, the record is written.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use toolfall_layers::{CallId, CallView, ContentBlock};

use super::dispatch::DispatchRecord;
use super::{LogError, SessionLog};

/// Marks a call that a program made; travels as an extension.
pub(crate) struct SubCall {
    /// The id of the call that runs the program.
    pub(crate) parent: CallId,
    /// The call's number within the program, from 1.
    pub(crate) number: u64,
    /// Where the record of its result is to be left.
    pub(crate) copies: Arc<LogCopies>,
}

/// The records that wait to be taken by whoever runs the program.
#[derive(Default)]
pub(crate) struct LogCopies(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    copies: HashMap<u64, LogCopy>,
    /// Nobody takes any more.
    closed: bool,
}

impl LogCopies {
    /// Leaves a record there, or writes it where nobody would take it.
    pub(super) fn leave(&self, number: u64, copy: LogCopy) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.closed {
            drop(waiting);
            copy.write();
        } else {
            waiting.copies.insert(number, copy);
        }
    }

    /// Takes the record of the call `number`, if there is one.
    #[cfg(feature = "code")]
    pub(crate) fn take(&self, number: u64) -> Option<LogCopy> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.copies.remove(&number)
    }

    /// Writes what waits, and from here on whatever comes.
    #[cfg(feature = "code")]
    pub(crate) fn close(&self) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.closed = true;
        let copies = std::mem::take(&mut waiting.copies);
        drop(waiting);
        let mut copies: Vec<_> = copies.into_iter().collect();
        copies.sort_by_key(|(number, _)| *number);
        for (_, copy) in copies {
            copy.write();
        }
    }
}

/// A record on its way into the log; dropping it writes it as it is.
pub(crate) struct LogCopy {
    log: SessionLog,
    call: CallView,
    record: Option<DispatchRecord>,
}

impl LogCopy {
    pub(super) const fn new(log: SessionLog, call: CallView, record: DispatchRecord) -> Self {
        Self {
            log,
            call,
            record: Some(record),
        }
    }

    /// The call.
    #[cfg(feature = "code")]
    pub(crate) const fn call(&self) -> &CallView {
        &self.call
    }

    /// What the record shows.
    #[cfg(feature = "code")]
    pub(crate) fn content(&self) -> &[ContentBlock] {
        let record = self.record.as_ref();
        record.map_or(&[], |record| &record.content)
    }

    /// Has the record show something else.
    #[cfg(feature = "code")]
    pub(crate) fn show(&mut self, content: Vec<ContentBlock>) {
        if let Some(record) = &mut self.record {
            record.content = content;
        }
    }

    /// Writes the record.
    pub(crate) fn write(mut self) {
        self.write_once();
    }

    fn write_once(&mut self) {
        let Some(record) = self.record.take() else {
            return;
        };
        let written = match self.log.append(record.clone()) {
            // Too long a line, or what no line can hold: a call without an
            // end would be worse.
            Err(LogError::Unrecordable {
                expected, found, ..
            }) => {
                let why = format!("(Not recorded: expected {expected}, found {found}.)");
                let content = vec![ContentBlock::text(why)];
                self.log.append(DispatchRecord { content, ..record })
            }
            written => written,
        };
        if let Err(error) = written {
            tracing::warn!(
                "tool \"{}\" ({}): the result could not be recorded: {error}",
                self.call.name(),
                self.call.id()
            );
        }
    }
}

impl Drop for LogCopy {
    fn drop(&mut self) {
        self.write_once();
    }
}

impl fmt::Debug for LogCopy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogCopy")
            .field("record", &self.record)
            .finish_non_exhaustive()
    }
}
