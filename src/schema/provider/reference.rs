//! References inside a schema.

use serde_json::{Map, Value};

use super::change::below;
use crate::schema::expansion::unescaped;

/// The place and the schema that `reference` names in `root`; `None` where
/// it is by address, or leads nowhere.
pub(super) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<(String, &'a Value)> {
    let fragment = reference.strip_prefix('#')?;
    if fragment.is_empty() || fragment.starts_with('/') {
        let pointer = unescaped(fragment);
        let schema = root.pointer(&pointer)?;
        return Some((pointer, schema));
    }
    let mut open = vec![(String::new(), root)];
    while let Some((place, value)) = open.pop() {
        match value {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    open.push((format!("{place}/{index}"), item));
                }
            }
            Value::Object(map) => {
                let id = map.get("$id").or_else(|| map.get("id"));
                let by_id = id.and_then(Value::as_str) == Some(reference);
                let is_named = ["$anchor", "$dynamicAnchor"]
                    .iter()
                    .any(|keyword| map.get(*keyword).and_then(Value::as_str) == Some(fragment));
                if by_id || is_named {
                    return Some((place, value));
                }
                for (name, item) in map {
                    open.push((below(&place, name), item));
                }
            }
            _ => {}
        }
    }
    None
}

/// The reference of a schema, if it has one.
pub(super) fn reference_of(map: &Map<String, Value>) -> Option<&str> {
    ["$ref", "$dynamicRef", "$recursiveRef"]
        .iter()
        .find_map(|keyword| map.get(*keyword).and_then(Value::as_str))
}

/// Takes every form of reference out of a schema.
pub(super) fn without_reference(map: &mut Map<String, Value>) {
    for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
        map.remove(keyword);
    }
}

/// Definitions by their new names, in the order in which they are met.
#[derive(Default)]
pub(super) struct Definitions {
    /// Name and place.
    known: Vec<(String, String)>,
}

impl Definitions {
    /// The name for the definition at `place`.
    pub(super) fn name(&mut self, place: &str) -> String {
        if let Some((name, _)) = self.known.iter().find(|(_, known)| known == place) {
            return name.clone();
        }
        let last = place.rsplit('/').next().unwrap_or_default();
        let mut plain: String = last
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || c == '-' {
                    c
                } else {
                    '_'
                }
            })
            .take(60)
            .collect();
        if plain.is_empty() {
            plain.push_str("root");
        }
        let is_taken = |name: &str| self.known.iter().any(|(known, _)| known == name);
        let mut name = plain.clone();
        let mut number = 2;
        while is_taken(&name) {
            name = format!("{plain}_{number}");
            number += 1;
        }
        self.known.push((name.clone(), place.to_owned()));
        name
    }

    /// Keeps `name` for a definition that is there already.
    pub(super) fn reserve(&mut self, name: &str) {
        // No place begins so.
        self.known.push((name.to_owned(), format!("#{name}")));
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// The definition that was met as number `index`.
    pub(super) fn get(&self, index: usize) -> Option<(String, String)> {
        self.known.get(index).cloned()
    }
}
