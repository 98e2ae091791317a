//! Long results go to a store; the model sees both of their ends. Big pictures
//! go there, too; the model sees a note.
//!
//! A result of a megabyte fills a model's context and is mostly not read. A
//! [`SpillPolicy`] puts the text of such a result into a [`SpillStore`] and
//! shows its start and its end, and where the whole is, in at most as many
//! bytes as a result may have. The value stays what it was: a program that
//! reads it sees all of it.
//!
//! It is best effort. Where there is no store, no session that the text
//! belongs to, no time or no room, the text stays as it is, a warning says
//! why, and the call is none the worse.
//!
//! # What is stored
//!
//! Of texts: the plain concatenation of a result's text blocks, if it is longer than
//! [`max_inline_bytes`](SpillConfig::max_inline_bytes), of successes and of
//! failures. Never: results with a block that is no text, of nested calls, of
//! tools that are [exempt](SpillPolicy::exempt), results that a policy
//! withheld, and values that a policy replaced.
//!
//! # Pictures and other blocks
//!
//! Blocks that are no text have budgets of their own, and none unless they are
//! set: [`max_block_bytes`](SpillConfig::max_block_bytes) for each, and
//! [`max_result_bytes`](SpillConfig::max_result_bytes) for those of one result
//! together, of which the first stay and the later ones go. What counts:
//!
//! | block | bytes |
//! |---|---|
//! | image, audio, resource with a blob | decoded bytes of the base64; of the text where it is no base64 |
//! | resource with a text | the text |
//! | link | address, name and media type |
//! | text, reasoning | nothing |
//!
//! Addresses, names and media types of any block are free up to 1,024 bytes,
//! and count where they have more.
//!
//! A block over a budget becomes a line of text in its place: its kind, media
//! type and size, which budget it was over, and where its bytes are. They go
//! to [`SpillStore::save_bytes`], one block at a time, decoded while they are
//! written. Where they cannot be stored, the note says that instead, unlike a
//! text, which then stays: a budget of blocks is a promise to the model's
//! context. That its source was faulty, no valid base64, is said apart.
//!
//! Blocks of any kind after the first [`blocks`](SpillConfig::blocks) become
//! one note, and one file of JSON, a block a line.
//!
//! A text beside a picture stays whole, as ever, also where the picture goes.
//!
//! # What a log keeps
//!
//! What the model reads: a record of the result, a card and a replay have the
//! preview or the note, with the place of the bytes and not the bytes. The
//! value is in no log; it stays with the [`ToolResult`](crate::ToolResult),
//! with all that the tool put into it.
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
//! saved, the bodies of other calls go on, and their results wait. The saves of
//! a result are waited for at most [`deadline`](SpillPolicy::deadline), and a
//! second if the call was cancelled; then it is published without them.
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
//!
//! # Example: pictures
//!
//! ```
//! use toolfall::spill::{SpillConfig, SpillPolicy, SpillSlot};
//! use toolfall::*;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BoxError> {
//! let registry = Registry::new();
//! let shot = raw_tool("shot", "", serde_json::json!({}), |_: Arguments, _: ToolContext| async {
//!     Ok::<_, BoxError>(serde_json::json!({"wide": 640}))
//! });
//! let shot = shot.render(|_| {
//!     let picture = |data: String| ContentBlock::Image { data, mime_type: "image/png".to_owned() };
//!     Ok(vec![picture("AAAA".to_owned()), picture("A".repeat(4_000))])
//! });
//! registry.register(shot)?.keep();
//!
//! let config = SpillConfig::default().with_max_block_bytes(1_000);
//! // There is no store here, so the second picture is left out for good.
//! let spill = SpillPolicy::new(SpillSlot::new(), &config);
//! let pipeline = Pipeline::builder(registry).post_execute(spill).build();
//! let result = pipeline.run(CallRequest::new("1", "shot", "{}", Default::default())).await;
//! assert_eq!(result.content()[0].kind(), "image");
//! assert_eq!(
//!     result.content()[1].as_text(),
//!     Some(
//!         "(Image omitted: image/png, 3000 bytes, over the 1000 bytes for one block. \
//!          It could not be stored.)"
//!     ),
//! );
//! # Ok(()) }
//! ```

mod base64;
mod blocks;
mod config;
mod content;
#[cfg(feature = "code")]
mod dispatch;
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
