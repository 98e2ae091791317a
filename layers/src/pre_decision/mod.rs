//! Decides whether a call may go on: allow, ask or deny.
//!
//! The policy runs after the call was recorded and before anybody is asked.
//! It sees the call with its frozen arguments and can change nothing in it.
//! A denial becomes the outcome and goes through the post-execute stage; the
//! reason reaches the model verbatim. A policy that fails or panics fails the
//! call: guards, body and post-execute do not run.
//!
//! Several of these layers may be stacked. Across them a decision only gets
//! stricter; the approver is asked once, with every reason. Inside one layer
//! the policy may be a tower stack of listeners that delegate to the next or
//! answer themselves; there an outer listener may overrule an inner one.
//!
//! # Example
//!
//! ```
//! # use tower::ServiceExt;
//! # use tokio_util::sync::CancellationToken;
//! # use toolfall_layers::*;
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let layer = PreDecisionLayer::new(|call: &CallView| {
//!     if call.name().starts_with("delete_") {
//!         Decision::deny("nothing is deleted here")
//!     } else {
//!         Decision::Allow
//!     }
//! });
//! let stack = tower::ServiceBuilder::new()
//!     .layer(ResultNotifyLayer::new())
//!     .layer(layer)
//!     .service_fn(|_: ToolCall| async { Ok::<_, BoxError>(ToolOutcome::failure("reached")) });
//! let request = CallRequest::new("1", "delete_all", "{}", CancellationToken::new());
//! let result = stack.oneshot(request).await.unwrap();
//! assert_eq!(result.text(), "Error: nothing is deleted here");
//! # }
//! ```

mod decision;
mod future;
mod layer;
mod service;

pub use self::decision::{Decision, GuardRelaxed, MonotonicGuard, Reason};
pub use self::future::ResponseFuture;
pub use self::layer::PreDecisionLayer;
pub use self::service::PreDecision;
