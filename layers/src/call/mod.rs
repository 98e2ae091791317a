//! A call, from the caller's request to the clearance that a body accepts.

mod extensions;
mod id;
mod proof;
mod replaced;
mod request;
mod scope;
mod state;
mod view;

pub use self::extensions::Extensions;
pub use self::id::{CallId, ExecutionToken};
pub use self::proof::{ClearedCall, DecidedCall, ToolCall};
pub(crate) use self::replaced::{Child, Replaced};
pub(crate) use self::request::Nested;
pub use self::request::{CallRequest, IntoArguments, RefusedArguments};
pub use self::scope::{Scope, ScopeId, WeakScope};
pub(crate) use self::state::CallState;
pub use self::view::{Call, CallView};
