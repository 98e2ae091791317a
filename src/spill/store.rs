//! What a store is given, and what it gives back.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::{SpillBytes, TextsOnly};
use crate::BoxError;

/// The future of [`SpillStore::save`].
pub type Saving = Pin<Box<dyn Future<Output = Result<Spilled, BoxError>> + Send>>;

/// Keeps what is too long for a model's context.
pub trait SpillStore: Send + Sync + 'static {
    /// Keeps the text of `spill`, and says where.
    ///
    /// A store may be slow, hang, fail or panic: the policy waits only so
    /// long, and then the text stays where it was.
    ///
    /// # Errors
    ///
    /// Whatever keeps the text from being stored.
    ///
    /// # Cancel safety
    ///
    /// The future may be dropped. What was stored by then may stay, although
    /// nobody knows of it.
    fn save(&self, spill: Spill) -> Saving;

    /// Keeps bytes that are no text, and says where: pictures, for instance.
    ///
    /// A store that does not say otherwise keeps none, and what it would have
    /// been given is left out of the model's context without being stored.
    ///
    /// # Errors
    ///
    /// Whatever keeps the bytes from being stored; [`TextsOnly`] unless the
    /// store says otherwise.
    ///
    /// # Cancel safety
    ///
    /// That of [`save`](Self::save).
    fn save_bytes(&self, bytes: SpillBytes) -> Saving {
        drop(bytes);
        Box::pin(std::future::ready(Err(TextsOnly::new().into())))
    }
}

/// A text to store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spill {
    /// The id of the session that the text belongs to.
    pub owner: String,
    /// Where the text comes from.
    pub source: SpillSource,
    /// The suggested name, `big.txt` for instance. Not checked at all: a
    /// store makes of it what is safe there.
    pub name: String,
    /// The whole text.
    pub content: Arc<str>,
}

impl Spill {
    /// A text of the session `owner`.
    pub fn new(
        owner: impl Into<String>,
        source: SpillSource,
        name: impl Into<String>,
        content: impl Into<Arc<str>>,
    ) -> Self {
        Self {
            owner: owner.into(),
            source,
            name: name.into(),
            content: content.into(),
        }
    }
}

/// Where a text to store comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpillSource {
    /// The tool's name, as the model wrote it.
    pub tool: String,
    /// The call's id, as the model sent it.
    pub call_id: String,
    /// Which part of the call's result it is: `result` for its text, `block-3`
    /// for its third block, `blocks` for those that were too many.
    pub label: String,
}

impl SpillSource {
    /// A text of the call `call_id` of `tool`.
    pub fn new(
        tool: impl Into<String>,
        call_id: impl Into<String>,
        label: impl Into<String>,
    ) -> Self {
        Self {
            tool: tool.into(),
            call_id: call_id.into(),
            label: label.into(),
        }
    }
}

/// Where a text was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spilled {
    /// Where it can be found, in words that the model can use.
    pub locator: String,
    /// How many bytes were stored, of UTF-8 for a text.
    pub bytes: u64,
    /// How the model gets at it, one sentence; empty for none.
    pub retrieval_hint: String,
}

impl Spilled {
    /// A text of `bytes` bytes, stored at `locator`.
    pub fn new(locator: impl Into<String>, bytes: u64, retrieval_hint: impl Into<String>) -> Self {
        Self {
            locator: locator.into(),
            bytes,
            retrieval_hint: retrieval_hint.into(),
        }
    }
}
