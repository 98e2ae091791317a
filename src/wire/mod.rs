//! Between a provider's wire format and a batch of calls.
//!
//! Three interfaces are spoken: `OpenAI` Chat Completions, `OpenAI` Responses
//! and Anthropic Messages. [`read_reply`] and [`StreamAssembler`] take a reply
//! to a [`WireBatch`]; [`write_assistant`] and [`write_results`] write the turn
//! and its results back, so that the provider takes them.
//!
//! What holds on this border:
//!
//! - Argument text is passed on exactly as sent. Whether it is JSON, how deep
//!   and how large its numbers are is judged by whoever runs the call, and one
//!   malformed call harms none of its neighbours.
//! - Calls are paired with their results by their place in the batch. Ids that
//!   are absent, empty, repeated or used before are kept as sent; where the
//!   provider needs one and none was sent, both writers make the same.
//! - A reply that was cut off says so, and [`WireBatch::may_run`] is then false
//!   for each of its calls, even those that parse.
//! - Calls that the provider ran itself are listed apart.
//!
//! # Example
//!
//! ```
//! use toolfall::wire::{WireResult, read_reply, write_assistant, write_results};
//! use toolfall_layers::ContentBlock;
//!
//! let batch = read_reply(None, r#"{
//!     "type": "message", "role": "assistant", "stop_reason": "tool_use",
//!     "content": [
//!         {"type": "text", "text": "Let me look."},
//!         {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a.txt"}}
//!     ]
//! }"#)?;
//! let call = &batch.calls[0];
//! assert_eq!((call.name.as_str(), call.arguments.as_text()), ("read", Some(r#"{"path": "a.txt"}"#)));
//!
//! let content = [ContentBlock::text("hello")];
//! let mut messages = write_assistant(batch.dialect, &batch.calls).messages;
//! messages.extend(write_results(batch.dialect, &[WireResult::of(call, &content, false)]));
//! assert_eq!(messages[0]["content"][0]["id"], messages[1]["content"][0]["tool_use_id"]);
//! # Ok::<(), toolfall::wire::WireError>(())
//! ```

mod arguments;
mod assistant;
mod batch;
mod dialect;
mod error;
mod history;
mod ids;
mod literal;
mod raw;
mod read;
mod results;
mod run;
mod stream;

pub(crate) use self::results::tool_result;
pub use self::{
    arguments::STAND_IN_MEMBER,
    assistant::{AssistantTurn, Note, write_assistant},
    batch::{ApartCall, CallKind, Incomplete, RawArguments, WireBatch, WireCall},
    dialect::Dialect,
    error::WireError,
    history::{SafeHistory, safe_history},
    read::read_reply,
    results::{WireResult, write_results},
    stream::{DEFAULT_STREAM_LIMIT, SseDecoder, StreamAssembler},
};
