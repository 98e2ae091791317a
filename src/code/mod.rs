//! Programs of the model's that call tools.
//!
//! A [`CodeRuntime`] runs one program: it binds the host's functions under
//! [namespaces](Namespace), and gives back a value and what was printed, or
//! how the program failed. What a program does is a field of its
//! [`RunOutcome`] and never an `Err`; an `Err` is a [`Misuse`] of the runtime
//! by the host.
//!
//! Nothing here decides whether a call may run. The functions that are bound
//! do: those of the tool `run_code` send every call through the pipeline.
//!
//! # Code mode
//!
//! [`CodeMode`] gives a registry's models the tool `run_code`. What the
//! program calls are the tools that its caller sees, by the same policies,
//! guards and limits, below the call that runs it. Safe calls overlap, others
//! run alone, and everything keeps the order in which the program called. The
//! program gets values and, for a failure, its message; the model reads what
//! the program prints and returns, and nothing else of it.
//!
//! Tools are [presented](crate::registry::Presentation) native, from programs
//! alone, or both, for everybody or for a scope; an
//! [`Assembly`](crate::registry::Assembly) says what a model is told then.
//!
//! ```
//! use futures_util::future::BoxFuture;
//! use serde_json::{Value, json};
//! use tokio_util::sync::CancellationToken;
//! use toolfall::code::*;
//! use toolfall::registry::{Assembly, Presentation, Section};
//! use toolfall::*;
//!
//! /// Runs one program only, whatever it is given.
//! struct Sums;
//!
//! impl CodeRuntime for Sums {
//!     fn language(&self) -> &str { "python" }
//!     fn isolation(&self) -> &str { "written in the host's own language" }
//!
//!     fn run(&self, request: RunRequest) -> BoxFuture<'_, Result<RunOutcome, Misuse>> {
//!         Box::pin(async move {
//!             let tools = &request.namespaces[0].binding;
//!             let two = Arguments::from_text(r#"{"a": 1, "b": 1}"#).unwrap();
//!             let sum = tools.call("add", two.into()).await;
//!             Ok(RunOutcome::completed(vec!["added".to_owned()], sum.ok()))
//!         })
//!     }
//!
//!     fn dispose(&self) -> BoxFuture<'_, ()> { Box::pin(std::future::ready(())) }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BoxError> {
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Add { a: i64, b: i64 }
//!
//! let registry = Registry::new();
//! let add = tool_fn("add", "Adds", |add: Add, _: ToolContext| async move {
//!     Ok::<_, BoxError>(add.a + add.b)
//! });
//! registry.register(add.parallel())?.keep();
//!
//! let slot = RuntimeSlot::new();
//! let _runtime = slot.mount(Sums)?;
//! let code = CodeMode::new(slot, CodeConfig::presenting(Presentation::Code));
//! let attached = code.attach(&registry)?;
//!
//! let told = Assembly::new(registry.clone()).assemble(None)?;
//! assert_eq!(told.tools[0].name, "run_code");
//! assert!(told.section(Section::SDK).contains("async def add"));
//!
//! let pipeline = Pipeline::builder(registry).build();
//! let call = |name: &'static str, arguments: &'static str| {
//!     pipeline.call("call_1", name, arguments, CancellationToken::new())
//! };
//! let program = r#"{"code": "return await tools.add({'a': 1, 'b': 1})", "description": "adds"}"#;
//! assert_eq!(call("run_code", program).await.text(), "added\n2");
//! assert!(call("add", r#"{"a": 1, "b": 1}"#).await.is_error(), "from programs alone");
//!
//! // Without code mode everything is native.
//! drop(attached);
//! assert_eq!(call("add", r#"{"a": 1, "b": 1}"#).await.text(), "2");
//! # Ok(()) }
//! ```

mod budgets;
#[cfg(all(feature = "code-child", target_os = "linux"))]
pub mod child;
mod config;
#[cfg(feature = "testing")]
pub mod conformance;
pub mod ledger;
mod misuse;
mod outcome;
mod presentation;
pub mod protocol;
#[cfg(all(feature = "code-python", target_os = "linux"))]
pub mod python;
#[cfg(all(feature = "code-js", target_os = "linux"))]
pub mod quickjs;
mod request;
pub mod reserved;
mod run_code;
mod runtime;
mod slot;

pub use self::budgets::{BudgetError, Budgets};
pub use self::config::{CodeConfig, CodeConfigError};
pub use self::misuse::Misuse;
pub use self::outcome::{RunFailure, RunFailureKind, RunOutcome};
pub use self::request::{
    Binding, BindingArguments, BindingFuture, ErrorClass, Namespace, RunRequest,
};
pub use self::run_code::{AttachError, CodeMode, Dispatched, LogCopies, rendered};
pub use self::runtime::CodeRuntime;
pub use self::slot::{NoCodeRuntime, RuntimeMount, RuntimeMountError, RuntimeSlot};
