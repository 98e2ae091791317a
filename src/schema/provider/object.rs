//! Objects: closed and complete in strict mode, open for Gemini.

use serde_json::{Map, Value, json};

use super::Provider;
use super::change::{Accepts, below};
use super::kinds::every_kind;
use super::null::nullable;
use super::walk::Walk;

impl Walk<'_> {
    /// Puts the properties of `map` into `out`.
    pub(super) fn object(
        &mut self,
        place: &str,
        map: &Map<String, Value>,
        level: usize,
        out: &mut Map<String, Value>,
    ) {
        let strict = self.provider == Provider::OpenAiStrict;
        let mut required: Vec<String> = map
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect();
        let mut properties = Map::new();
        for (name, schema) in map
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let inner = below(&below(place, "properties"), name);
            let mut projected = self.schema(&inner, schema, level + 1);
            if strict && !required.contains(name) {
                nullable(&mut projected);
                let why = "every property is required: `null` instead of leaving it out";
                self.changes.add(&inner, "required", Accepts::Same, why);
            }
            properties.insert(name.clone(), projected);
        }
        for name in &required {
            if !properties.contains_key(name) {
                // What is not declared is what all others are.
                let projected = match map.get("additionalProperties") {
                    None | Some(Value::Bool(true)) => {
                        let inner = below(&below(place, "properties"), name);
                        self.anything(&inner, "required", Accepts::Less)
                    }
                    Some(others) => {
                        let inner = below(place, "additionalProperties");
                        self.schema(&inner, others, level + 1)
                    }
                };
                properties.insert(name.clone(), projected);
            }
        }
        let more = map.get("additionalProperties");
        if strict {
            if more != Some(&Value::Bool(false)) {
                let why = "an object is closed: only declared properties are offered";
                self.changes
                    .add(place, "additionalProperties", Accepts::Less, why);
            }
            required = properties.keys().cloned().collect();
            out.insert("additionalProperties".to_owned(), false.into());
        } else if let Some(more) = more {
            self.dropped(place, "additionalProperties", more, &every_kind(), out);
        }
        required.sort();
        required.dedup();
        if strict || !required.is_empty() {
            out.insert("required".to_owned(), json!(required));
        }
        if strict || !properties.is_empty() {
            out.insert("properties".to_owned(), Value::Object(properties));
        }
    }
}
