//! What the clones of a log share.

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::encode::Draft;
use super::error::LogError;
use super::options::{Options, SyncPolicy};
use super::record::MAX_NUMBER;
use super::sink::LogSink;
use super::sync::Group;

/// One log's state. A sync on its way holds it longer than the log's users do.
pub(super) struct Shared {
    pub(super) sink: Box<dyn LogSink>,
    pub(super) options: Options,
    pub(super) group: Group,
    writer: Mutex<Writer>,
    /// The place of the last record written; zero before the first.
    written: AtomicU64,
    pub(super) next_call: AtomicU64,
    broken: OnceLock<Broken>,
    /// Tells the interval's task that something is not synced.
    pub(super) unsynced: Arc<Notify>,
    pub(super) interval: OnceLock<AbortHandle>,
}

/// What the clones of a log hold together. Its drop syncs what the policy
/// promised and lets the next writer in, even while a sync is still on its way.
#[derive(Debug)]
pub(super) struct Handle {
    pub(super) shared: Arc<Shared>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        let shared = &self.shared;
        if let Some(interval) = shared.interval.get() {
            interval.abort();
        }
        let owed = shared.group.synced() < shared.written();
        if owed && shared.options.sync != SyncPolicy::Never {
            shared.sync_now();
        }
        shared.sink.release();
    }
}

/// The log's end.
struct Writer {
    next_seq: u64,
    len: u64,
    closed: bool,
}

/// Why no more records are taken.
struct Broken {
    reason: &'static str,
    source: Option<Arc<io::Error>>,
}

impl Shared {
    /// A log of `len` bytes whose next record has place `next_seq`.
    pub(super) fn new(
        sink: Box<dyn LogSink>,
        options: Options,
        next_seq: u64,
        next_call: u64,
        len: u64,
    ) -> Self {
        Self {
            sink,
            options,
            group: Group::default(),
            writer: Mutex::new(Writer {
                next_seq,
                len,
                closed: false,
            }),
            written: AtomicU64::new(next_seq - 1),
            next_call: AtomicU64::new(next_call),
            broken: OnceLock::new(),
            unsynced: Arc::default(),
            interval: OnceLock::new(),
        }
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn file(&self) -> Option<PathBuf> {
        self.sink.path().map(PathBuf::from)
    }

    pub(super) fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    /// How many bytes hold whole records.
    pub(super) fn len(&self) -> u64 {
        self.writer().len
    }

    /// Takes no more records.
    pub(super) fn close(&self) {
        self.writer().closed = true;
    }

    /// Writes the draft at the next place, which is returned.
    pub(super) fn write(&self, mut draft: Draft, kind: &str) -> Result<u64, LogError> {
        let mut writer = self.writer();
        if writer.closed {
            return Err(LogError::Closed { file: self.file() });
        }
        if let Some(error) = self.broken() {
            return Err(error);
        }
        let seq = writer.next_seq;
        if seq > MAX_NUMBER {
            self.break_down("its places are used up", None);
            return Err(self.broken_error("its places are used up", None));
        }
        let line = draft.line(seq);
        match self.caught(|sink| sink.append(line)) {
            Ok(()) => {
                writer.len += line.len() as u64;
                writer.next_seq += 1;
                self.written.store(seq, Ordering::Release);
                Ok(seq)
            }
            Err(source) => {
                // Part of the line may be there; the next one must not continue it.
                let len = writer.len;
                if let Err(error) = self.caught(|sink| sink.truncate(len)) {
                    self.break_down("a half written line could not be cut off", Some(error));
                }
                Err(LogError::Write {
                    file: self.file(),
                    kind: kind.to_owned(),
                    source,
                })
            }
        }
    }

    /// Runs the sink; its panic is an error.
    fn caught(&self, f: impl FnOnce(&dyn LogSink) -> io::Result<()>) -> io::Result<()> {
        let run = catch_unwind(AssertUnwindSafe(|| f(self.sink.as_ref())));
        run.unwrap_or_else(|_| Err(io::Error::other("the sink panicked")))
    }

    /// Takes no more records from now on. The first reason stays.
    pub(super) fn break_down(&self, reason: &'static str, error: Option<io::Error>) {
        let source = error.map(Arc::new);
        let _ = self.broken.set(Broken { reason, source });
    }

    fn broken_error(&self, reason: &'static str, source: Option<Arc<io::Error>>) -> LogError {
        LogError::Broken {
            file: self.file(),
            reason,
            source,
        }
    }

    fn broken(&self) -> Option<LogError> {
        let broken = self.broken.get()?;
        Some(self.broken_error(broken.reason, broken.source.clone()))
    }

    /// What a record that waits for its sync is told when the log broke.
    pub(super) fn sync_error(&self) -> Option<LogError> {
        let source = self.broken.get()?.source.clone()?;
        Some(LogError::Sync {
            file: self.file(),
            source,
        })
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("file", &self.sink.path())
            .field("options", &self.options)
            .field("written", &self.written())
            .finish_non_exhaustive()
    }
}
