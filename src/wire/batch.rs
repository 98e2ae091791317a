//! What one reply asks for.

use std::fmt;

use serde_json::{Map, Value};

use super::Dialect;

/// The text of a call's arguments, exactly as it was sent.
///
/// Nothing is parsed, repaired or put in order here, so that the check that
/// follows sees repeated names, numbers past 64 bits and cut text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RawArguments {
    /// The call has no arguments member at all.
    #[default]
    Absent,
    /// The text, which may be empty, `null` or anything else.
    Text(String),
}

impl RawArguments {
    /// The text as sent, if there is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Absent => None,
            Self::Text(text) => Some(text),
        }
    }

    /// The text with `{}` for all that means no arguments: absent, empty,
    /// white space, `null`.
    ///
    /// ```
    /// use toolfall::wire::RawArguments;
    ///
    /// assert_eq!(RawArguments::Absent.or_empty_object(), "{}");
    /// assert_eq!(RawArguments::from(" null ").or_empty_object(), "{}");
    /// assert_eq!(RawArguments::from("not json").or_empty_object(), "not json");
    /// ```
    pub fn or_empty_object(&self) -> &str {
        match self.as_text() {
            Some(text) if !matches!(text.trim_ascii(), "" | "null") => text,
            _ => "{}",
        }
    }
}

impl From<&str> for RawArguments {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// How a call's text is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallKind {
    /// A function: the text is JSON.
    #[default]
    Function,
    /// A custom tool: the text is free and must not be parsed.
    Custom,
}

/// One call that the model wrote for the host to run.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct WireCall {
    /// The provider's id as sent: it may be absent, empty, repeated, reused.
    pub id: Option<String>,
    /// The tool's name as sent; empty if the provider sent none.
    pub name: String,
    /// The arguments as sent.
    pub arguments: RawArguments,
    /// Whether the text is JSON or free.
    pub kind: CallKind,
    /// The reply broke off in this call. It must not run, even if it parses.
    pub cut: bool,
    /// Members beside these that the provider wants back with the call:
    /// `caller` (Messages), `namespace` (Responses), `extra_content`.
    pub extras: Map<String, Value>,
}

impl WireCall {
    /// A function call.
    pub fn new(id: Option<&str>, name: &str, arguments: RawArguments) -> Self {
        Self {
            id: id.map(str::to_owned),
            name: name.to_owned(),
            arguments,
            ..Self::default()
        }
    }
}

/// A call that is listed and not handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApartCall {
    /// The provider's word for it: `server_tool_use`, `web_search_call`.
    pub kind: String,
    /// Its id, if it has one.
    pub id: Option<String>,
    /// Its tool's name, if it has one.
    pub name: Option<String>,
}

/// Why a reply is not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Incomplete {
    /// It met the length limit.
    Length,
    /// The provider's filter, or the model's refusal, ended it.
    Filtered,
    /// The provider, the connection or the reading of it failed.
    Failed,
    /// A stream ended without saying so, or the reply is not finished yet.
    Unfinished,
    /// The host stopped reading it.
    Cancelled,
}

impl Incomplete {
    /// What a provider's stop reason means; `None` for those of a whole reply.
    pub(super) fn of_reason(reason: &str) -> Option<Self> {
        match reason.to_ascii_lowercase().as_str() {
            "length"
            | "max_tokens"
            | "max_output_tokens"
            | "model_length"
            | "model_context_window_exceeded" => Some(Self::Length),
            "content_filter" | "refusal" | "safety" => Some(Self::Filtered),
            "error" | "failed" | "cancelled" | "network_error" => Some(Self::Failed),
            "in_progress" | "queued" | "incomplete" => Some(Self::Unfinished),
            _ => None,
        }
    }
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Length => "the reply was cut off at the length limit",
            Self::Filtered => "the reply was ended by a filter or a refusal",
            Self::Failed => "the reply failed before its end",
            Self::Unfinished => "the reply ended before it was finished",
            Self::Cancelled => "the reply was cancelled",
        })
    }
}

/// The calls of one reply, in the model's order.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WireBatch {
    /// The interface it came by.
    pub dialect: Dialect,
    /// The calls for the host to run. Their place is what pairs them with
    /// their results.
    pub calls: Vec<WireCall>,
    /// Why the reply is not whole, if it is not. None of its calls may run.
    pub incomplete: Option<Incomplete>,
    /// Calls that the provider ran itself: nothing is to be answered.
    pub provider_ran: Vec<ApartCall>,
    /// Calls of kinds that this crate does not run and that somebody has to
    /// answer: `computer_call`, `local_shell_call` and their like.
    pub unsupported: Vec<ApartCall>,
}

impl WireBatch {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            calls: Vec::new(),
            incomplete: None,
            provider_ran: Vec::new(),
            unsupported: Vec::new(),
        }
    }

    /// Whether the call at `place` may run: it is there and whole, and so is
    /// the reply that it came in.
    pub fn may_run(&self, place: usize) -> bool {
        self.incomplete.is_none() && self.calls.get(place).is_some_and(|call| !call.cut)
    }
}
