//! The session log: what was called, decided and answered, one JSON object a line.
//!
//! A record has left the process when [`SessionLog::append`] returns: one
//! write at the end of a file that has one writer. So the rule for whoever
//! drives calls is short:
//!
//! 1. Append the [`CallRecord`] and wait for [`Appended::synced`] before
//!    anything of the call runs. If either fails, the call does not run, and
//!    its answer says so.
//! 2. Append a [`StartedRecord`], and wait likewise, before the first body is
//!    entered.
//! 3. Append the one [`ResultRecord`].
//!
//! After a crash, [`SessionLog::open`] gives every open call an interrupted
//! result, exactly once. A call without a started record gets
//! `ABORTED_BEFORE_DISPATCH`: nothing happened. A call with one gets
//! `INTERRUPTED`: its effect is unknown. Open questions are decided as
//! cancelled.
//!
//! # What survives what
//!
//! | policy | end of the process | loss of power |
//! |---|---|---|
//! | [`Never`](SyncPolicy::Never) | everything | what the system had written |
//! | [`Interval`](SyncPolicy::Interval) | everything | all but the last interval |
//! | [`Every`](SyncPolicy::Every) | everything | everything that was waited for |
//!
//! A started record is no exception: with `Every`, who enters the body without
//! waiting for it accepts that after a loss of power the call may be taken for
//! one that never began. Records that wait together share one sync, so waiting
//! costs most where little happens.
//!
//! # When a write fails
//!
//! The log cuts off what was written of the line and goes on: a disk that was
//! full may have room again. If it cannot cut, or if a sync fails, the log
//! takes no more records until it is opened again, for its end is unknown.
//!
//! A last line that was never finished is cut off when the log is opened. Its
//! bytes are in [`Recovery::torn`], and a `log/torn` record keeps its place
//! and its beginning. Any other bad line is an error that names the file and
//! the line, and nothing is changed.
//!
//! # Example
//!
//! ```
//! use toolfall::session::{
//!     CallRecord, Options, ResultRecord, SessionLog, StartedRecord, SyncPolicy, check,
//! };
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let path = folder.path().join("session.jsonl");
//! let options = Options::new().sync(SyncPolicy::Every);
//!
//! let (log, _) = SessionLog::open(&path, options.clone())?;
//! let call = log.new_call();
//! let record = CallRecord {
//!     call,
//!     id: "toolu_1".into(),
//!     name: "remove".into(),
//!     arguments: r#"{"path":"a.txt"}"#.into(),
//!     ..CallRecord::default()
//! };
//! log.append(record)?.synced().await?;
//! log.append(StartedRecord { call })?.synced().await?;
//! drop(log); // the process ends here, in the middle of the call
//!
//! let (log, recovery) = SessionLog::open(&path, options)?;
//! assert!(recovery.interrupted[0].started);
//! let records = log.records()?;
//! assert_eq!(records.len(), 3);
//! assert!(check::check(&records).is_empty());
//! # Ok(())
//! # }
//! ```

pub mod check;

mod approval;
mod bodies;
mod dispatch;
mod encode;
mod error;
mod fields;
mod hidden;
mod log;
mod log_copy;
mod options;
mod permission;
mod read;
mod record;
mod recorder;
mod recover;
mod reopen;
mod shared;
mod sink;
mod sync;

pub use self::approval::{AskedRecord, DecidedRecord, PolicyRecord, WHY_DEADLINE};
pub use self::bodies::{
    CallRecord, ContextRecord, ErrorRecord, ResultRecord, StartedRecord, TornRecord, TurnRecord,
};
pub use self::dispatch::{DispatchRecord, DispatchStartRecord};
pub use self::error::{LogError, ReadError};
pub use self::log::{Appended, SessionLog};
#[cfg(feature = "code")]
pub(crate) use self::log_copy::{LogCopies, LogCopy, SubCall};
pub use self::options::{Options, SyncPolicy};
pub use self::permission::{EffectiveRecord, PresetRecord, SandboxRecord};
pub use self::read::{Contents, Line, LogReader, MAX_LINE, Torn, read_log};
pub use self::record::{Body, MAX_NUMBER, OtherRecord, Record};
pub use self::recorder::SessionRecorder;
pub use self::recover::{OpenCall, Recovery, Unfinished};
pub use self::sink::{FileSink, LogSink, MemorySink};
pub use self::sync::Synced;
