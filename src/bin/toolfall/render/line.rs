//! The JSON objects that are printed, one a line.

use serde::Serialize;
use serde_json::Value;
use toolfall::{ContentBlock, ContextMessage};

use super::Totals;

#[derive(Serialize)]
pub(super) struct Line<'a> {
    pub(super) r#type: &'static str,
    pub(super) batch: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) turn: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) agent: Option<&'a str>,
    pub(super) place: usize,
    pub(super) call_id: Option<&'a str>,
    pub(super) name: &'a str,
    pub(super) arguments_json: &'a str,
    pub(super) is_error: bool,
    pub(super) content: &'a [ContentBlock],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<Failure<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) decided_by: Option<String>,
    /// The rules that allowed it.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) allowed_by: &'a [String],
    /// The grants that answered for a person.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) granted_by: &'a [String],
    pub(super) effect: &'static str,
}

#[derive(Serialize)]
pub(super) struct Failure<'a> {
    pub(super) message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) code: Option<&'a str>,
}

#[derive(Serialize)]
pub(super) struct ApartLine<'a> {
    pub(super) r#type: &'static str,
    pub(super) batch: &'a str,
    pub(super) kind: &'a str,
    pub(super) call_id: Option<&'a str>,
    pub(super) name: Option<&'a str>,
}

#[derive(Serialize)]
pub(super) struct LeftOutLine<'a> {
    pub(super) r#type: &'static str,
    pub(super) batch: &'a str,
    pub(super) name: &'a str,
    pub(super) why: &'a str,
}

#[derive(Serialize)]
pub(super) struct EndLine<'a> {
    pub(super) r#type: &'static str,
    pub(super) batch: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) turn: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) agent: Option<&'a str>,
    pub(super) calls: usize,
    pub(super) aborted: bool,
    pub(super) concludes: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) contexts: &'a [ContextMessage],
    /// Messages that a cancelled batch holds back for the next turn.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) parked: &'a [ContextMessage],
}

#[derive(Serialize)]
pub(super) struct SummaryLine {
    pub(super) r#type: &'static str,
    #[serde(flatten)]
    pub(super) totals: Totals,
    pub(super) cancelled: bool,
    /// What ended the run before its batches did, if anything did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ended_by: Option<EndedLine>,
}

#[derive(Serialize)]
pub(super) struct EndedLine {
    /// `budget` or `person`.
    pub(super) by: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) budget: Option<&'static str>,
    pub(super) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) limit: Option<u32>,
    /// Batches that were read and not begun.
    pub(super) not_begun: u64,
}
