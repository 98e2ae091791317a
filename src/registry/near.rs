//! An answer to a name that nobody registered, with names that were meant.

use toolfall_layers::printable;

use super::reserved::RUN_CODE;
use crate::{ErrorInfo, FailureKind, ToolOutcome, codes};

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
        .with_info(ErrorInfo::new("ToolNotFoundError", codes::UNKNOWN_TOOL))
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

/// The failure for a direct call of `name`, a tool that is there for programs
/// alone: it names the way out, or the model concludes that nothing works.
pub(super) fn collapsed(name: &str) -> ToolOutcome {
    ToolOutcome::failure(format!(
        "unknown tool \"{name}\": only `{RUN_CODE}` is callable directly — call `{name}` from \
         inside a `{RUN_CODE}` program instead"
    ))
    .with_info(ErrorInfo::new("ToolNotFoundError", codes::UNKNOWN_TOOL))
    .of_kind(FailureKind::UnknownTool)
}

fn near<'a>(name: &str, visible: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = plain(name);
    let wanted_letters = Letters::of(&wanted);
    let mut alike: Vec<(f64, &str)> = visible
        .filter_map(|known| {
            let plain = plain(known);
            // A known name with something stuck to it: `functions.read`.
            let contained = plain.len() >= 3 && wanted.contains(&*plain);
            let score = if contained {
                0.9
            } else if wanted_letters.may_be_alike(&Letters::of(&plain)) {
                strsim::normalized_damerau_levenshtein(&wanted, &plain)
            } else {
                return None;
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

/// How often each letter occurs, with some thrown together.
///
/// Most names can be told apart by this alone, at a fraction of what it costs
/// to compare them: a model may call what does not exist at any time, and
/// there may be thousands of tools.
struct Letters {
    total: usize,
    counts: [u16; 32],
}

impl Letters {
    fn of(plain: &str) -> Self {
        let mut letters = Self {
            total: 0,
            counts: [0; 32],
        };
        for char in plain.chars() {
            letters.total += 1;
            let count = &mut letters.counts[char as usize % 32];
            *count = count.saturating_add(1);
        }
        letters
    }

    /// Whether so few edits may lead from one to the other: an edit adds one
    /// letter, takes one away, does both, or changes the order.
    fn may_be_alike(&self, other: &Self) -> bool {
        let (mut more, mut fewer) = (0_usize, 0_usize);
        for (a, b) in self.counts.iter().zip(&other.counts) {
            more += usize::from(a.saturating_sub(*b));
            fewer += usize::from(b.saturating_sub(*a));
        }
        let longest = self.total.max(other.total);
        // One edit in every four letters is what `ALIKE` comes to.
        more.max(fewer) * 4 <= longest
    }
}

/// Letters and digits only: `Read-File` and `read_file` are the same.
fn plain(name: &str) -> String {
    name.chars()
        .filter(|char| char.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}
