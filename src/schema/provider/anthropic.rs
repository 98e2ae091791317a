//! Draft 2020-12 with an object at the top.

use serde_json::{Map, Value, json};

use super::change::{Accepts, Change, Changes, below};
use super::{fold, moved};

/// Names of properties at the top are letters, digits, `_`, `.` and `-`, at
/// most this many.
const MAX_NAME: usize = 64;

pub(super) fn project(root: &Value) -> (Value, Vec<Change>) {
    let mut out = Changes::default();
    let mut top = fold::top(root, &mut out);
    if top.remove("$schema").is_some() {
        let why = "every schema is taken for draft 2020-12";
        out.add("", "$schema", Accepts::Same, why);
    }
    if top.get("type").is_none_or(|kind| kind != "object") {
        let accepts = match top.get("type") {
            Some(Value::Array(kinds)) if kinds.iter().any(|kind| kind == "object") => Accepts::Less,
            None => Accepts::Less,
            Some(_) => Accepts::More,
        };
        top.insert("type".to_owned(), json!("object"));
        out.add("", "type", accepts, "the top is an object");
    }
    plain_names(&mut top, &mut out);
    let mut top = Value::Object(top);
    older("", &mut top, &mut out);
    moved::restore(root, &mut top, &mut out);
    (top, out.list)
}

fn plain_names(top: &mut Map<String, Value>, out: &mut Changes) {
    let is_plain = |name: &str| {
        (1..=MAX_NAME).contains(&name.len())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
    };
    let Some(Value::Object(properties)) = top.get_mut("properties") else {
        return;
    };
    let odd: Vec<String> = properties
        .keys()
        .filter(|name| !is_plain(name))
        .cloned()
        .collect();
    for name in &odd {
        properties.remove(name);
    }
    let is_open = !top.contains_key("additionalProperties");
    for name in odd {
        let required = top.get_mut("required").and_then(Value::as_array_mut);
        let was_required = required.is_some_and(|required| {
            let before = required.len();
            required.retain(|known| known != name.as_str());
            required.len() < before
        });
        let accepts = if was_required || is_open {
            Accepts::More
        } else {
            Accepts::Less
        };
        let why = "a name is 1 to 64 letters, digits, `_`, `.` and `-`";
        out.add(&below("/properties", &name), "properties", accepts, why);
    }
}

/// Writes what older drafts wrote otherwise anew, in the whole schema. The
/// depth is bounded, so recursion is.
pub(super) fn older(place: &str, schema: &mut Value, out: &mut Changes) {
    fn walk(place: &str, value: &mut Value, out: &mut Changes) {
        match value {
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    walk(&format!("{place}/{index}"), item, out);
                }
            }
            Value::Object(map) => {
                let is_named = place.rsplit('/').next().is_some_and(|name| {
                    matches!(name, "properties" | "enum" | "const" | "default")
                });
                if !is_named {
                    fold::modernise(place, map, out);
                }
                for (name, item) in map.iter_mut() {
                    if !matches!(&**name, "enum" | "const" | "default" | "examples") || is_named {
                        walk(&below(place, name), item, out);
                    }
                }
            }
            _ => {}
        }
    }
    walk(place, schema, out);
}
