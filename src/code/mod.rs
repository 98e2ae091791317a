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

mod budgets;
#[cfg(all(feature = "code-child", target_os = "linux"))]
pub mod child;
#[cfg(feature = "testing")]
pub mod conformance;
pub mod ledger;
mod misuse;
mod outcome;
pub mod protocol;
#[cfg(all(feature = "code-python", target_os = "linux"))]
pub mod python;
#[cfg(all(feature = "code-js", target_os = "linux"))]
pub mod quickjs;
mod request;
pub mod reserved;
mod runtime;

pub use self::budgets::{BudgetError, Budgets};
pub use self::misuse::Misuse;
pub use self::outcome::{RunFailure, RunFailureKind, RunOutcome};
pub use self::request::{
    Binding, BindingArguments, BindingFuture, ErrorClass, Namespace, RunRequest,
};
pub use self::runtime::CodeRuntime;
