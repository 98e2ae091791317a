//! What a call and its result look like to people: cards.
//!
//! A tool may declare two presenters. [`ToolDef::present_call`] makes a
//! [`CallCard`] of the arguments, [`ToolDef::present_result`] a [`ResultCard`]
//! of the arguments and of what the log keeps of the result: its content, its
//! metadata and whether it failed. So a finished log shows the same cards
//! again ([`Projection`], [`from_log`]), and nothing else is stored for them.
//!
//! Cards are data: they serialise, and a host draws them as it likes. What is
//! absent is left out, never `null`; the one `null` that means something is
//! [`DiffEntry::old_text`], of what was not there before.
//!
//! Presenters never fail a call. Arguments that the tool's schema refuses, or
//! that do not decode, have no card; nor has what a presenter that panics was
//! to show, which is a warning in the trace.
//!
//! | file | what it makes |
//! |---|---|
//! | [`narrow`] | metadata read back: whole, or not at all |
//! | [`diff`] (feature `workspace`) | the hunks between two texts |
//! | [`search`] | matches by file, within a budget of bytes |
//! | [`shell`] | cards of programs, and the markers in their text |
//! | [`reading`] | titles and languages of files that are read |
//! | [`web`], [`jobs`] | cards of web tools and of background jobs |
//!
//! # Example
//!
//! ```
//! use serde_json::json;
//! use tokio_util::sync::CancellationToken;
//! use toolfall::card::{CallCard, GenericCall, Kind, Presented, ResultCard, SearchResult, narrow};
//! use toolfall::session::{SessionLog, SessionRecorder};
//! use toolfall::*;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BoxError> {
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Find { name: String }
//!
//! let find = tool_fn("find", "Finds files", |args: Find, _: ToolContext| async move {
//!     Ok::<_, BoxError>(vec![format!("src/{}", args.name)])
//! })
//! .presentation_meta(|paths| Ok(json!({"paths": paths, "truncated": false, "total": 1})))
//! .present_call(|args: Find| {
//!     let title = format!("Find {}", args.name);
//!     Some(CallCard::Generic(GenericCall::new(title).kind(Kind::Search)))
//! })
//! .present_result(|_: Find, result: &Presented<'_>| {
//!     narrow::<SearchResult>(result.meta?).map(ResultCard::Search)
//! });
//! let registry = Registry::new();
//! registry.register(find)?.keep();
//!
//! let log = SessionLog::in_memory();
//! let pipeline = Pipeline::builder(registry.clone())
//!     .recorder(std::sync::Arc::new(SessionRecorder::new(log.clone())))
//!     .build();
//! pipeline.call("1", "find", r#"{"name":"lib.rs"}"#, CancellationToken::new()).await;
//!
//! let views = card::from_log(&log.records()?, &registry, None);
//! assert_eq!(
//!     serde_json::to_value(&views[0].card)?,
//!     json!({"card": "generic", "title": "Find lib.rs", "kind": "search"})
//! );
//! assert_eq!(
//!     serde_json::to_value(&views[1].card)?,
//!     json!({"card": "search", "paths": ["src/lib.rs"], "truncated": false, "total": 1})
//! );
//! # Ok(()) }
//! ```
//!
//! [`ToolDef::present_call`]: crate::ToolDef::present_call
//! [`ToolDef::present_result`]: crate::ToolDef::present_result
//! [`narrow`]: narrow()

mod call;
#[cfg(feature = "workspace")]
pub mod diff;
pub mod jobs;
mod log;
mod narrow;
mod presented;
pub mod reading;
mod result;
pub mod search;
pub mod shell;
pub mod web;

pub use self::call::{CallCard, DiffCall, GenericCall, Kind, Location, TerminalCall};
pub use self::log::{Card, Moment, Projection, View, from_log};
pub use self::narrow::{Diffs, narrow};
pub use self::presented::Presented;
pub use self::result::{
    DiffEntry, DiffResult, Ending, FileMatches, GenericResult, LineMatch, NumberedLine,
    PathResults, ReadResult, ResultCard, SearchMatches, SearchResult, Source, TerminalResult,
    WebFetch, WebResult, WebSearch,
};
