//! The outermost stage: mints the call and owns its ending.
//!
//! On the way in it takes the request apart, freezes the arguments, captures
//! the tool's finalizer and has the call recorded. On the way out it turns
//! errors into failures, lets the finalizer have its say, freezes the outcome
//! and notifies every observer. It cannot fail: `Error = Infallible`.
//!
//! There is exactly one result and one notification per call, on every path:
//! also when the inner stack panics, when the future is dropped before it was
//! polled, and when it is dropped while a body runs. Then the body is
//! cancelled and driven to its end, and the last body out publishes.
//!
//! # Example
//!
//! ```
//! # use std::sync::{Arc, Mutex};
//! # use tower::ServiceExt;
//! # use tokio_util::sync::CancellationToken;
//! # use toolfall_layers::*;
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let seen = Arc::new(Mutex::new(Vec::new()));
//! let log = seen.clone();
//! let layer = ResultNotifyLayer::new().observer(move |call: &CallView, result: &ToolResult| {
//!     log.lock().unwrap().push(format!("{} failed: {}", call.name(), result.is_error()));
//! });
//! let stack = tower::ServiceBuilder::new()
//!     .layer(layer)
//!     .service_fn(|_: ToolCall| async { Err::<ToolOutcome, BoxError>("wrapper broke".into()) });
//! let request = CallRequest::new("1", "echo", "{}", CancellationToken::new());
//! let result = stack.oneshot(request).await.unwrap();
//! assert_eq!(result.text(), "Error: wrapper broke");
//! assert_eq!(*seen.lock().unwrap(), ["echo failed: true"]);
//! # }
//! ```

mod ending;
mod future;
mod host;
mod layer;
mod service;

pub(crate) use self::ending::{Ending, Final};
pub use self::future::ResponseFuture;
pub(crate) use self::host::Host;
pub use self::host::{Notice, Observer, Recorded, Recorder, notify_each};
pub use self::layer::ResultNotifyLayer;
pub use self::service::ResultNotify;
