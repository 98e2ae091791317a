//! Runs programs in processes.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::launcher::{Launcher, Sandbox};
use super::logs::Logs;
use super::pool::Pool;
use super::supervise::{Terms, cause, supervise};
use super::worker::{Living, Worker};
use crate::code::{
    BudgetError, Budgets, CodeRuntime, Misuse, RunFailureKind, RunOutcome, RunRequest,
};

/// A run that takes longer is not waited for with the start of the next
/// process.
const SHORT: Duration = Duration::from_millis(20);

/// Runs each program in a process of its own. See the [module docs](super)
/// for what that promises.
///
/// A clone shares the processes. Whoever drops the last one ends those that
/// wait; a run goes on for as long as its future is polled.
#[derive(Clone)]
pub struct ChildRuntime(Arc<Inner>);

struct Inner {
    language: Cow<'static, str>,
    launcher: Launcher,
    budgets: Budgets,
    disposed: CancellationToken,
    living: Living,
    pool: Pool,
}

impl ChildRuntime {
    /// Programs in `language`, in what `launcher` starts, within `budgets`.
    /// Of `prestart` processes one is always started ahead of the next run,
    /// as soon as there is a tokio runtime to start it on.
    ///
    /// # Errors
    ///
    /// If the [budgets](Budgets::check) cannot be kept. That the program
    /// cannot be started shows at a run.
    pub fn new(
        language: impl Into<Cow<'static, str>>,
        launcher: Launcher,
        budgets: Budgets,
        prestart: usize,
    ) -> Result<Self, BudgetError> {
        budgets.check()?;
        let runtime = Self(Arc::new(Inner {
            language: language.into(),
            launcher,
            budgets,
            disposed: CancellationToken::new(),
            living: Living::new(),
            pool: Pool::new(prestart),
        }));
        if Handle::try_current().is_ok() {
            runtime.0.fill();
        }
        Ok(runtime)
    }

    /// What a run may use.
    pub fn budgets(&self) -> &Budgets {
        &self.0.budgets
    }

    /// How many processes wait for a program now.
    pub fn waiting(&self) -> usize {
        self.0.pool.len()
    }
}

impl Inner {
    fn fill(&self) {
        if !self.disposed.is_cancelled() {
            self.pool.fill(&self.launcher, &self.living);
        }
        // Disposal may have looked in between.
        if self.disposed.is_cancelled() {
            drop(self.pool.drain());
        }
    }

    fn worker(&self) -> Result<(Worker, super::worker::Pipes), Misuse> {
        if let Some(worker) = self.pool.take() {
            return Ok(worker);
        }
        Worker::start(&self.launcher, &self.living).map_err(|error| Misuse::NotStarted {
            what: self.launcher.what(),
            why: error.to_string(),
        })
    }

    /// Fills the pool when what is returned is dropped, or a little later than
    /// now: to start a process keeps the thread busy, which is better not done
    /// while a short run waits.
    fn fill_after(self: &Arc<Self>) -> Option<oneshot::Sender<()>> {
        let (over, ended) = oneshot::channel::<()>();
        (self.pool.size() > 0).then(|| {
            let inner = Arc::clone(self);
            tokio::spawn(async move {
                let _ = timeout(SHORT, ended).await;
                inner.fill();
            });
            over
        })
    }

    async fn run(self: Arc<Self>, request: RunRequest) -> Result<RunOutcome, Misuse> {
        if self.disposed.is_cancelled() {
            return Err(Misuse::Disposed);
        }
        request.check()?;
        let logs = Logs::new(self.budgets.output, self.budgets.logs);
        if request.cancel.token().is_cancelled() {
            return Ok(logs.ledger.failed(RunFailureKind::Abort, cause(&request)));
        }
        let worker = self.worker()?;
        let _over = self.fill_after();
        let terms = Terms {
            launcher: &self.launcher,
            budgets: &self.budgets,
            disposed: &self.disposed,
        };
        Ok(supervise(worker, &request, &terms, logs).await)
    }
}

impl CodeRuntime for ChildRuntime {
    fn language(&self) -> &str {
        &self.0.language
    }

    fn isolation(&self) -> &str {
        match self.0.launcher.sandbox {
            Sandbox::None => "child process",
            Sandbox::Bwrap(_) => "child process, bubblewrap",
        }
    }

    fn run(&self, request: RunRequest) -> BoxFuture<'_, Result<RunOutcome, Misuse>> {
        Arc::clone(&self.0).run(request).boxed()
    }

    fn dispose(&self) -> BoxFuture<'_, ()> {
        async {
            self.0.disposed.cancel();
            drop(self.0.pool.drain());
            self.0.living.none().await;
        }
        .boxed()
    }
}

impl fmt::Debug for ChildRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildRuntime")
            .field("language", &self.0.language)
            .field("launcher", &self.0.launcher)
            .field("budgets", &self.0.budgets)
            .field("waiting", &self.waiting())
            .finish_non_exhaustive()
    }
}
