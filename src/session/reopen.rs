//! Opening a log: read it, cut off what is torn, close what is open.

use std::sync::Arc;

use super::bodies::TornRecord;
use super::error::{LogError, ReadError};
use super::log::{SessionLog, sync_regularly};
use super::options::{Options, SyncPolicy};
use super::read::{LogReader, Torn};
use super::recover::{Recovery, Unfinished};
use super::shared::Shared;
use super::sink::LogSink;

/// How much of a torn line its record shows.
const SHOWN: usize = 4096;

/// What reading the existing log found.
struct Found {
    unfinished: Unfinished,
    recovery: Recovery,
    len: u64,
}

/// Opens the log that `sink` holds.
///
/// Every repair is a truncation or an append of whole records, and each is
/// derived from what the log then holds. If the process ends half way, the next
/// opening goes on where this one stopped.
pub(super) fn reopen(
    sink: Box<dyn LogSink>,
    options: Options,
) -> Result<(SessionLog, Recovery), LogError> {
    let Found {
        unfinished,
        mut recovery,
        mut len,
    } = read(sink.as_ref(), &options)?;
    let repair = |source| LogError::Repair {
        file: sink.path().map(Into::into),
        source,
    };
    if recovery.terminated {
        sink.append(b"\n").map_err(repair)?;
        len += 1;
    }
    if recovery.torn.is_some() {
        sink.truncate(len).map_err(repair)?;
    }
    let (seq, call) = (unfinished.next_seq(), unfinished.next_call());
    let policy = options.sync;
    let shared = Arc::new(Shared::new(sink, options, seq, call, len));
    let log = SessionLog::new(shared);
    if let SyncPolicy::Interval(every) = policy {
        sync_regularly(log.shared(), every)?;
    }
    if let Some(torn) = &recovery.torn {
        log.append(torn_record(torn))?;
    }
    for body in unfinished.closing() {
        log.append(body)?;
    }
    recovery.interrupted = unfinished.calls().into_iter().cloned().collect();
    recovery.questions = unfinished.questions();
    recovery.cancelled = unfinished.approvals().to_vec();
    if policy == SyncPolicy::Never {
        return Ok((log, recovery));
    }
    // What the last writer left may not be synced either.
    if log.shared().written() > 0 {
        log.shared().sync_now();
    }
    match log.shared().sync_error() {
        Some(error) => Err(error),
        None => Ok((log, recovery)),
    }
}

fn read(sink: &dyn LogSink, options: &Options) -> Result<Found, LogError> {
    let file = sink.path();
    let input = sink.reader();
    let input = input.map_err(|error| ReadError::io(file, 1, error))?;
    let mut reader = LogReader::new(input).max_line(options.max_line);
    if let Some(file) = file {
        reader = reader.file(file);
    }
    let mut unfinished = Unfinished::default();
    let mut recovery = Recovery::default();
    for line in &mut reader {
        unfinished.observe(&line?.record);
        recovery.records += 1;
    }
    recovery.torn = reader.torn().cloned();
    recovery.terminated = reader.unterminated();
    Ok(Found {
        unfinished,
        recovery,
        len: reader.offset(),
    })
}

fn torn_record(torn: &Torn) -> TornRecord {
    let shown = &torn.bytes[..torn.bytes.len().min(SHOWN)];
    TornRecord {
        offset: torn.offset,
        bytes: torn.bytes.len() as u64,
        text: String::from_utf8_lossy(shown).into_owned(),
    }
}
