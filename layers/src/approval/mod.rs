//! Resolves an `ask` once, and turns a call into a decided one.
//!
//! The approver is asked only if a policy asked, with every reason, and only
//! for arguments that the tool accepts. Whatever is not a grant is a denial
//! that goes through the post-execute stage; an approver that fails fails the
//! call. A grant is good for this call alone and does not bypass the guards.
//!
//! A refusal may carry a message to the model, and may end the model's turn:
//! see [`ApprovalAnswer`].
//!
//! While the question is open the caller's cancellation answers it
//! (`cancelled`), a later answer is discarded, and a call with a
//! [turn](crate::turn) gives up its slot.
//!
//! # Example
//!
//! ```
//! # use tower::ServiceExt;
//! # use tokio_util::sync::CancellationToken;
//! # use toolfall_layers::*;
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let stack = tower::ServiceBuilder::new()
//!     .layer(ResultNotifyLayer::new())
//!     .layer(PreDecisionLayer::new(|_: &CallView| Decision::ask("writes a file")))
//!     .layer(ApprovalLayer::new(|request: ApprovalRequest| async move {
//!         assert_eq!(request.reason(), Some("writes a file"));
//!         ApprovalOutcome::Rejected
//!     }))
//!     .service_fn(|_: DecidedCall| async { Ok::<_, BoxError>(ToolOutcome::failure("reached")) });
//! let request = CallRequest::new("1", "write", "{}", CancellationToken::new())
//!     .with_scope(Scope::new("agent"));
//! let result = stack.oneshot(request).await.unwrap();
//! assert_eq!(result.text(), "Error: the user rejected tool \"write\"");
//! # }
//! ```

mod answer;
mod future;
mod layer;
mod request;
mod service;

pub use self::answer::{ApprovalAnswer, MAX_MESSAGE};
pub use self::future::ResponseFuture;
pub use self::layer::{ApprovalLayer, NoApprover};
pub use self::request::{ApprovalOutcome, ApprovalRequest};
pub use self::service::Approval;
