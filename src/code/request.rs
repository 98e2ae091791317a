//! What a runtime is given.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use toolfall_layers::{Arguments, ArgumentsError};

use crate::scheduler::Cancel;

/// A program and what it may reach.
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// The program: the body of an asynchronous function.
    pub program: String,
    /// What is bound in it, and nothing else is.
    pub namespaces: Vec<Namespace>,
    /// Ends the run; the cause that it names is the failure's message.
    pub cancel: Cancel,
}

impl RunRequest {
    /// A program with nothing bound, which nothing ends.
    pub fn new(program: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            namespaces: Vec::new(),
            cancel: Cancel::new(CancellationToken::new()),
        }
    }

    /// Binds one more namespace.
    pub fn namespace(mut self, namespace: Namespace) -> Self {
        self.namespaces.push(namespace);
        self
    }

    /// Ends the run when `cancel` is.
    pub fn cancelled_by(mut self, cancel: Cancel) -> Self {
        self.cancel = cancel;
        self
    }
}

/// Functions of the host's under one global name: `tools.read(…)`.
#[derive(Clone)]
pub struct Namespace {
    /// The global: `[A-Za-z_][A-Za-z0-9_]*`, no word of a language, not
    /// [reserved](super::reserved).
    pub global: String,
    /// The names of its functions: any text, `__proto__` too.
    pub members: Vec<String>,
    /// The class of the errors that calls reject with; a plain error without.
    pub error_class: Option<ErrorClass>,
    /// What the functions do.
    pub binding: Arc<dyn Binding>,
}

/// A class of errors that a program can tell apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorClass {
    /// Its name, bound in the program; ruled as a global is.
    pub name: String,
    /// The property that holds the name of the function that failed.
    pub member_property: String,
}

/// What the functions of a namespace do.
pub trait Binding: Send + Sync + 'static {
    /// One call of the function `member`, which is one of the namespace's.
    ///
    /// The value must be lossless JSON; an error's text is all that the
    /// program sees of a failure.
    ///
    /// # Cancel safety
    ///
    /// A runtime drops the future when the run is over.
    fn call(&self, member: &str, arguments: BindingArguments) -> BindingFuture;
}

/// The future of [`Binding::call`].
pub type BindingFuture = BoxFuture<'static, Result<Value, String>>;

impl<F> Binding for F
where
    F: Fn(&str, BindingArguments) -> BindingFuture + Send + Sync + 'static,
{
    fn call(&self, member: &str, arguments: BindingArguments) -> BindingFuture {
        self(member, arguments)
    }
}

/// What a program passed to a function.
///
/// The runtimes of this crate refuse what is no lossless JSON themselves, so
/// that a binding of theirs sees [`Kept`](Self::Kept) alone.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum BindingArguments {
    /// Nothing.
    Missing,
    /// One value.
    Kept(Arguments),
    /// Something that cannot be kept exactly.
    Refused(ArgumentsError),
}

impl From<Arguments> for BindingArguments {
    fn from(arguments: Arguments) -> Self {
        Self::Kept(arguments)
    }
}

impl From<Result<Arguments, ArgumentsError>> for BindingArguments {
    fn from(arguments: Result<Arguments, ArgumentsError>) -> Self {
        arguments.map_or_else(Self::Refused, Self::Kept)
    }
}

impl fmt::Debug for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Namespace")
            .field("global", &self.global)
            .field("members", &self.members)
            .field("error_class", &self.error_class)
            .finish_non_exhaustive()
    }
}
