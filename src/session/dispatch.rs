//! The records of calls that a program makes.
//!
//! They stand in place of `tool/call` and `tool/result`: one pair a call, and
//! none of it is for a model. The ordinal ties them to everything else that
//! cites a call, as it does for calls of the model's own.

use serde::{Deserialize, Serialize};
use toolfall_layers::ContentBlock;

use super::bodies::{CallRecord, ErrorRecord, ResultRecord};

/// A `tool/code-dispatch-start` record: a program called a tool, and nothing
/// of the call ran yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DispatchStartRecord {
    /// The call's ordinal, see [`CallRecord::call`].
    pub call: u64,
    /// The ordinal of the outermost call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<u64>,
    /// The ordinal of the call that ran the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u64>,
    /// The id of the outermost call, or `#` and its ordinal if the model gave
    /// it none.
    #[serde(rename = "rootCallId")]
    pub root_call_id: String,
    /// The id of the call that ran the program, likewise.
    #[serde(rename = "parentCallId")]
    pub parent_call_id: String,
    /// The call's own id: that of its parent, `:code:` and a number from 1.
    #[serde(rename = "subCallId")]
    pub sub_call_id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments' text, as far as people may see it.
    pub arguments: String,
    /// Something of the arguments is hidden, see [`CallRecord::redacted`].
    #[serde(default, skip_serializing_if = "super::bodies::is_false")]
    pub redacted: bool,
    /// The agent on whose behalf the call was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// A `tool/code-dispatch` record: what a call that a program made came to.
///
/// The content is that of the result, or what a host made of it for the log
/// alone; the program got the value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DispatchRecord {
    /// The call's ordinal.
    pub call: u64,
    /// As in [`DispatchStartRecord::root_call_id`].
    #[serde(rename = "rootCallId")]
    pub root_call_id: String,
    /// As in [`DispatchStartRecord::parent_call_id`].
    #[serde(rename = "parentCallId")]
    pub parent_call_id: String,
    /// As in [`DispatchStartRecord::sub_call_id`].
    #[serde(rename = "subCallId")]
    pub sub_call_id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments' text, as far as people may see it.
    pub arguments: String,
    /// Whether the call failed.
    pub is_error: bool,
    /// What a model would have read.
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
    /// The process ended while the call was open; opening the log wrote this.
    #[serde(default, skip_serializing_if = "super::bodies::is_false")]
    pub interrupted: bool,
}

impl DispatchStartRecord {
    /// The record that a call of this kind would have if no program had made
    /// it: for readers who do not care who called.
    pub fn as_call(&self) -> CallRecord {
        CallRecord {
            call: self.call,
            id: self.sub_call_id.clone(),
            name: self.name.clone(),
            arguments: self.arguments.clone(),
            redacted: self.redacted,
            root: self.root,
            parent: self.parent,
            agent: self.agent.clone(),
            synthetic: false,
            // Written once its copy for the log is ready, which takes as long
            // as it takes.
            unordered: true,
        }
    }

    /// The record that closes this one.
    pub(super) fn closed_by(&self, result: ResultRecord) -> DispatchRecord {
        DispatchRecord {
            call: self.call,
            root_call_id: self.root_call_id.clone(),
            parent_call_id: self.parent_call_id.clone(),
            sub_call_id: self.sub_call_id.clone(),
            name: self.name.clone(),
            arguments: self.arguments.clone(),
            is_error: result.is_error,
            content: result.content,
            error: result.error,
            kind: result.kind,
            effect: result.effect,
            decided_by: result.decided_by,
            allowed_by: result.allowed_by,
            granted_by: result.granted_by,
            interrupted: result.interrupted,
        }
    }
}

impl DispatchRecord {
    /// The record that a result of this kind would have if no program had
    /// made the call.
    pub fn as_result(&self) -> ResultRecord {
        ResultRecord {
            call: self.call,
            id: self.sub_call_id.clone(),
            is_error: self.is_error,
            content: self.content.clone(),
            error: self.error.clone(),
            kind: self.kind.clone(),
            effect: self.effect.clone(),
            decided_by: self.decided_by.clone(),
            allowed_by: self.allowed_by.clone(),
            granted_by: self.granted_by.clone(),
            interrupted: self.interrupted,
            ..ResultRecord::default()
        }
    }
}
