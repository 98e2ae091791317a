//! Long results go to a store; the model sees both of their ends.
//!
//! A result of a megabyte fills a model's context and is mostly not read. A
//! [`SpillPolicy`] puts the text of such a result into a [`SpillStore`] and
//! shows its start and its end, and where the whole is, in at most as many
//! bytes as a result may have. The value stays what it was: a program that
//! reads it sees all of it.
//!
//! It is best effort. Where there is no store, no session that the text
//! belongs to, no time or no room, the result stays as it is, a warning says
//! why, and the call is none the worse.
//!
//! # What is stored
//!
//! The plain concatenation of a result's text blocks, if it is longer than
//! [`max_inline_bytes`](SpillConfig::max_inline_bytes), of successes and of
//! failures. Never: results with a block that is no text, of nested calls, of
//! tools that are [exempt](SpillPolicy::exempt), results that a policy
//! withheld, and values that a policy replaced.
//!
//! # Where it stands
//!
//! Outermost among the post-execute policies, so that it measures what they
//! made of a result: as a listener of a [`Waterfall`](crate::policy::Waterfall)
//! ([`SpillPolicy::register`]), around one policy ([`SpillPolicy::around`]), or
//! as the policy of a stage. A stage of its own does not see that another
//! stage replaced a value: it measures what the tool made of the new one.
//!
//! # Order and time
//!
//! Post-execute policies run in the model's order. While a text is being
//! saved, the bodies of other calls go on, and their results wait. A save is
//! waited for at most [`deadline`](SpillPolicy::deadline), and a second if the
//! call was cancelled; then the result is published as it is.
//!
//! # Example
//!
//! ```
//! use tokio_util::sync::CancellationToken;
//! use toolfall::policy::Waterfall;
//! use toolfall::spill::{LocalSpillStore, SpillConfig, SpillPolicy, SpillSlot};
//! use toolfall::*;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BoxError> {
//! let registry = Registry::new();
//! let dump = tool_fn("dump", "Says a lot", |_: serde_json::Value, _: ToolContext| async {
//!     Ok::<_, BoxError>(format!("first {} last", "x".repeat(5_000)))
//! });
//! registry.register(dump)?.keep();
//!
//! let slot = SpillSlot::new();
//! let _store = slot.mount(LocalSpillStore::new())?;
//! let spill = SpillPolicy::new(slot, &SpillConfig::max_inline_bytes(500))
//!     .owner(|call: &CallView| call.scope().map(|_| "session-7".to_owned()));
//!
//! let listeners = Waterfall::new(PostDecision::accept());
//! let registered = spill.register(&listeners);
//! let pipeline = Pipeline::builder(registry).post_execute(listeners).build();
//!
//! let call = || {
//!     CallRequest::new("1", "dump", "{}", CancellationToken::new())
//!         .with_scope(Scope::new("agent"))
//! };
//! let text = pipeline.run(call()).await.text();
//! assert!(text.len() <= 500);
//! assert!(text.starts_with("first xxx") && text.contains("xxx last\n\n(Omitted "));
//!
//! let (_, stored) = text.split_once("stored at: ").unwrap();
//! let path = stored.split_once(". Use read").unwrap().0;
//! assert_eq!(std::fs::read_to_string(path)?.len(), 5_011);
//!
//! // Without the policy, results are what they are.
//! drop(registered);
//! assert_eq!(pipeline.run(call()).await.text().len(), 5_011);
//! # Ok(()) }
//! ```

mod base64;
mod blocks;
mod config;
mod content;
mod future;
mod local;
mod media;
mod note;
mod omitting;
mod policy;
mod replacement;
mod saving;
mod slot;
mod store;

pub use self::config::{SpillConfig, SpillConfigError};
pub use self::content::{SpillBytes, SpillContent, TextsOnly};
pub use self::future::Deciding;
pub use self::local::{LocalSpillError, LocalSpillStore, path_segment};
pub use self::policy::{SpillAround, SpillPolicy};
pub use self::slot::{NoSpillStore, SpillMount, SpillMountError, SpillSlot};
pub use self::store::{Saving, Spill, SpillSource, SpillStore, Spilled};
