//! The records of calls and of what they leave behind.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolfall_layers::ContentBlock;

/// `serde` asks for a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
pub(super) fn is_false(value: &bool) -> bool {
    !*value
}

/// A `tool/call` record: one call, before anything of it ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRecord {
    /// The call's ordinal, unique in the log: see [`SessionLog::new_call`].
    ///
    /// Every other record cites the call by it, because the ids that models
    /// send may be empty, absent or repeated.
    ///
    /// [`SessionLog::new_call`]: super::SessionLog::new_call
    pub call: u64,
    /// The model's id for the call, as sent.
    pub id: String,
    /// The tool's name, as sent.
    pub name: String,
    /// The arguments' text: as sent, or, if [`redacted`](Self::redacted), as
    /// people may see it.
    pub arguments: String,
    /// Something of the arguments is hidden. The call cannot be made again
    /// from this record.
    #[serde(default, skip_serializing_if = "is_false")]
    pub redacted: bool,
    /// The outermost call that this one is nested in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<u64>,
    /// The call that made this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u64>,
    /// The agent on whose behalf the call was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The call was never begun: this record only gives its result something to cite.
    #[serde(default, skip_serializing_if = "is_false")]
    pub synthetic: bool,
    /// The call belongs to no batch, so its result keeps no order with its siblings'.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unordered: bool,
}

/// A `tool/started` record: a body of the call is about to be entered.
///
/// Written once, before the call's first body. A call without it is known
/// not to have had any effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartedRecord {
    /// The call's ordinal.
    pub call: u64,
}

/// A `tool/result` record: what a call came to.
///
/// It holds what was shown and how the call ended, never the tool's canonical
/// value.
// Each flag is a field of the line of its own, and all combinations occur.
#[allow(clippy::struct_excessive_bools)]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResultRecord {
    /// The call's ordinal.
    pub call: u64,
    /// The model's id for the call, as sent.
    pub id: String,
    /// Whether the call failed.
    pub is_error: bool,
    /// What the model reads.
    pub content: Vec<ContentBlock>,
    /// Why the call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorRecord>,
    /// The class of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Whether the tool may have had an effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
    /// Which stage decided the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// The permission rules that allowed it, one for each list that did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_by: Vec<String>,
    /// The grants that answered the questions about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub granted_by: Vec<String>,
    /// What the tool said beside its content, for hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
    /// No stage of a stack produced this result.
    #[serde(default, skip_serializing_if = "is_false")]
    pub synthetic: bool,
    /// The process ended while the call was open; opening the log wrote this.
    #[serde(default, skip_serializing_if = "is_false")]
    pub interrupted: bool,
    /// The agent's turn ends with this result.
    #[serde(default, skip_serializing_if = "is_false")]
    pub concludes_turn: bool,
}

/// Why a call failed, inside a [`ResultRecord`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorRecord {
    /// The failure in a sentence.
    pub message: String,
    /// The failure's name, `AbortError` for instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The failure's code, `ABORTED` for instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// A `context/message` record: a message that a call left for the model, to be
/// read after the results of its batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextRecord {
    /// The ordinal of the call that left it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<u64>,
    /// The message's own id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// In whose name it speaks; `user` unless said otherwise.
    #[serde(default = "user")]
    pub role: String,
    /// What it says.
    pub content: Vec<ContentBlock>,
    /// Who wrote it, in the writer's own words or structure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Value>,
    /// Anything else the writer keeps with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

fn user() -> String {
    "user".to_owned()
}

impl ContextRecord {
    /// A text in the user's name.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            call: None,
            id: None,
            role: user(),
            content: vec![ContentBlock::text(text)],
            source: None,
            metadata: None,
        }
    }
}

/// A `turn/start` or `turn/end` record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnRecord {
    /// The turn's name, the same at its start and at its end.
    pub turn: String,
}

/// A `log/torn` record: where opening the log cut off an unfinished line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TornRecord {
    /// Where the line began, in bytes from the log's beginning.
    pub offset: u64,
    /// How many bytes were cut off.
    pub bytes: u64,
    /// The beginning of the line, at most a few kilobytes, with what is not
    /// text replaced.
    pub text: String,
}
