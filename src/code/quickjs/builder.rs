//! How a runtime is made.

use std::ffi::OsString;
use std::path::PathBuf;

use super::in_process::Threads;
use super::worker::{ARGUMENT, OWN_MEMORY};
use super::{LANGUAGE, Place, QuickJsRuntime};
use crate::code::child::{ChildRuntime, Launcher, Sandbox};
use crate::code::{BudgetError, Budgets};

/// Why there is no runtime.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QuickJsError {
    /// The system does not tell the path of this program's executable.
    #[error("expected to find the executable of this program; name one instead")]
    NoExecutable(#[source] std::io::Error),
    /// A budget cannot be kept.
    #[error(transparent)]
    Budget(#[from] BudgetError),
}

/// Says which executable runs programs, and how.
#[derive(Clone, Debug)]
pub struct QuickJsBuilder {
    program: Option<(PathBuf, Vec<OsString>)>,
    budgets: Budgets,
    prestart: usize,
    sandbox: Sandbox,
}

impl QuickJsBuilder {
    pub(super) fn new() -> Self {
        Self {
            program: None,
            budgets: Budgets::default(),
            prestart: 0,
            sandbox: Sandbox::None,
        }
    }

    /// Another executable than this program's own: one that calls
    /// [`worker`](super::worker) first in `main`, as `toolfall` does.
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = Some((program.into(), vec![ARGUMENT.into()]));
        self
    }

    /// Another executable, and what it is told so that it calls
    /// [`serve`](super::serve).
    pub fn program_with<A: Into<OsString>>(
        mut self,
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        self.program = Some((program.into(), arguments));
        self
    }

    /// What a run may use.
    pub fn budgets(mut self, budgets: Budgets) -> Self {
        self.budgets = budgets;
        self
    }

    /// How many processes are started ahead and wait. Each is used once; a
    /// waiting one has got nothing of a program. None unless it is said.
    ///
    /// They belong to the tokio runtime that they were started on: that of
    /// [`build`](Self::build), or of the first run.
    pub fn prestart(mut self, processes: usize) -> Self {
        self.prestart = processes;
        self
    }

    /// Puts a sandbox around each process.
    pub fn sandbox(mut self, sandbox: Sandbox) -> Self {
        self.sandbox = sandbox;
        self
    }

    /// Makes the runtime. An executable that is none, or does not call
    /// [`worker`](super::worker), shows at a run.
    ///
    /// # Errors
    ///
    /// If this program's executable is not known, or a budget cannot be kept.
    pub fn build(self) -> Result<QuickJsRuntime, QuickJsError> {
        let (program, arguments) = if let Some(program) = self.program {
            program
        } else {
            let own = std::env::current_exe().map_err(QuickJsError::NoExecutable)?;
            (own, vec![ARGUMENT.into()])
        };
        let launcher = Launcher::new(program)
            .args(arguments)
            .own_memory(OWN_MEMORY)
            .sandbox(self.sandbox);
        let children = ChildRuntime::new(LANGUAGE, launcher, self.budgets, self.prestart)?;
        Ok(QuickJsRuntime(Place::Children(children)))
    }
}

/// Says how many threads run programs, and within what.
#[derive(Clone, Debug)]
pub struct InProcessBuilder {
    budgets: Budgets,
    threads: usize,
    stuck: usize,
}

impl InProcessBuilder {
    pub(super) fn new() -> Self {
        Self {
            budgets: Budgets::default(),
            threads: 64,
            stuck: 4,
        }
    }

    /// What a run may use.
    pub fn budgets(mut self, budgets: Budgets) -> Self {
        self.budgets = budgets;
        self
    }

    /// How many programs run at once; more wait. 64, at least 1.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// So many threads that do not end keep further programs from being
    /// started. 4, at least 1.
    pub fn stuck(mut self, threads: usize) -> Self {
        self.stuck = threads;
        self
    }

    /// Makes the runtime.
    ///
    /// # Errors
    ///
    /// If a budget cannot be kept.
    pub fn build(self) -> Result<QuickJsRuntime, QuickJsError> {
        self.budgets.check()?;
        let threads = Threads::new(self.budgets, self.threads, self.stuck);
        Ok(QuickJsRuntime(Place::Threads(threads)))
    }
}
