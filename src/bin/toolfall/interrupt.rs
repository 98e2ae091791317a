//! Ctrl-C: the first ends the run, the second ends the waiting.

use tokio_util::sync::CancellationToken;

use crate::error::Error;

/// Counts interruptions. Clones count together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt {
    cancel: CancellationToken,
    abandon: CancellationToken,
}

impl Interrupt {
    /// Listens for `INT` and `TERM` as long as the runtime lives.
    pub(crate) fn listen(self) -> Result<Self, Error> {
        let failed = |error: std::io::Error| Error::own("signals cannot be listened for", &error);
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let mut int = signal(SignalKind::interrupt()).map_err(failed)?;
            let mut term = signal(SignalKind::terminate()).map_err(failed)?;
            let interrupt = self.clone();
            tokio::spawn(async move {
                loop {
                    tokio::select! {
                        Some(()) = int.recv() => {}
                        Some(()) = term.recv() => {}
                        else => return,
                    }
                    interrupt.hit();
                }
            });
        }
        #[cfg(not(unix))]
        {
            let _ = failed;
            let interrupt = self.clone();
            tokio::spawn(async move {
                while tokio::signal::ctrl_c().await.is_ok() {
                    interrupt.hit();
                }
            });
        }
        Ok(self)
    }

    /// Counts one.
    pub(crate) fn hit(&self) {
        if self.cancel.is_cancelled() {
            self.abandon.cancel();
        }
        self.cancel.cancel();
    }

    /// Cancelled by the first.
    pub(crate) const fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Cancelled by the second.
    pub(crate) const fn abandon(&self) -> &CancellationToken {
        &self.abandon
    }
}
