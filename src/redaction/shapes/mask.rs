//! Putting masks in the place of what was found.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::{Compiled, SecretShapes, for_each_leaf, table};

/// The name of a member whose text is a password, and of one whose text is
/// another credential. They say for values what the table says for text.
static PASSWORD: LazyLock<Regex> = LazyLock::new(|| compiled(table::PASSWORD_NAME));
static CREDENTIAL: LazyLock<Regex> = LazyLock::new(|| compiled(table::CREDENTIAL_NAME));
static PASSWORD_TEXT: LazyLock<Regex> = LazyLock::new(|| compiled(table::PASSWORD_TEXT));
static CREDENTIAL_TEXT: LazyLock<Regex> = LazyLock::new(|| compiled(table::CREDENTIAL_TEXT));

fn compiled(pattern: &str) -> Regex {
    Regex::new(&format!("^(?:{pattern})$")).expect("the table's patterns compile")
}

impl Compiled {
    /// Adds the places in `text` that the patterns match.
    fn find<'a>(&'a self, text: &str, places: &mut Vec<(Range<usize>, &'a str)>) {
        for index in &self.set.matches(text) {
            let (name, regex) = &self.each[index];
            if regex.captures_len() == 1 {
                places.extend(regex.find_iter(text).map(|it| (it.range(), &**name)));
                continue;
            }
            places.extend(regex.captures_iter(text).filter_map(|captures| {
                let secret = captures.name("secret").or_else(|| captures.get(0))?;
                Some((secret.range(), &**name))
            }));
        }
    }
}

impl SecretShapes {
    /// `text` with a mask in the place of each secret; `None` if it has none.
    pub fn mask(&self, text: &str) -> Option<String> {
        let mut places = Vec::new();
        for table in self.tables() {
            table.find(text, &mut places);
        }
        // A group that took part in no match, or an expression of a host that
        // matches nothing somewhere.
        places.retain(|(place, _)| !place.is_empty());
        if places.is_empty() {
            return None;
        }
        // The first to begin gives the name, of several the longest.
        places.sort_by(|(a, _), (b, _)| a.start.cmp(&b.start).then(b.end.cmp(&a.end)));
        let mut masked = String::with_capacity(text.len());
        let mut from = 0;
        for (place, name) in places {
            if place.start >= from {
                masked.push_str(&text[from..place.start]);
                // Writing to a `String` cannot fail.
                let _ = write!(masked, "[redacted: {name}]");
            }
            // What begins inside another one and ends after it goes with it.
            from = from.max(place.end);
        }
        masked.push_str(&text[from..]);
        Some(masked)
    }

    /// The text of a member `name`, of which the name may say what it is.
    pub(super) fn mask_leaf(&self, name: Option<&str>, text: &str) -> Option<String> {
        if let Some(name) = name.filter(|_| self.known) {
            if PASSWORD.is_match(name) && PASSWORD_TEXT.is_match(text) {
                return Some("[redacted: password]".to_owned());
            }
            if CREDENTIAL.is_match(name) && CREDENTIAL_TEXT.is_match(text) {
                return Some("[redacted: credential]".to_owned());
            }
        }
        self.mask(text)
    }

    /// Whether a pattern matches in `text`.
    pub(super) fn occurs_in(&self, text: &str) -> bool {
        self.tables().any(|table| table.set.is_match(text))
    }

    /// Whether there is something to mask among the texts of a value.
    pub(super) fn occurs_in_value(&self, value: &Value) -> bool {
        let mut open = vec![(None, value)];
        while let Some((name, value)) = open.pop() {
            match value {
                Value::String(text) if self.mask_leaf(name, text).is_some() => return true,
                Value::Array(items) => open.extend(items.iter().map(|item| (None, item))),
                Value::Object(members) => {
                    let members = members.iter();
                    open.extend(members.map(|(name, member)| (Some(name.as_str()), member)));
                }
                _ => {}
            }
        }
        false
    }

    /// Masks the texts of a value; says whether there was one.
    pub(super) fn mask_value(&self, value: &mut Value) -> bool {
        let mut changed = false;
        for_each_leaf(value, |leaf, name| {
            if let Value::String(text) = leaf
                && let Some(masked) = self.mask_leaf(name, text)
            {
                *text = masked;
                changed = true;
            }
        });
        changed
    }
}
