//! Bytes to store, made as they are written.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use toolfall_layers::ToolOutcome;

use super::SpillSource;
use super::base64::{decode, decoded_len};
use super::blocks::payload;
use crate::ContentBlock;

/// Bytes to store, with what they are.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SpillBytes {
    /// The id of the session that they belong to.
    pub owner: String,
    /// Where they come from.
    pub source: SpillSource,
    /// The suggested name, `shot-1.png` for instance. Not checked at all: a
    /// store makes of it what is safe there.
    pub name: String,
    /// Their media type, if the tool named one that looks like one.
    pub mime_type: Option<String>,
    /// The bytes themselves.
    pub content: SpillContent,
}

impl SpillBytes {
    /// Bytes of the session `owner`, of no known media type.
    pub fn new(
        owner: impl Into<String>,
        source: SpillSource,
        name: impl Into<String>,
        content: SpillContent,
    ) -> Self {
        Self {
            owner: owner.into(),
            source,
            name: name.into(),
            mime_type: None,
            content,
        }
    }
}

/// Bytes that are made as they are written, of what a result holds as base64:
/// a picture of a hundred megabytes is not held twice for being stored.
///
/// Cheap to clone; clones share what they are made of.
///
/// ```
/// use toolfall::spill::SpillContent;
///
/// let content = SpillContent::from_base64("aGVsbG8=").unwrap();
/// assert_eq!(content.len(), 5);
/// assert_eq!(content.to_vec(), b"hello");
/// assert!(SpillContent::from_base64("hell*").is_none());
/// ```
#[derive(Clone)]
pub struct SpillContent(Held);

#[derive(Clone)]
enum Held {
    Bytes(Arc<[u8]>),
    Text(Arc<str>),
    Base64(Arc<str>),
    /// What one block of a result holds.
    Block {
        blocks: Blocks,
        place: usize,
        is_base64: bool,
    },
    /// The blocks from a place on, as JSON, one a line.
    Lines {
        blocks: Blocks,
        from: usize,
    },
}

/// The blocks of a result: its own, or some that were put in their place.
#[derive(Clone)]
pub(super) enum Blocks {
    Of(ToolOutcome),
    Own(Arc<[ContentBlock]>),
}

impl Blocks {
    fn all(&self) -> &[ContentBlock] {
        match self {
            Self::Of(outcome) => outcome.content(),
            Self::Own(blocks) => blocks,
        }
    }

    fn from(&self, place: usize) -> &[ContentBlock] {
        self.all().get(place..).unwrap_or_default()
    }
}

impl SpillContent {
    /// These bytes.
    pub fn from_bytes(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self(Held::Bytes(bytes.into()))
    }

    /// The UTF-8 of a text.
    pub fn from_text(text: impl Into<Arc<str>>) -> Self {
        Self(Held::Text(text.into()))
    }

    /// The bytes that a text in base64 stands for; none if it is no base64.
    /// The alphabet for addresses is read as well, padding may be missing, and
    /// white space is passed over.
    pub fn from_base64(text: impl Into<Arc<str>>) -> Option<Self> {
        let text = text.into();
        decoded_len(&text)?;
        Some(Self(Held::Base64(text)))
    }

    pub(super) fn of_block(blocks: Blocks, place: usize, is_base64: bool) -> Self {
        Self(Held::Block {
            blocks,
            place,
            is_base64,
        })
    }

    pub(super) fn of_lines(blocks: Blocks, from: usize) -> Self {
        Self(Held::Lines { blocks, from })
    }

    /// How many bytes there are. May take a pass over all of them.
    pub fn len(&self) -> u64 {
        match &self.0 {
            Held::Bytes(bytes) => bytes.len() as u64,
            Held::Text(text) => text.len() as u64,
            Held::Base64(text) => decoded_len(text).unwrap_or_default(),
            Held::Block { is_base64, .. } => {
                let text = self.text();
                match is_base64 {
                    true => decoded_len(text).unwrap_or_default(),
                    false => text.len() as u64,
                }
            }
            Held::Lines { .. } => {
                let mut counted = Counted(0);
                // Counting does not fail.
                let _ = self.write_to(&mut counted);
                counted.0
            }
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes all of them, in pieces of a few kilobytes where they are decoded.
    ///
    /// # Errors
    ///
    /// Those of `to`.
    pub fn write_to(&self, to: &mut dyn Write) -> io::Result<()> {
        match &self.0 {
            Held::Bytes(bytes) => to.write_all(bytes),
            Held::Base64(_)
            | Held::Block {
                is_base64: true, ..
            } => decode(self.text(), to),
            Held::Text(_) | Held::Block { .. } => to.write_all(self.text().as_bytes()),
            Held::Lines { blocks, from } => {
                let mut to = io::BufWriter::new(to);
                for block in blocks.from(*from) {
                    serde_json::to_writer(&mut to, block)?;
                    to.write_all(b"\n")?;
                }
                to.flush()
            }
        }
    }

    /// A copy of all of them.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // Memory is always written to.
        let _ = self.write_to(&mut bytes);
        bytes
    }

    fn text(&self) -> &str {
        match &self.0 {
            Held::Text(text) | Held::Base64(text) => text,
            Held::Block { blocks, place, .. } => {
                let block = blocks.from(*place).first();
                block.and_then(payload).unwrap_or_default()
            }
            Held::Bytes(_) | Held::Lines { .. } => "",
        }
    }
}

impl fmt::Debug for SpillContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpillContent").finish_non_exhaustive()
    }
}

/// Counts what is written to it.
struct Counted(u64);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The store keeps texts only. See
/// [`SpillStore::save_bytes`](super::SpillStore::save_bytes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a store of bytes, found one that keeps texts only")]
pub struct TextsOnly(());

impl TextsOnly {
    pub(super) const fn new() -> Self {
        Self(())
    }
}
