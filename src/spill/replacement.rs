//! What stands in a model's context for a text that was stored.

use super::Spilled;
use crate::retain::TextRetainer;

/// Both ends of `text`, and where all of it is: at most `cap` bytes. Nothing
/// if the notice alone is longer.
///
/// Room is reserved for the notice as it would be if all of the text were
/// omitted, so the printed one, whose number is no longer, fits in any case.
pub(super) fn replacement(text: &str, stored: &Spilled, cap: usize) -> Option<String> {
    const BLANK_LINE: &str = "\n\n";
    let reserve = notice(text.len() as u64, stored).len() + BLANK_LINE.len();
    let preview = cap.saturating_sub(reserve);
    let tail = preview / 2;
    let mut ends = TextRetainer::head_and_tail(preview - tail, tail);
    ends.push(text);
    let ends = ends.finish();
    let notice = notice(ends.seen_bytes - ends.kept_bytes, stored);
    let whole = if ends.text.is_empty() {
        notice
    } else {
        ends.text + BLANK_LINE + &notice
    };
    (whole.len() <= cap).then_some(whole)
}

fn notice(omitted: u64, stored: &Spilled) -> String {
    let Spilled {
        locator,
        retrieval_hint: hint,
        ..
    } = stored;
    let space = if hint.is_empty() { "" } else { " " };
    format!("(Omitted {omitted} bytes. Full formatted result stored at: {locator}.{space}{hint})")
}
