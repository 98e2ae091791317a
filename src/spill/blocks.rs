//! Which blocks of a result are over a budget.

use toolfall_layers::ResourceContents;

use super::SpillConfig;
use super::base64::decoded_len;
use crate::ContentBlock;

/// Addresses, names and media types of a block are free up to so many bytes
/// together. Where they have more they count, all of them.
const LABELS: usize = 1024;

/// The budgets of blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockBudgets {
    block: u64,
    result: u64,
    blocks: usize,
}

/// The budget that a block is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    Block(u64),
    Result(u64),
}

/// A block that is over a budget.
#[derive(Clone, Copy, Debug)]
pub(super) struct TooBig {
    /// Its place among the blocks.
    pub(super) place: usize,
    /// What it counts.
    pub(super) bytes: u64,
    pub(super) form: Form,
    pub(super) over: Over,
}

/// How the data of a block is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As text that is meant as it is.
    Text,
    Base64,
    /// As text that should be base64 and is none.
    NoBase64,
}

/// What of a result goes.
#[derive(Debug)]
pub(super) struct TooMuch {
    /// In the order of the result, each before `shown`.
    pub(super) too_big: Vec<TooBig>,
    /// So many blocks are shown, or a note in the place of each.
    pub(super) shown: usize,
}

impl BlockBudgets {
    /// Those of `config`; none if it sets none.
    pub(super) fn of(config: &SpillConfig) -> Option<Self> {
        let bytes = |most: Option<usize>| most.map_or(u64::MAX, |most| most as u64);
        Some(Self {
            blocks: config.blocks()?,
            block: bytes(config.max_block_bytes),
            result: bytes(config.max_result_bytes),
        })
    }

    /// What of `content` goes; nothing if all of it stays.
    ///
    /// The first blocks stay. Once one does not fit into what is left for the
    /// result, the later ones go as well, unless they count nothing.
    pub(super) fn too_much(self, content: &[ContentBlock]) -> Option<TooMuch> {
        if self.surely_fits(content) {
            return None;
        }
        let shown = content.len().min(self.blocks);
        let mut too_big = Vec::new();
        let (mut left, mut full) = (self.result, false);
        for (place, block) in content.iter().take(shown).enumerate() {
            let Some((bytes, form)) = measure(block) else {
                continue;
            };
            let over = if bytes > self.block {
                Over::Block(self.block)
            } else if bytes == 0 || (!full && bytes <= left) {
                left -= bytes;
                continue;
            } else {
                full = true;
                Over::Result(self.result)
            };
            too_big.push(TooBig {
                place,
                bytes,
                form,
                over,
            });
        }
        let is_too_much = shown < content.len() || !too_big.is_empty();
        is_too_much.then_some(TooMuch { too_big, shown })
    }

    /// Whether the texts in base64 are within the budgets themselves, so that
    /// nothing need be read to know that what they stand for is.
    fn surely_fits(self, content: &[ContentBlock]) -> bool {
        let mut left = self.result;
        content.len() <= self.blocks
            && content.iter().all(|block| {
                let most = payload(block).map_or(0, |text| text.len() + counted_labels(block));
                let most = most as u64;
                let fits = most <= self.block && most <= left;
                left = left.saturating_sub(most);
                fits
            })
    }
}

/// What a block counts, and how its data is written; nothing for texts, which
/// have a budget of their own.
fn measure(block: &ContentBlock) -> Option<(u64, Form)> {
    let text = payload(block)?;
    let (bytes, form) = if is_meant_as_base64(block) {
        match decoded_len(text) {
            Some(bytes) => (bytes, Form::Base64),
            None => (text.len() as u64, Form::NoBase64),
        }
    } else {
        (text.len() as u64, Form::Text)
    };
    let labels = counted_labels(block) as u64;
    if matches!(block, ContentBlock::ResourceLink { .. }) {
        // All that it has are labels.
        return Some((labels, form));
    }
    Some((bytes + labels, form))
}

/// The data of a block, or the address that it is; none of texts.
pub(super) fn payload(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Image { data, .. } | ContentBlock::Audio { data, .. } => Some(data),
        ContentBlock::ResourceLink { uri, .. } => Some(uri),
        ContentBlock::Resource { resource } => Some(match &resource.contents {
            ResourceContents::Text(text) | ResourceContents::Blob(text) => text,
        }),
        _ => None,
    }
}

fn is_meant_as_base64(block: &ContentBlock) -> bool {
    match block {
        ContentBlock::Image { .. } | ContentBlock::Audio { .. } => true,
        ContentBlock::Resource { resource } => {
            matches!(resource.contents, ResourceContents::Blob(_))
        }
        _ => false,
    }
}

/// The bytes of addresses, names and media types, if they count.
fn counted_labels(block: &ContentBlock) -> usize {
    let mime = mime_type(block).map_or(0, str::len);
    let labels = mime
        + match block {
            ContentBlock::ResourceLink { uri, name, .. } => uri.len() + name.len(),
            ContentBlock::Resource { resource } => resource.uri.len(),
            _ => 0,
        };
    if labels > LABELS { labels } else { 0 }
}

/// The media type that a block claims.
pub(super) fn mime_type(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Image { mime_type, .. } | ContentBlock::Audio { mime_type, .. } => {
            Some(mime_type)
        }
        ContentBlock::ResourceLink { mime_type, .. } => mime_type.as_deref(),
        ContentBlock::Resource { resource } => resource.mime_type.as_deref(),
        _ => None,
    }
}
