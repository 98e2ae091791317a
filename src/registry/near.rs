//! An answer to a name that nobody registered, with names that were meant.

use toolfall_layers::printable;

use crate::{ErrorInfo, FailureKind, ToolOutcome, code};

/// Longer names are cut in messages.
const MAX_NAME: usize = 128;
/// So many near misses are offered.
const MAX_NEAR: usize = 3;
/// Names this alike are near misses, from 0 to 1.
const ALIKE: f64 = 0.75;

/// The failure for `name`; `visible` are the names that the caller may know.
pub(super) fn unknown<'a>(name: &str, visible: impl Iterator<Item = &'a str>) -> ToolOutcome {
    let shown = printable(name, MAX_NAME);
    let outcome = ToolOutcome::failure(format!("unknown tool \"{shown}\""))
        .with_info(ErrorInfo::new("ToolNotFoundError", code::UNKNOWN_TOOL))
        .of_kind(FailureKind::UnknownTool);
    let near: Vec<String> = near(&shown, visible)
        .into_iter()
        .map(|name| format!("\"{name}\""))
        .collect();
    if near.is_empty() {
        outcome
    } else {
        outcome.with_note(format!("Did you mean {}?", near.join(" or ")))
    }
}

fn near<'a>(name: &str, visible: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = plain(name);
    let mut alike: Vec<(f64, &str)> = visible
        .filter_map(|known| {
            let plain = plain(known);
            // A known name with something stuck to it: `functions.read`.
            let contained = plain.len() >= 3 && wanted.contains(&*plain);
            let score = if contained {
                0.9
            } else {
                strsim::normalized_damerau_levenshtein(&wanted, &plain)
            };
            (score >= ALIKE).then_some((score, known))
        })
        .collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    alike
        .into_iter()
        .take(MAX_NEAR)
        .map(|(_, name)| name)
        .collect()
}

/// Letters and digits only: `Read-File` and `read_file` are the same.
fn plain(name: &str) -> String {
    name.chars()
        .filter(|char| char.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}
