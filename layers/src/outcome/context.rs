//! What a call adds to the conversation beside its result.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::ContentBlock;

/// A message for the model that follows the last result of a batch.
///
/// Messages keep their own id, source and metadata and are never merged; a
/// host delivers them with the role `user`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextMessage {
    /// An id, if the author gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Who wrote it.
    pub source: ContextSource,
    /// What it says.
    pub content: Vec<ContentBlock>,
    /// Metadata for presentation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

/// Who wrote a [`ContextMessage`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextSource {
    /// `tool` or `plugin`, for instance.
    pub kind: Cow<'static, str>,
    /// The author's name.
    pub name: Cow<'static, str>,
    /// One line for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

impl ContextMessage {
    /// A message of one text block, from the tool or plugin `name`.
    pub fn text(
        kind: impl Into<Cow<'static, str>>,
        name: impl Into<Cow<'static, str>>,
        text: impl Into<String>,
    ) -> Self {
        Self {
            id: None,
            source: ContextSource {
                kind: kind.into(),
                name: name.into(),
                summary: None,
            },
            content: vec![ContentBlock::text(text)],
            meta: None,
        }
    }
}
