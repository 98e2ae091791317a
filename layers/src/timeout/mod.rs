//! Ends a dispatch that takes longer than its budget.
//!
//! The stage derives a token, cancels it when the budget has passed, and then
//! waits: a body is asked to stop and never dropped behind its back. Whether
//! a call timed out is told by whether this stage's timer fired first, not by
//! what the body made of it. With a [grace](TimeoutLayer::with_grace) a body
//! that ignores its token is dropped in the end, and the result says that
//! its effect is unknown.
//!
//! Inside a [`RetryLayer`](crate::RetryLayer) each attempt has the budget;
//! outside it the attempts share one.
//!
//! # Example
//!
//! ```
//! # use std::time::Duration;
//! # use tower::ServiceExt;
//! # use tokio_util::sync::CancellationToken;
//! # use toolfall_layers::*;
//! # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
//! let stack = tower::ServiceBuilder::new()
//!     .layer(ResultNotifyLayer::new())
//!     .layer(ApprovalLayer::unavailable())
//!     .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
//!     .layer(TimeoutLayer::new(Duration::from_millis(100)))
//!     .service_fn(|call: ClearedCall| async move {
//!         call.cancellation().cancelled().await;
//!         Ok::<_, BoxError>(ToolOutcome::failure("stopped"))
//!     });
//! let request = CallRequest::new("1", "sleep", "{}", CancellationToken::new());
//! let result = stack.oneshot(request).await.unwrap();
//! assert_eq!(result.code(), Some(codes::TOOL_TIMEOUT));
//! assert_eq!(result.text(), "Error: tool call timed out after 100ms");
//! # }
//! ```

mod future;
mod layer;
mod service;

pub use self::future::ResponseFuture;
pub use self::layer::TimeoutLayer;
pub use self::service::Timeout;
