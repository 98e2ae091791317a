//! Hooks that run beside the host's loop.

use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{HookEvent, HookReport, HookSet};
use crate::BoxError;

/// Runs the hooks of events that nobody waits for: when a session or a
/// subagent starts, for instance.
///
/// What such a hook says arrives when it has ended, as far as the host still
/// wants it. When the last clone is dropped, or after
/// [`dispose`](Self::dispose), the hooks are ended.
#[derive(Clone, Debug)]
pub struct DetachedHooks {
    set: HookSet,
    /// How many tasks are running.
    running: watch::Sender<usize>,
    cancel: CancellationToken,
    _last: Arc<DropGuard>,
}

impl DetachedHooks {
    /// Runs hooks of `set`.
    pub fn new(set: HookSet) -> Self {
        let cancel = CancellationToken::new();
        Self {
            set,
            running: watch::Sender::new(0),
            _last: Arc::new(cancel.clone().drop_guard()),
            cancel,
        }
    }

    /// Starts the hooks of `event` on a task of their own and returns at
    /// once. `then` is given what they said, unless they were ended first;
    /// its error is logged, and its panic ends that task only.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn start<F>(&self, event: HookEvent, then: F)
    where
        F: FnOnce(HookReport) -> Result<(), BoxError> + Send + 'static,
    {
        let (set, cancel) = (self.set.clone(), self.cancel.clone());
        let running = Running::new(&self.running);
        tokio::spawn(async move {
            // Counted out last, whichever way the task ends.
            let _running = running;
            let point = event.point;
            let report = set.run_event(event, &cancel).await;
            if report.cancelled || cancel.is_cancelled() {
                return;
            }
            if let Err(error) = then(report) {
                tracing::warn!(%error, "{point} hook failed");
            }
        });
    }

    /// Ends every hook and waits until no process of theirs is left, also
    /// of those that are started meanwhile. What is started later ends at
    /// once.
    ///
    /// # Cancel safety
    ///
    /// Dropped early, the hooks are still ended, and nobody waits for it.
    pub async fn dispose(&self) {
        self.cancel.cancel();
        // The sender is at hand, so there is always somebody to hear.
        let _ = self.running.subscribe().wait_for(|count| *count == 0).await;
    }
}

/// One task that is running.
struct Running(watch::Sender<usize>);

impl Running {
    fn new(count: &watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
