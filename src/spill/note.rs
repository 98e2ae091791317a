//! What stands in the place of blocks that are over a budget.

use std::fmt::Write as _;

use toolfall_layers::printable;

use super::Spilled;
use super::blocks::{Form, Over, TooBig, mime_type};
use super::media::media_type;
use crate::ContentBlock;

/// So many characters of an address or a name are repeated.
const SHOWN: usize = 200;

/// The note for a block: what it was, which budget it was over, and where it
/// is, if it was stored.
pub(super) fn block_note(block: &ContentBlock, big: &TooBig, stored: Option<&Spilled>) -> String {
    let mut note = format!("({} omitted", what(block));
    let _ = match mime_type(block).map(media_type) {
        Some(Some(mime)) => write!(note, ": {mime}, "),
        Some(None) => write!(note, ": unreadable media type, "),
        None => write!(note, ": "),
    };
    let bytes = big.bytes;
    let _ = match big.over {
        Over::Block(most) => write!(note, "{bytes} bytes, over the {most} bytes for one block."),
        Over::Result(most) => write!(
            note,
            "{bytes} bytes, more than is left of the {most} bytes for the blocks of one result."
        ),
    };
    if big.form == Form::NoBase64 {
        // About the source, not about the budget.
        note.push_str(" Its data is not valid base64, so its text is what counts.");
    }
    where_it_is(note, stored)
}

fn what(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Image { .. } => "Image".to_owned(),
        ContentBlock::Audio { .. } => "Audio".to_owned(),
        ContentBlock::ResourceLink { name, .. } => {
            format!("Resource link {:?}", printable(name, SHOWN))
        }
        ContentBlock::Resource { resource } => {
            format!("Resource {:?}", printable(&resource.uri, SHOWN))
        }
        other => format!("Block of the kind {}", other.kind()),
    }
}

/// The note for the blocks after the first `shown`, of which there are `rest`.
pub(super) fn rest_note(shown: usize, rest: usize, stored: Option<&Spilled>) -> String {
    let noun = if rest == 1 { "block" } else { "blocks" };
    let format = if stored.is_some() {
        " One block of JSON a line."
    } else {
        ""
    };
    let note =
        format!("({rest} further {noun} omitted: over the {shown} blocks for one result.{format}");
    where_it_is(note, stored)
}

fn where_it_is(mut note: String, stored: Option<&Spilled>) -> String {
    let Some(Spilled {
        locator,
        retrieval_hint: hint,
        ..
    }) = stored
    else {
        return note + " It could not be stored.)";
    };
    let space = if hint.is_empty() { "" } else { " " };
    let _ = write!(note, " Stored at: {locator}.{space}{hint})");
    note
}
