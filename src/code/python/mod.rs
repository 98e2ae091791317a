//! Programs in Python, each in an interpreter of its own.
//!
//! A [`PythonRuntime`] runs a program as the body of an asynchronous function
//! in `python3 -I -S`: the standard library and nothing that was installed,
//! an empty environment, no input. Functions are bound as coroutines,
//! `await tools.read({"path": "a"})` or `await tools["read"](path="a")`; what
//! the program prints becomes logs, what it returns is the value. Falling off
//! the end and a bare `return` give no value, `return None` gives `null`. A
//! tuple counts as a list.
//!
//! The processes are those of [`child`](super::child), with what that
//! promises and what it does not. Inside, an audit hook refuses what programs
//! have no business with (starting processes, sockets, `ctypes`, files other
//! than the interpreter's own), which makes slips harmless but is no wall: a
//! program that gets around the interpreter can do what the user can, so
//! that whoever runs hostile programs asks for a
//! [sandbox](PythonBuilder::sandbox).
//!
//! ```
//! use std::sync::Arc;
//! use serde_json::json;
//! use toolfall::code::python::PythonRuntime;
//! use toolfall::code::{
//!     BindingArguments, BindingFuture, CodeRuntime, Namespace, RunRequest,
//! };
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), toolfall::code::Misuse> {
//! let Ok(runtime) = PythonRuntime::builder().build() else {
//!     return Ok(()); // There is no interpreter here.
//! };
//! let tools = Namespace {
//!     global: "tools".to_owned(),
//!     members: vec!["double".to_owned()],
//!     error_class: None,
//!     binding: Arc::new(|_: &str, arguments: BindingArguments| -> BindingFuture {
//!         Box::pin(async move {
//!             let BindingArguments::Kept(arguments) = arguments else {
//!                 return Err("what to double?".to_owned());
//!             };
//!             Ok(json!(arguments.value()["n"].as_i64().unwrap_or(0) * 2))
//!         })
//!     }),
//! };
//! let program = "
//! import asyncio
//! both = await asyncio.gather(tools.double({'n': 1}), tools.double(n=20))
//! print('doubled', both)
//! return sum(both)
//! ";
//! let outcome = runtime.run(RunRequest::new(program).namespace(tools)).await?;
//! assert_eq!(outcome.logs, ["doubled [2, 40]"]);
//! assert_eq!(outcome.value, Some(json!(42)));
//! runtime.dispose().await;
//! # Ok(()) }
//! ```

mod find;

use std::ffi::OsString;

use futures_util::future::BoxFuture;

pub use self::find::PythonError;
use super::child::{ChildRuntime, Launcher, Sandbox};
use super::{Budgets, CodeRuntime, Misuse, RunOutcome, RunRequest};

/// The address space that an interpreter takes before it runs anything.
const INTERPRETER: u64 = 96 << 20;

/// Runs programs in Python. See the [module docs](self).
#[derive(Clone, Debug)]
pub struct PythonRuntime {
    children: ChildRuntime,
    interpreter: OsString,
    version: (u32, u32),
}

/// Says which interpreter runs programs, and how.
#[derive(Clone, Debug)]
pub struct PythonBuilder {
    python: OsString,
    budgets: Budgets,
    prestart: usize,
    sandbox: Sandbox,
}

impl PythonRuntime {
    /// The system's `python3` and the usual [budgets](Budgets).
    pub fn builder() -> PythonBuilder {
        PythonBuilder {
            python: "python3".into(),
            budgets: Budgets::default(),
            prestart: 0,
            sandbox: Sandbox::None,
        }
    }

    /// The path of the interpreter.
    pub fn interpreter(&self) -> &OsString {
        &self.interpreter
    }

    /// Its version: `(3, 11)` for instance.
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// How many interpreters wait for a program now.
    pub fn waiting(&self) -> usize {
        self.children.waiting()
    }
}

impl PythonBuilder {
    /// Another interpreter: a path, or a name that is looked up in `PATH`.
    pub fn python(mut self, python: impl Into<OsString>) -> Self {
        self.python = python.into();
        self
    }

    /// What a run may use.
    pub fn budgets(mut self, budgets: Budgets) -> Self {
        self.budgets = budgets;
        self
    }

    /// How many interpreters are started ahead and wait. Each is used once;
    /// a waiting one has got nothing of a program. None unless it is said.
    ///
    /// They belong to the tokio runtime that they were started on: that of
    /// [`build`](Self::build), or of the first run.
    pub fn prestart(mut self, interpreters: usize) -> Self {
        self.prestart = interpreters;
        self
    }

    /// Puts a sandbox around each interpreter.
    pub fn sandbox(mut self, sandbox: Sandbox) -> Self {
        self.sandbox = sandbox;
        self
    }

    /// Finds the interpreter and asks for its version.
    ///
    /// Starts it once, and blocks for as long as that takes.
    ///
    /// # Errors
    ///
    /// If it is not there, too old, or does not work, if it does not start in
    /// the sandbox, or a budget cannot be kept.
    pub fn build(self) -> Result<PythonRuntime, PythonError> {
        self.budgets.check()?;
        let found = find::find(&self.python)?;
        self.sandbox
            .check(&found.interpreter, &["-I", "-S", "-c", "pass"])
            .map_err(|source| PythonError::Sandbox {
                program: found.interpreter.clone(),
                source,
            })?;
        let launcher = Launcher::new(found.interpreter.clone())
            .args(["-I", "-S", "-c"])
            .args([found.start])
            .own_memory(INTERPRETER)
            .sandbox(self.sandbox);
        let children = ChildRuntime::new("python", launcher, self.budgets, self.prestart)?;
        Ok(PythonRuntime {
            children,
            interpreter: found.interpreter.into(),
            version: found.version,
        })
    }
}

impl CodeRuntime for PythonRuntime {
    fn language(&self) -> &str {
        self.children.language()
    }

    fn isolation(&self) -> &str {
        self.children.isolation()
    }

    fn run(&self, request: RunRequest) -> BoxFuture<'_, Result<RunOutcome, Misuse>> {
        self.children.run(request)
    }

    fn dispose(&self) -> BoxFuture<'_, ()> {
        self.children.dispose()
    }
}
