//! How a log is kept.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::read::MAX_LINE;

/// When the log's bytes are made to survive a loss of power.
///
/// Whatever the policy, a record has left the process when
/// [`append`](super::SessionLog::append) returns, so it survives the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SyncPolicy {
    /// The system decides.
    #[default]
    Never,
    /// Each record, before [`Appended::synced`](super::Appended::synced) is
    /// ready. Records that wait together share one sync.
    Every,
    /// In the background, this long after the first record that is not yet
    /// synced; so at most this much is lost, and there is at most one sync in
    /// that time. Measured by tokio's clock. Also when the log is closed or
    /// its last clone dropped. Ends with the runtime it was opened in.
    Interval(Duration),
}

const LEAST_LINE: usize = 64 << 10;

type Clock = Arc<dyn Fn() -> Option<u64> + Send + Sync>;

/// How a log is kept.
///
/// ```
/// use toolfall::session::{Options, SyncPolicy};
///
/// let options = Options::new().sync(SyncPolicy::Every).clock(|| Some(1_000));
/// assert!(format!("{options:?}").contains("Every"));
/// ```
#[derive(Clone)]
pub struct Options {
    pub(super) sync: SyncPolicy,
    pub(super) clock: Clock,
    pub(super) max_line: usize,
}

impl Options {
    /// Never syncs, takes `at` from the system, and bounds lines at [`MAX_LINE`].
    pub fn new() -> Self {
        Self {
            sync: SyncPolicy::Never,
            clock: Arc::new(now),
            max_line: MAX_LINE,
        }
    }

    /// When to sync.
    pub const fn sync(mut self, policy: SyncPolicy) -> Self {
        self.sync = policy;
        self
    }

    /// Where `at` comes from: milliseconds since the Unix epoch, or nothing to
    /// leave it out. Called once a record, without a lock held.
    pub fn clock(mut self, clock: impl Fn() -> Option<u64> + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// The longest line to read or to write, in bytes; at least 64 KiB, so that
    /// the records that close a log always fit.
    pub const fn max_line(mut self, bytes: usize) -> Self {
        self.max_line = if bytes < LEAST_LINE {
            LEAST_LINE
        } else {
            bytes
        };
        self
    }
}

fn now() -> Option<u64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok()
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("sync", &self.sync)
            .field("max_line", &self.max_line)
            .finish_non_exhaustive()
    }
}
