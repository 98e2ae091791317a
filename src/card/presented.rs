//! What a presenter sees of a result.

use serde_json::Value;

use crate::redaction::ShownResult;
use crate::session::ResultRecord;
use crate::{ContentBlock, ToolResult};

/// What a presenter sees of a result: no more than a log keeps of it, so that
/// a card can be made again from the log alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Presented<'a> {
    /// What the model reads.
    pub content: &'a [ContentBlock],
    /// What [`ToolDef::presentation_meta`](crate::ToolDef::presentation_meta) made.
    pub meta: Option<&'a Value>,
    /// Whether the call failed.
    pub is_error: bool,
}

impl<'a> Presented<'a> {
    /// What is to be seen of a result. Secrets that a tool keeps in its
    /// results, and its renderer writes into a text, are known where the value
    /// is: of such a tool take [`of_shown`](Self::of_shown).
    pub fn of(result: &'a ToolResult) -> Self {
        Self {
            content: result.content(),
            meta: result.meta(),
            is_error: result.is_error(),
        }
    }

    /// What is to be seen of a result that was logged.
    pub fn of_record(record: &'a ResultRecord) -> Self {
        Self {
            content: &record.content,
            meta: record.meta.as_ref(),
            is_error: record.is_error,
        }
    }

    /// What is to be seen of what a call shows of its result:
    /// [`CallView::shown_result`](crate::CallView::shown_result).
    pub fn of_shown(shown: &'a ShownResult) -> Self {
        Self {
            content: &shown.content,
            meta: shown.meta.as_ref(),
            is_error: shown.message.is_some(),
        }
    }

    /// A copy, of which parts can be hidden.
    pub(crate) fn to_shown(self) -> ShownResult {
        let mut shown = ShownResult::default();
        shown.content = self.content.to_vec();
        shown.meta = self.meta.cloned();
        shown
    }

    /// The text, if the content is one block of text and nothing else.
    pub fn only_text(&self) -> Option<&'a str> {
        match self.content {
            [block] => block.as_text(),
            _ => None,
        }
    }
}
