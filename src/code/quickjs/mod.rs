//! Programs in JavaScript or TypeScript, each in an engine of its own.
//!
//! A program is the body of an asynchronous function: it may `return` and
//! `await`. Functions are bound as `await tools.read({path: "a"})` and overlap
//! under `Promise.all`; what goes to `console` becomes logs. There is nothing
//! else: no files, network, processes, environment, timers, modules or shared
//! memory. With the feature `code-ts` types are erased before the run, in
//! place, so that every line and column stays; syntax that would have to be
//! translated (`enum`, `namespace`, parameter properties) is refused.
//!
//! Values cross as JSON that loses nothing, or not at all: `-0`, `NaN`,
//! `undefined` inside a value, dates, maps, class instances and integers that
//! a double does not hold are refused in both directions.
//!
//! # Where programs run
//!
//! [`QuickJsRuntime::builder`] gives every program a process of its own, used
//! once: the executable of this program, started anew, in which [`worker`]
//! takes over. What that promises, and what not, is told at
//! [`child`](super::child).
//!
//! [`QuickJsRuntime::in_process`] gives it a thread, which is faster and
//! **contains slips, not attacks**: the engine is a program in C, in which
//! faults of memory are found and mended all the time, and there they are
//! faults of the host. Nor can it always be stopped: some of its built-ins
//! run for tens of seconds without asking. A run is settled in time all the
//! same; its thread goes on until it is told, is counted by
//! [`stuck`](QuickJsRuntime::stuck), and too many of them keep further runs
//! from starting. Memory is limited, but for the moment in which values cross.
//!
//! # Example
//!
//! In this process, for want of an executable of its own:
//!
//! ```
//! use std::sync::Arc;
//! use serde_json::json;
//! use toolfall::code::quickjs::QuickJsRuntime;
//! use toolfall::code::{
//!     BindingArguments, BindingFuture, CodeRuntime, Namespace, RunRequest,
//! };
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let runtime = QuickJsRuntime::in_process().build()?;
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
//!     const [a, b] = await Promise.all([tools.double({n: 1}), tools.double({n: 20})]);
//!     console.log('doubled', [a, b]);
//!     return a + b;
//! ";
//! let outcome = runtime.run(RunRequest::new(program).namespace(tools)).await?;
//! assert_eq!(outcome.logs, ["doubled [2, 40]"]);
//! assert_eq!(outcome.value, Some(json!(42)));
//! # Ok(()) }
//! ```

mod builder;
mod convert;
mod edge;
mod engine;
mod in_process;
mod outbox;
mod program;
mod render;
mod seats;
#[cfg(feature = "code-ts")]
mod strip;
mod worker;

use std::fmt;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

pub use self::builder::{InProcessBuilder, QuickJsBuilder, QuickJsError};
use self::in_process::Threads;
#[cfg(feature = "code-ts")]
pub use self::strip::{NotErasable, strip_types};
pub use self::worker::{serve, worker};
use super::child::ChildRuntime;
use super::{CodeRuntime, Misuse, RunOutcome, RunRequest};

/// The language of the programs.
const LANGUAGE: &str = if cfg!(feature = "code-ts") {
    "typescript"
} else {
    "javascript"
};

/// Runs programs in JavaScript or TypeScript. See the [module docs](self).
pub struct QuickJsRuntime(Place);

enum Place {
    Children(ChildRuntime),
    Threads(Threads),
}

impl QuickJsRuntime {
    /// A runtime that gives every program a process.
    pub fn builder() -> QuickJsBuilder {
        QuickJsBuilder::new()
    }

    /// A runtime that gives every program a thread of this process. Not for
    /// programs that may be hostile: see the [module docs](self).
    pub fn in_process() -> InProcessBuilder {
        InProcessBuilder::new()
    }

    /// How many processes wait for a program now; none in process.
    pub fn waiting(&self) -> usize {
        match &self.0 {
            Place::Children(children) => children.waiting(),
            Place::Threads(_) => 0,
        }
    }

    /// How many threads go on though their runs are over; none out of
    /// process.
    pub fn stuck(&self) -> usize {
        match &self.0 {
            Place::Children(_) => 0,
            Place::Threads(threads) => threads.stuck(),
        }
    }
}

impl CodeRuntime for QuickJsRuntime {
    fn language(&self) -> &str {
        LANGUAGE
    }

    fn isolation(&self) -> &str {
        match &self.0 {
            Place::Children(children) => children.isolation(),
            Place::Threads(_) => "thread",
        }
    }

    fn run(&self, request: RunRequest) -> BoxFuture<'_, Result<RunOutcome, Misuse>> {
        match &self.0 {
            Place::Children(children) => children.run(request),
            Place::Threads(threads) => threads.run(request).boxed(),
        }
    }

    /// In process, a thread that does not end is waited for a second.
    fn dispose(&self) -> BoxFuture<'_, ()> {
        match &self.0 {
            Place::Children(children) => children.dispose(),
            Place::Threads(threads) => threads.dispose().boxed(),
        }
    }
}

impl fmt::Debug for QuickJsRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Place::Children(children) => f.debug_tuple("QuickJsRuntime").field(children).finish(),
            Place::Threads(threads) => f.debug_tuple("QuickJsRuntime").field(threads).finish(),
        }
    }
}
