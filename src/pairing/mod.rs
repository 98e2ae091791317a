//! Which calls of a conversation lack their result, and what to add.
//!
//! A provider refuses a conversation in which a call has no result. One may be
//! missing because the process ended, or because a result was never written.
//! [`check`] names what is wrong, [`repair`] adds a result for each call that
//! has none and touches nothing else; [`check_log`] and [`repair_log`] do the
//! same for a plain sequence of calls and results.
//!
//! Calls are paired by place: a result belongs to the first unanswered call
//! with its id in the turn before it, so ids may be empty, repeated, or used
//! again by later turns.
//!
//! # Example
//!
//! ```
//! use serde_json::json;
//! use toolfall::{pairing::{self, Finding}, wire::Dialect};
//!
//! let messages = [
//!     json!({"role": "assistant", "tool_calls": [
//!         {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}},
//!         {"id": "c2", "type": "function", "function": {"name": "read", "arguments": "{}"}},
//!     ]}),
//!     json!({"role": "tool", "tool_call_id": "c1", "content": "42 files"}),
//!     json!({"role": "user", "content": "go on"}),
//! ];
//! let found = pairing::check(Dialect::ChatCompletions, &messages);
//! assert_eq!(
//!     found,
//!     [Finding::MissingResult { id: "c2".into(), call: "/0/tool_calls/1".into() }],
//! );
//!
//! let whole = pairing::repair(Dialect::ChatCompletions, &messages);
//! assert_eq!(whole[2]["content"], pairing::SYNTHETIC_RESULT);
//! assert!(pairing::check(Dialect::ChatCompletions, &whole).is_empty());
//! ```

mod entries;
mod messages;
mod repair;

use std::fmt;

use serde_json::Value;

use crate::wire::Dialect;

pub use self::{
    entries::{Entry, repair_log},
    repair::repair,
};

/// What a result that was added says.
pub const SYNTHETIC_RESULT: &str = "Error: tool call aborted before dispatch";

/// One thing that is wrong with calls and results. Places are JSON pointers
/// into the list that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// A call has no result anywhere.
    MissingResult {
        /// Its id; empty if it has none.
        id: String,
        /// The call.
        call: String,
    },
    /// A result whose call has one already.
    DuplicateResult {
        /// Its id; empty if it has none.
        id: String,
        /// The result.
        result: String,
    },
    /// A result of no call.
    OrphanResult {
        /// Its id; empty if it has none.
        id: String,
        /// The result.
        result: String,
    },
    /// A result that is not where it belongs: after that of a later call of
    /// its turn, after other messages, or before its call.
    OutOfOrder {
        /// Its id; empty if it has none.
        id: String,
        /// The result.
        result: String,
        /// Its call.
        call: String,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingResult { id, call } => {
                write!(f, "at \"{call}\": call {id:?} has no result")
            }
            Self::DuplicateResult { id, result } => {
                write!(f, "at \"{result}\": call {id:?} has a result already")
            }
            Self::OrphanResult { id, result } => {
                write!(f, "at \"{result}\": there is no call {id:?}")
            }
            Self::OutOfOrder { id, result, call } => {
                write!(
                    f,
                    "at \"{result}\": out of order, its call {id:?} is at \"{call}\""
                )
            }
        }
    }
}

/// What is wrong with the calls and results of a conversation, in the order
/// of `messages`. Messages that are not of the dialect count as any other
/// message: they end a turn.
///
/// Only [`Finding::MissingResult`] can be mended by adding; a result out of
/// order is reported, and its call counts as answered.
pub fn check(dialect: Dialect, messages: &[Value]) -> Vec<Finding> {
    let parts = messages::flatten(dialect, messages);
    entries::findings(&parts.entries, |entry| parts.places[entry].pointer(dialect))
}

/// As [`check`], for a log: pointers are `/` and the entry's index.
pub fn check_log(entries: &[Entry<'_>]) -> Vec<Finding> {
    entries::findings(entries, |entry| format!("/{entry}"))
}
