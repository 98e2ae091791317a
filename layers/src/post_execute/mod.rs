//! Judges an outcome before it is published: accept, replace or block.
//!
//! The policy runs on everything that came back as an outcome: results of
//! bodies, denials, unknown tools, cancellations before the body. It does not
//! run on failures of the pipeline itself. It sees the outcome and can change
//! it only through its decision. A policy that fails or panics replaces the
//! outcome by its failure.
//!
//! In a batch the stage waits for the model's order: policies of this stage
//! run in model order whatever the bodies' order was.
//!
//! Place it outside the decision stages, so that denials pass through it.
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
//!     .layer(PostExecuteLayer::new(|post: &PostRequest| {
//!         match post.outcome().message() {
//!             Some(text) if text.contains("secret") => PostDecision::block_with("withheld"),
//!             _ => PostDecision::accept(),
//!         }
//!     }))
//!     .service_fn(|_: ToolCall| async { Ok::<_, BoxError>(ToolOutcome::failure("the secret is 7")) });
//! let request = CallRequest::new("1", "read", "{}", CancellationToken::new());
//! let result = stack.oneshot(request).await.unwrap();
//! assert_eq!(result.text(), "withheld");
//! # }
//! ```

mod decision;
mod future;
mod layer;
mod service;

pub(crate) use self::decision::Change;
pub use self::decision::{PostDecision, PostRequest};
pub use self::future::ResponseFuture;
pub use self::layer::PostExecuteLayer;
pub use self::service::PostExecute;
