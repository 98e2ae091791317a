//! Denies calls that break a rule, before anything runs.
//!
//! A guard runs once per call, after approval and outside every around
//! stage. It sees the call with its frozen arguments; it may deny or abstain
//! and nothing else, so no order of policies can undo it. A denial becomes
//! the outcome and goes through the post-execute stage.
//!
//! The stage also guards the way back: it waits until every body that the
//! call entered has settled, attaches the contexts they deferred, lets a
//! cancellation replace a success, and validates and renders a success that
//! an around stage made itself.
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
//!     .layer(ApprovalLayer::unavailable())
//!     .layer(GuardLayer::new(|call: &CallView| {
//!         (call.name() == "write").then(|| Denial::new("read only"))
//!     }))
//!     .service_fn(|_: ClearedCall| async { Ok::<_, BoxError>(ToolOutcome::failure("reached")) });
//! let request = CallRequest::new("1", "write", "{}", CancellationToken::new());
//! assert_eq!(stack.oneshot(request).await.unwrap().text(), "Error: read only");
//! # }
//! ```
//!
//! # Example: guards that come and go
//!
//! See [`GuardList`].

mod future;
mod layer;
mod list;
mod service;
mod tables;
mod verdict;

pub use self::future::ResponseFuture;
pub(crate) use self::future::{authored, rendered_now};
pub use self::layer::GuardLayer;
pub use self::list::{GuardList, GuardRegistration};
pub use self::service::GuardService;
pub use self::verdict::{Denial, Guard, Verdict};
