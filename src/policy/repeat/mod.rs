//! Tells a model that it repeats itself.
//!
//! A [`RepeatReminder`] is a post-execute policy. It counts, for each agent,
//! how often in a row the same tool was called with the same arguments, and
//! when the count reaches a threshold it adds a message to what follows the
//! batch: a gentle one at the lowest threshold, a detailed one at every other.
//! Past the highest it is silent. A result is never changed.
//!
//! - **The same call** is the same name with the same canonical arguments:
//!   members in any order, numbers however written (`1`, `1.0`). The order of
//!   a list matters.
//! - **An agent** is a [`Scope`](crate::Scope), by identity. It is held weakly,
//!   so a count ends with its agent. Calls without a scope are not counted.
//! - **In a row** means up to another watched call, or up to
//!   [`reset_for`](RepeatReminder::reset_for), which the host calls when a
//!   user has spoken to the agent. Tools that are not watched are transparent.
//! - **Counted** is what reaches the stage, denials among it, except for calls
//!   with invalid arguments and calls cancelled before their body.
//!
//! # Example
//!
//! ```
//! use tokio_util::sync::CancellationToken;
//! use toolfall::policy::repeat::{RepeatConfig, RepeatReminder};
//! use toolfall::*;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BoxError> {
//! let reminder = RepeatReminder::new(RepeatConfig {
//!     thresholds: vec![2],
//!     ..RepeatConfig::default()
//! })?;
//! let pipeline = Pipeline::builder(Registry::new()).post_execute(reminder.clone()).build();
//!
//! let agent = Scope::new("agent");
//! let call = || {
//!     CallRequest::new("1", "probe", r#"{"q":"same"}"#, CancellationToken::new())
//!         .with_scope(agent.clone())
//! };
//! assert!(pipeline.run(call()).await.contexts().is_empty());
//! let second = pipeline.run(call()).await;
//! assert_eq!(second.contexts()[0].source.summary.as_deref(), Some("probe × 2"));
//!
//! reminder.reset_for(&agent);
//! assert!(pipeline.run(call()).await.contexts().is_empty());
//! # Ok(()) }
//! ```
//!
//! # Example: around another policy
//!
//! ```
//! use toolfall::policy::repeat::RepeatReminder;
//! use toolfall::policy::{Next, Waterfall};
//! use toolfall::*;
//!
//! let reminder = RepeatReminder::default();
//! // As a listener: outside those registered later.
//! let listeners = Waterfall::new(PostDecision::accept());
//! let listening = reminder.clone();
//! listeners
//!     .register(move |post: PostRequest, next: Next<_, _>| listening.listen(post, next))
//!     .keep();
//! // Or around one policy.
//! let around = reminder.around(|post: &PostRequest| match post.outcome().message() {
//!     Some(_) => PostDecision::block_with("it failed"),
//!     None => PostDecision::accept(),
//! });
//! let pipeline = Pipeline::builder(Registry::new()).post_execute(around).build();
//! # let _ = pipeline;
//! assert_eq!(listeners.len(), 1);
//! ```

mod canonical;
mod config;
mod pattern;
mod policy;
mod reminder;
mod text;

pub use self::config::{RepeatConfig, RepeatConfigError};
pub use self::policy::{Reminding, Repeating};
pub use self::reminder::RepeatReminder;
