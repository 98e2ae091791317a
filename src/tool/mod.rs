//! Tools: typed, from a closure, from a JSON Schema, from a tower service.
//!
//! A [`Tool`] has typed arguments and output; [`tool_fn`] makes one of a
//! closure. [`ToolDef`] is what a [`Registry`](crate::Registry) takes: a body
//! with everything it declares of itself.
//!
//! ```
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//! use toolfall::{BoxError, Registry, ToolContext, tool_fn};
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Add {
//!     a: i64,
//!     b: i64,
//! }
//!
//! let add = tool_fn("add", "Adds two integers", |args: Add, _: ToolContext| async move {
//!     args.a.checked_add(args.b).ok_or("the sum does not fit")
//! })
//! .parallel()
//! .repeatable();
//!
//! let registry = Registry::new();
//! let _add = registry.register(add)?;
//! assert_eq!(registry.schemas(None)[0].name, "add");
//! # Ok::<(), BoxError>(())
//! ```

mod barred;
mod body;
mod context;
mod def;
mod entry;
mod present;
mod secret;

use std::borrow::Cow;
use std::future::Future;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use self::barred::Barred;
pub use self::body::{raw_tool, service_tool, tool_fn};
#[cfg(feature = "code")]
pub(crate) use self::context::Entry;
pub(crate) use self::context::Reentry;
pub use self::context::{CallToolError, Progress, ProgressSink, ToolContext};
pub use self::def::{ExecutionMode, ToolDef, Validation};
pub(crate) use self::entry::ToolEntry;
use crate::BoxError;

/// A tool with typed arguments and output.
///
/// The schemas that a model sees are derived from the types. Arguments are
/// validated and decoded before [`call`](Self::call); whatever validates also
/// decodes. The output is validated before anything is made of it.
///
/// ```
/// use std::borrow::Cow;
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use toolfall::{BoxError, Tool, ToolContext, ToolDef};
///
/// struct Greeter(&'static str);
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Whom { name: String }
///
/// impl Tool for Greeter {
///     type Args = Whom;
///     type Output = String;
///
///     fn name(&self) -> Cow<'static, str> { "greet".into() }
///     fn description(&self) -> Cow<'static, str> { "Greets somebody".into() }
///
///     async fn call(&self, args: Whom, _: ToolContext) -> Result<String, BoxError> {
///         Ok(format!("{}, {}!", self.0, args.name))
///     }
/// }
///
/// assert_eq!(ToolDef::typed(Greeter("Hello")).name(), "greet");
/// ```
pub trait Tool: Send + Sync + 'static {
    /// What the model must give.
    type Args: DeserializeOwned + JsonSchema + Send;
    /// The canonical value.
    type Output: Serialize + JsonSchema + Send;

    /// The name that a model calls.
    fn name(&self) -> Cow<'static, str>;

    /// What it does, for the model.
    fn description(&self) -> Cow<'static, str>;

    /// Does the work.
    ///
    /// # Errors
    ///
    /// Becomes the failure that the model sees: its text, and name and code
    /// if it is, or is caused by, a [`CodedError`](crate::CodedError).
    ///
    /// # Cancel safety
    ///
    /// The future is driven to its end even if the caller goes away; its
    /// token is cancelled then. A panic is a failure.
    fn call(
        &self,
        args: Self::Args,
        ctx: ToolContext,
    ) -> impl Future<Output = Result<Self::Output, BoxError>> + Send;
}
