//! Secrets that are known by their value, wherever a text repeats them.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::Value;
use toolfall_layers::redaction::REDACTED;

use super::walk;

/// So long, in characters, a secret is masked wherever it occurs.
const ANYWHERE: usize = 8;
/// So long it is masked where it stands as a word. Shorter ones are not looked
/// for: they would be found everywhere.
const AS_WORD: usize = 4;
/// More secrets than this are not looked for one by one.
const MOST: usize = 256;

/// The secrets of one call.
#[derive(Default)]
pub(super) struct Known {
    secrets: BTreeSet<String>,
    /// There are too many: nothing may be shown.
    many: bool,
}

impl Known {
    pub(super) fn is_empty(&self) -> bool {
        self.secrets.is_empty() && !self.many
    }

    /// Adds the texts and the numbers that stand in `json`, part of JSON text.
    pub(super) fn add_json(&mut self, json: &str) {
        for text in walk::texts(json) {
            self.add(&text.says);
            // As it stands where somebody quotes it in JSON again.
            self.add(&json[text.at.start + 1..text.at.end - 1]);
        }
        let number = |char: char| char.is_ascii_digit() || "+-.eE".contains(char);
        let outside = walk::outside_texts(json).into_iter();
        for run in outside.flat_map(|part| part.split(|char| !number(char))) {
            if run.contains(|char: char| char.is_ascii_digit()) {
                self.add(run);
            }
        }
    }

    /// Adds the words of a text that was to be JSON and is none: which of them
    /// is a secret cannot be told.
    pub(super) fn add_words(&mut self, text: &str) {
        self.add(text.trim());
        let between = |char: char| char.is_whitespace() || "\"'{}[],:=\\".contains(char);
        for word in text.split(between) {
            if word.chars().nth(ANYWHERE - 1).is_some() {
                self.add(word);
            }
        }
    }

    fn add(&mut self, secret: &str) {
        if secret.chars().nth(AS_WORD - 1).is_none() || secret == REDACTED {
            return;
        }
        if self.secrets.len() >= MOST {
            self.many = true;
        } else if !self.secrets.contains(secret) {
            self.secrets.insert(secret.to_owned());
        }
    }

    /// `text` without the secrets; `None` if it repeats none.
    pub(super) fn mask(&self, text: &str) -> Option<String> {
        if self.many {
            return (!text.is_empty() && text != REDACTED).then(|| REDACTED.to_owned());
        }
        let mut places: Vec<Range<usize>> = Vec::new();
        for secret in &self.secrets {
            let long = secret.chars().nth(ANYWHERE - 1).is_some();
            places.extend(
                text.match_indices(secret.as_str())
                    .map(|(at, found)| at..at + found.len())
                    .filter(|place| long || is_word(text, place)),
            );
        }
        if places.is_empty() {
            return None;
        }
        places.sort_by_key(|place| (place.start, place.end));
        // Secrets may overlap: what they cover between them is one place.
        places.dedup_by(|next, before| {
            let overlaps = next.start < before.end;
            if overlaps {
                before.end = before.end.max(next.end);
            }
            overlaps
        });
        Some(walk::splice(text, &places, REDACTED))
    }

    /// Masks the leaves of a value; says whether one was.
    pub(super) fn mask_value(&self, value: &mut Value) -> bool {
        let mut changed = false;
        super::for_each_leaf(value, |leaf, _| {
            let masked = match leaf {
                Value::String(text) => self.mask(text),
                Value::Number(number) => self.mask(&number.to_string()),
                _ => None,
            };
            if let Some(masked) = masked {
                *leaf = Value::String(masked);
                changed = true;
            }
        });
        changed
    }
}

/// Whether nothing that belongs to a word goes on at either end.
fn is_word(text: &str, place: &Range<usize>) -> bool {
    let goes_on =
        |char: Option<char>| char.is_some_and(|char| char.is_alphanumeric() || char == '_');
    !goes_on(text[..place.start].chars().next_back()) && !goes_on(text[place.end..].chars().next())
}
