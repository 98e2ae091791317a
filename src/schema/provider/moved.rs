//! References to what was folded away, for a provider that takes references.

use serde_json::{Map, Value, json};

use super::anthropic::older;
use super::change::{Accepts, Changes, below};
use super::reference::{Definitions, resolve};

/// Copies of what references lead to are at most this much, in bytes.
const MAX_COPIED: usize = 64 * 1024;

const REFERENCES: [&str; 2] = ["$ref", "$dynamicRef"];

/// Puts what references of `schema` lead to in `root`, and no longer in
/// `schema`, into `$defs`.
pub(super) fn restore(root: &Value, schema: &mut Value, out: &mut Changes) {
    let mut moved = Moved {
        root,
        now: schema.clone(),
        definitions: Definitions::default(),
        out,
    };
    let taken = schema.get("$defs").and_then(Value::as_object);
    for name in taken.into_iter().flat_map(Map::keys) {
        moved.definitions.reserve(name);
    }
    let first = moved.definitions.len();
    moved.walk("", schema, false);
    let mut copies = Map::new();
    let mut bytes = 0;
    let mut next = first;
    while let Some((name, place)) = moved.definitions.get(next) {
        next += 1;
        let mut copy = root.pointer(&place).cloned().unwrap_or_default();
        bytes += copy.to_string().len();
        if bytes > MAX_COPIED {
            let why = "what is referred to was folded away, and copying it is too much";
            moved.out.add(&place, "$ref", Accepts::More, why);
            copies.insert(name, json!({}));
            continue;
        }
        nameless(&mut copy, false);
        older(&place, &mut copy, moved.out);
        moved.walk(&place, &mut copy, false);
        copies.insert(name, copy);
    }
    if copies.is_empty() {
        return;
    }
    if let Some(schema) = schema.as_object_mut() {
        let definitions = schema.entry("$defs").or_insert_with(|| json!({}));
        if let Some(definitions) = definitions.as_object_mut() {
            definitions.extend(copies);
        }
    }
}

struct Moved<'a> {
    root: &'a Value,
    /// The schema as it is without its old places.
    now: Value,
    definitions: Definitions,
    out: &'a mut Changes,
}

impl Moved<'_> {
    /// Looks into `value`, which maps `names` to schemas or not. The depth is
    /// bounded, so recursion is.
    fn walk(&mut self, place: &str, value: &mut Value, names: bool) {
        match value {
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.walk(&format!("{place}/{index}"), item, false);
                }
            }
            Value::Object(map) => {
                for (name, item) in map.iter_mut() {
                    let is_reference = !names && REFERENCES.contains(&&**name);
                    let reference = item.as_str().filter(|_| is_reference);
                    if let Some(address) = reference.and_then(|known| self.address(known)) {
                        *item = address.into();
                        let why = "what it leads to was folded away: it stands in `$defs`";
                        self.out.add(place, name, Accepts::Same, why);
                    } else if names || !is_data(name) {
                        self.walk(&below(place, name), item, !names && maps_names(name));
                    }
                }
            }
            _ => {}
        }
    }

    /// Where `reference` must lead now, if it leads nowhere any more.
    fn address(&mut self, reference: &str) -> Option<String> {
        if resolve(&self.now, reference).is_some() {
            return None;
        }
        let (place, _) = resolve(self.root, reference)?;
        Some(format!("#/$defs/{}", self.definitions.name(&place)))
    }
}

/// Takes the names of places out of a copy: what is copied keeps them.
fn nameless(value: &mut Value, names: bool) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| nameless(item, false)),
        Value::Object(map) => {
            for name in ["$id", "id", "$anchor", "$dynamicAnchor"] {
                if !names && map.get(name).is_some_and(Value::is_string) {
                    map.remove(name);
                }
            }
            for (name, item) in map.iter_mut() {
                if names || !is_data(name) {
                    nameless(item, !names && maps_names(name));
                }
            }
        }
        _ => {}
    }
}

/// Keywords whose values map names to schemas.
fn maps_names(keyword: &str) -> bool {
    matches!(
        keyword,
        "properties"
            | "patternProperties"
            | "dependentSchemas"
            | "dependencies"
            | "$defs"
            | "definitions"
    )
}

/// Keywords whose values are no schemas.
fn is_data(name: &str) -> bool {
    matches!(name, "enum" | "const" | "default" | "examples")
}
