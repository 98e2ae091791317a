//! The log as its users hold it.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::encode::Draft;
use super::error::{LogError, ReadError};
use super::options::{Options, SyncPolicy};
use super::read::{LogReader, collect};
use super::record::{Body, Record};
use super::recover::Recovery;
use super::shared::{Handle, Shared};
use super::sink::{FileSink, LogSink, MemorySink};
use super::sync::Synced;

/// A session's log. Clones write the same log.
///
/// When the last clone is dropped, what the policy promised is synced there and
/// then, and the file is unlocked.
#[derive(Clone, Debug)]
pub struct SessionLog {
    handle: Arc<Handle>,
}

impl SessionLog {
    /// Opens or creates the log at `path` and closes what its last writer left
    /// open: see [`Recovery`].
    ///
    /// Reads the whole log and may sync, so it blocks.
    ///
    /// # Errors
    ///
    /// [`LogError::Locked`] if the log has a writer; [`LogError::Read`] with
    /// the file and the line if it holds anything that is no record, in which
    /// case nothing was changed; otherwise what the system said.
    pub fn open(path: impl Into<PathBuf>, options: Options) -> Result<(Self, Recovery), LogError> {
        Self::with_sink(FileSink::open(path)?, options)
    }

    /// An empty log in memory that never syncs and dates nothing.
    pub fn in_memory() -> Self {
        let (sink, options) = (MemorySink::default(), Options::new().clock(|| None));
        Self::new(Arc::new(Shared::new(Box::new(sink), options, 1, 1, 0)))
    }

    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let handle = Arc::new(Handle { shared });
        Self { handle }
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.handle.shared
    }

    /// Opens the log that `sink` holds, as [`open`](Self::open) does.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open).
    pub fn with_sink(sink: impl LogSink, options: Options) -> Result<(Self, Recovery), LogError> {
        super::reopen::reopen(Box::new(sink), options)
    }

    /// A new call's ordinal, unique in this log.
    pub fn new_call(&self) -> u64 {
        self.shared().next_call.fetch_add(1, Ordering::Relaxed)
    }

    /// Writes one record at the end of the log.
    ///
    /// When this returns, the record has left the process. Places follow the
    /// order in which records are written. Blocks for one write.
    ///
    /// # Errors
    ///
    /// What the record was to announce must not happen. After
    /// [`LogError::Write`] the log is as it was and may be tried again, unless
    /// the half written line could not be cut off: then, and after a failed
    /// sync, everything is [`LogError::Broken`] until the log is opened again.
    pub fn append(&self, body: impl Into<Body>) -> Result<Appended, LogError> {
        let body = body.into();
        let options = &self.shared().options;
        let draft = Draft::new(&body, (options.clock)(), options.max_line)?;
        let seq = self.shared().write(draft, body.kind())?;
        if matches!(options.sync, SyncPolicy::Interval(_)) {
            self.shared().unsynced.notify_one();
        }
        Ok(Appended {
            shared: Arc::clone(self.shared()),
            seq,
        })
    }

    /// Syncs everything written so far, whatever the policy.
    ///
    /// # Errors
    ///
    /// The future's output is [`LogError::Sync`] if it cannot.
    pub fn flush(&self) -> Synced {
        let written = self.shared().written();
        Synced::new(Arc::clone(self.shared()), written)
    }

    /// Takes no more records, from any clone, and syncs unless the policy is
    /// [`SyncPolicy::Never`]. Closed at once, synced when the future is ready.
    /// The file is unlocked by then, if no other clone is left.
    pub fn close(self) -> Synced {
        let shared = self.shared();
        shared.close();
        let synced = match shared.options.sync {
            SyncPolicy::Never => Synced::new(Arc::clone(shared), 0),
            _ => self.flush(),
        };
        synced.then_release(self.handle)
    }

    /// Reads every record written so far. Blocks.
    ///
    /// # Errors
    ///
    /// Names the line that could not be read, which somebody else wrote.
    pub fn records(&self) -> Result<Vec<Record>, ReadError> {
        use std::io::Read as _;
        let file = self.shared().file();
        let len = self.shared().len();
        let input = self.shared().sink.reader();
        let input = input.map_err(|error| ReadError::io(file.as_deref(), 1, error))?;
        // What is being written beyond that may be half a line.
        let reader = LogReader::new(input.take(len)).max_line(self.shared().options.max_line);
        let reader = match file {
            Some(file) => reader.file(file),
            None => reader,
        };
        Ok(collect(reader)?.records)
    }
}

/// A record that is in the log.
#[derive(Debug)]
pub struct Appended {
    shared: Arc<Shared>,
    seq: u64,
}

impl Appended {
    /// The record's place.
    pub const fn seq(&self) -> u64 {
        self.seq
    }

    /// Waits until the record is as safe as the policy says before what it
    /// announces may happen: at once, except with [`SyncPolicy::Every`].
    ///
    /// # Errors
    ///
    /// The future's output is [`LogError::Sync`] if the record may not outlast
    /// a loss of power. What it was to announce must not happen.
    pub fn synced(self) -> Synced {
        let place = match self.shared.options.sync {
            SyncPolicy::Every => self.seq,
            _ => 0,
        };
        Synced::new(self.shared, place)
    }
}

/// Starts the task that syncs `shared` in the background.
pub(super) fn sync_regularly(shared: &Arc<Shared>, every: Duration) -> Result<(), LogError> {
    let runtime = tokio::runtime::Handle::try_current().map_err(|_| LogError::NoRuntime)?;
    let unsynced = Arc::clone(&shared.unsynced);
    // The task must not keep the log open.
    let shared_again = Arc::downgrade(shared);
    let task = runtime.spawn(async move {
        loop {
            unsynced.notified().await;
            tokio::time::sleep(every).await;
            let Some(shared) = Weak::upgrade(&shared_again) else {
                return;
            };
            let written = shared.written();
            // A failure breaks the log; the next append says so.
            let _ = Synced::new(shared, written).await;
        }
    });
    let _ = shared.interval.set(task.abort_handle());
    Ok(())
}
