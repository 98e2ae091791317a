//! Which types a schema has, and what of it is kept or told.

use serde_json::{Map, Value};

use super::change::Accepts;
use super::keywords::{is_annotation, is_kept, is_structure, kinds_meant, kinds_of, without};
use super::walk::Walk;

/// A dropped keyword is told in the description if it is as short as this, in
/// bytes.
const MAX_TOLD: usize = 200;

const KINDS: [&str; 7] = [
    "string", "number", "integer", "boolean", "object", "array", "null",
];

impl Walk<'_> {
    /// The types of a schema, none of them unknown.
    pub(super) fn kinds(&mut self, place: &str, map: &Map<String, Value>) -> Vec<String> {
        let declared: Vec<String> = match map.get("type") {
            Some(Value::String(kind)) => vec![kind.clone()],
            Some(Value::Array(kinds)) => kinds
                .iter()
                .filter_map(|kind| kind.as_str().map(str::to_owned))
                .collect(),
            _ => Vec::new(),
        };
        let mut known: Vec<String> = Vec::new();
        for kind in declared {
            if KINDS.contains(&&*kind) && !known.contains(&kind) {
                known.push(kind);
            }
        }
        if !known.is_empty() {
            return known;
        }
        if let Some(kind) = map.get("type") {
            let why = format!("expected types of JSON, found {kind}");
            let why: String = why.chars().take(MAX_TOLD).collect();
            self.changes.add(place, "type", Accepts::More, &why);
        }
        if let Some(Value::Array(values)) = map.get("enum") {
            let kinds = kinds_of(values);
            if !kinds.is_empty() {
                return self.inferred(place, Accepts::Same, kinds);
            }
        }
        if let Some(value) = map.get("const") {
            return self.inferred(place, Accepts::Same, kinds_of(std::slice::from_ref(value)));
        }
        let mut meant = kinds_meant(map);
        if meant.is_empty() {
            meant = ["string", "number", "boolean", "null"]
                .map(str::to_owned)
                .to_vec();
        }
        self.inferred(place, Accepts::Less, meant)
    }

    fn inferred(&mut self, place: &str, accepts: Accepts, kinds: Vec<String>) -> Vec<String> {
        self.changes
            .add(place, "type", accepts, "the provider wants one: inferred");
        kinds
    }

    /// Takes the annotations out of `map`, and keeps what the provider takes.
    pub(super) fn kept_annotations(
        &mut self,
        place: &str,
        map: &mut Map<String, Value>,
    ) -> Map<String, Value> {
        let mut out = Map::new();
        for keyword in ["title", "description", "nullable", "default"] {
            if let Some(value) = map.get(keyword)
                && is_kept(self.provider, keyword, value)
            {
                out.insert(keyword.to_owned(), value.clone());
                map.remove(keyword);
            }
        }
        let rest: Vec<String> = map
            .keys()
            .filter(|keyword| is_annotation(keyword) || is_structure(keyword))
            .cloned()
            .collect();
        for keyword in rest {
            let value = map.remove(&keyword).unwrap_or_default();
            if !matches!(&*keyword, "$defs" | "definitions") {
                self.dropped(place, &keyword, &value, &every_kind(), &mut out);
            }
        }
        out
    }

    /// Reports a keyword that is gone; the model may read it in the
    /// description.
    pub(super) fn dropped(
        &mut self,
        place: &str,
        keyword: &str,
        value: &Value,
        kinds: &[String],
        out: &mut Map<String, Value>,
    ) {
        let accepts = if kinds.is_empty() {
            without(keyword, &every_kind())
        } else {
            without(keyword, kinds)
        };
        let is_told = accepts == Accepts::More || matches!(keyword, "default" | "examples");
        let text = value.to_string();
        if is_told && text.len() <= MAX_TOLD {
            let note = format!("({keyword}: {text})");
            let description = match out.get("description").and_then(Value::as_str) {
                Some(known) if !known.is_empty() => format!("{known} {note}"),
                _ => note,
            };
            out.insert("description".to_owned(), description.into());
        }
        self.changes
            .add(place, keyword, accepts, "the provider does not take it");
    }
}

pub(super) fn every_kind() -> Vec<String> {
    KINDS.map(str::to_owned).to_vec()
}
