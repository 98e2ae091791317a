//! Arguments of a projection, made fit for the schema.

use std::collections::HashMap;
use std::mem;

use serde_json::{Map, Value};

use super::reference::{reference_of, resolve};

/// Steps into values and schemas together; what is beyond stays as it is.
const MAX_STEPS: usize = 20_000;
/// Branches and references on the way to a type; beyond, anything may be.
const MAX_WAY: usize = 32;
/// Deeper values stay as they are.
const MAX_DEPTH: usize = 128;

/// Takes each `null` out of `arguments` that stands for a property which
/// `schema` lets be left out and does not let be `null`: so a model leaves it
/// out in strict mode.
///
/// Never makes right arguments wrong: a `null` that the schema accepts stays.
pub fn restore(schema: &Value, arguments: &mut Value) {
    let mut walk = Walk {
        root: schema,
        targets: HashMap::new(),
        steps: 0,
    };
    walk.restore(schema, arguments, 0);
}

struct Walk<'a> {
    root: &'a Value,
    /// What was looked up: a name may be anywhere in the schema.
    targets: HashMap<&'a str, Option<&'a Value>>,
    steps: usize,
}

impl<'a> Walk<'a> {
    fn is_over(&mut self, depth: usize) -> bool {
        self.steps += 1;
        self.steps > MAX_STEPS || depth > MAX_DEPTH
    }

    fn restore(&mut self, schema: &'a Value, value: &mut Value, depth: usize) {
        if self.is_over(depth) {
            return;
        }
        let mut parts = Vec::new();
        self.parts(schema, &mut parts);
        match value {
            Value::Array(items) => {
                for part in &parts {
                    for (index, item) in items.iter_mut().enumerate() {
                        if let Some(schema) = item_schema(part, index) {
                            self.restore(schema, item, depth + 1);
                        }
                    }
                }
            }
            Value::Object(values) => {
                for (name, mut item) in mem::take(values) {
                    let declared: Vec<&Value> = parts
                        .iter()
                        .filter_map(|part| part.get("properties")?.get(&name))
                        .collect();
                    let is_required = parts.iter().any(|part| {
                        let required = part.get("required").and_then(Value::as_array);
                        required.is_some_and(|required| required.contains(&name.as_str().into()))
                    });
                    let stays = !item.is_null()
                        || is_required
                        || declared.is_empty()
                        || declared.iter().any(|schema| self.takes_null(schema, 0));
                    for schema in declared {
                        self.restore(schema, &mut item, depth + 1);
                    }
                    if stays {
                        values.insert(name, item);
                    }
                }
            }
            _ => {}
        }
    }

    fn target(&mut self, reference: &'a str) -> Option<&'a Value> {
        let root = self.root;
        *self
            .targets
            .entry(reference)
            .or_insert_with(|| resolve(root, reference).map(|(_, target)| target))
    }

    /// The schema and its branches, references followed.
    fn parts(&mut self, schema: &'a Value, out: &mut Vec<&'a Map<String, Value>>) {
        let mut open = vec![schema];
        while let Some(schema) = open.pop() {
            let Value::Object(map) = schema else {
                continue;
            };
            if out.iter().any(|known| std::ptr::eq(*known, map)) || self.is_over(0) {
                continue;
            }
            out.push(map);
            if let Some(reference) = reference_of(map) {
                open.extend(self.target(reference));
            }
            for keyword in ["allOf", "anyOf", "oneOf"] {
                open.extend(
                    map.get(keyword)
                        .and_then(Value::as_array)
                        .into_iter()
                        .flatten(),
                );
            }
        }
    }

    /// Whether the schema may accept `null`: where it is not told, it may.
    fn takes_null(&mut self, schema: &'a Value, depth: usize) -> bool {
        let Value::Object(map) = schema else {
            return schema != &Value::Bool(false);
        };
        // Branches may lead back, so the way is bounded, too.
        if depth > MAX_WAY || self.is_over(0) {
            return true;
        }
        let by_type = match map.get("type") {
            Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "null"),
            Some(kind) => kind == "null",
            None => true,
        };
        let listed = map.get("enum").and_then(Value::as_array);
        let by_value = listed.is_none_or(|values| values.contains(&Value::Null))
            && map.get("const").is_none_or(Value::is_null);
        if !by_type || !by_value {
            return false;
        }
        let target = reference_of(map).and_then(|reference| self.target(reference));
        if target.is_some_and(|target| !self.takes_null(target, depth + 1)) {
            return false;
        }
        let mut branches = |keyword: &str, all: bool| {
            let Some(Value::Array(branches)) = map.get(keyword) else {
                return true;
            };
            let mut taken = branches
                .iter()
                .map(|branch| self.takes_null(branch, depth + 1));
            if all {
                taken.all(|taken| taken)
            } else {
                taken.any(|taken| taken)
            }
        };
        branches("allOf", true) && branches("anyOf", false) && branches("oneOf", false)
    }
}

fn item_schema(part: &Map<String, Value>, index: usize) -> Option<&Value> {
    match (part.get("prefixItems"), part.get("items")) {
        (Some(Value::Array(tuple)), items) => tuple.get(index).or(items),
        (_, Some(Value::Array(tuple))) => tuple.get(index).or_else(|| part.get("additionalItems")),
        (_, items) => items,
    }
}
