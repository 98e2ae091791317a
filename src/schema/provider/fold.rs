//! Branches folded into the schema that has them.

use serde_json::{Map, Value, json};

use super::change::{Accepts, Changes};
use super::keywords::{is_annotation, is_structure};
use super::reference::{reference_of, resolve, without_reference};

/// More steps of folding than this are not done: a branch may lead back.
const MAX_STEPS: usize = 16;
/// Definitions are folded until they are as much as this together, in bytes:
/// many places may refer to a long one.
const MAX_FOLDED: usize = 512 * 1024;

/// Folds `allOf` into `map` where that says the same, else drops it.
pub(super) fn all_of(root: &Value, place: &str, map: &mut Map<String, Value>, out: &mut Changes) {
    for _ in 0..MAX_STEPS {
        let Some(Value::Array(branches)) = map.get("allOf").cloned() else {
            break;
        };
        let mut whole = map.clone();
        whole.remove("allOf");
        let folded = branches.iter().all(|branch| match branch {
            Value::Bool(true) => true,
            Value::Object(branch) => followed(root, branch, out)
                .is_some_and(|branch| merge(&mut whole, &branch).is_some()),
            _ => false,
        });
        if !folded {
            break;
        }
        *map = whole;
        out.add(place, "allOf", Accepts::Same, "its branches were folded");
    }
    if map.remove("allOf").is_some() {
        let why = "its branches cannot be folded, and the provider takes none";
        out.add(place, "allOf", Accepts::More, why);
    }
}

/// Writes the only branch of an `allOf`, where it is a reference with nothing
/// but annotations around, as that reference: folding it would unroll what
/// leads back.
pub(super) fn only_reference(place: &str, map: &mut Map<String, Value>, out: &mut Changes) {
    let only = match map
        .get("allOf")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
    {
        Some([Value::Object(branch)]) if branch.len() == 1 => branch.get("$ref").cloned(),
        _ => None,
    };
    let is_bare = map
        .keys()
        .all(|keyword| keyword == "allOf" || is_annotation(keyword));
    if let (Some(reference), true) = (only, is_bare) {
        map.remove("allOf");
        map.insert("$ref".to_owned(), reference);
        out.add(place, "allOf", Accepts::Same, "its branches were folded");
    }
}

/// A branch, with what it refers to in its place.
fn followed(
    root: &Value,
    branch: &Map<String, Value>,
    out: &mut Changes,
) -> Option<Map<String, Value>> {
    let mut whole = branch.clone();
    for _ in 0..MAX_STEPS {
        let Some(reference) = reference_of(&whole).map(str::to_owned) else {
            return Some(whole);
        };
        let Value::Object(target) = resolve(root, &reference)?.1 else {
            return None;
        };
        if out.folded > MAX_FOLDED {
            return None;
        }
        out.folded += to_bytes(target);
        without_reference(&mut whole);
        merge(&mut whole, target)?;
    }
    None
}

/// About as many bytes as the text of `map` has.
fn to_bytes(map: &Map<String, Value>) -> usize {
    serde_json::to_string(map).map_or(MAX_FOLDED, |text| text.len())
}

/// Adds `branch` to `whole`; `None` if one schema cannot say both.
fn merge(whole: &mut Map<String, Value>, branch: &Map<String, Value>) -> Option<()> {
    if (is_closed(whole) && names(branch)) || (is_closed(branch) && names(whole)) {
        return None;
    }
    for (keyword, value) in branch {
        if is_structure(keyword) {
            continue;
        }
        match (whole.get_mut(keyword), value) {
            (None, _) => {
                whole.insert(keyword.clone(), value.clone());
            }
            (Some(_), _) if is_annotation(keyword) => {}
            (Some(Value::Object(known)), Value::Object(more)) if keyword == "properties" => {
                for (name, schema) in more {
                    if known.get(name).is_some_and(|known| known != schema) {
                        return None;
                    }
                    known.insert(name.clone(), schema.clone());
                }
            }
            (Some(Value::Array(known)), Value::Array(more)) if keyword == "required" => {
                for name in more {
                    if !known.contains(name) {
                        known.push(name.clone());
                    }
                }
            }
            (Some(known), _) if known == value => {}
            _ => return None,
        }
    }
    // What applies to the rest of something depends on what stands beside it.
    let rest = ["prefixItems", "additionalItems", "unevaluatedItems"];
    let conditions = ["if", "then", "else", "contains"];
    let mixed = rest
        .iter()
        .chain(&conditions)
        .any(|keyword| branch.contains_key(*keyword) && whole.len() > branch.len());
    (!mixed).then_some(())
}

fn is_closed(map: &Map<String, Value>) -> bool {
    ["additionalProperties", "unevaluatedProperties"]
        .iter()
        .any(|keyword| map.get(*keyword).is_some_and(|value| value != true))
}

fn names(map: &Map<String, Value>) -> bool {
    ["properties", "patternProperties", "required"]
        .iter()
        .any(|keyword| map.contains_key(*keyword))
}

/// What older drafts wrote otherwise, as draft 2020-12 writes it.
pub(super) fn modernise(place: &str, map: &mut Map<String, Value>, out: &mut Changes) {
    if map.get("items").is_some_and(Value::is_array) {
        let tuple = map.remove("items").unwrap_or_default();
        map.insert("prefixItems".to_owned(), tuple);
        if let Some(rest) = map.remove("additionalItems") {
            map.insert("items".to_owned(), rest);
        }
        let why = "a list of schemas in `items` is `prefixItems` since draft 2020-12";
        out.add(place, "items", Accepts::Same, why);
    }
    for (flag, limit) in [
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ] {
        let Some(Value::Bool(exclusive)) = map.get(flag).cloned() else {
            continue;
        };
        map.remove(flag);
        if exclusive && let Some(bound) = map.remove(limit) {
            map.insert(flag.to_owned(), bound);
        }
        let why = "a flag in draft 4, a number since";
        out.add(place, flag, Accepts::Same, why);
    }
}

/// Makes one object of what stands at the top of a tool's parameters: what it
/// refers to is put in its place, and the properties of branches become
/// optional ones.
pub(super) fn top(root: &Value, out: &mut Changes) -> Map<String, Value> {
    let mut map = root.as_object().cloned().unwrap_or_default();
    if !root.is_object() && root != &Value::Bool(true) {
        out.add("", "", Accepts::More, "the top is an object");
    }
    if reference_of(&map).is_some() {
        if let Some(whole) = followed(root, &map, out) {
            map = whole;
            out.add("", "$ref", Accepts::Same, "the top is an object itself");
        } else {
            without_reference(&mut map);
            let why = "cannot be folded, and the top is an object itself";
            out.add("", "$ref", Accepts::More, why);
        }
    }
    all_of(root, "", &mut map, out);
    for keyword in ["anyOf", "oneOf"] {
        if let Some(branches) = map.remove(keyword) {
            let branches: Vec<Map<String, Value>> = branches
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|branch| followed(root, branch.as_object()?, out))
                .collect();
            join(&mut map, &branches);
            let why = "not taken at the top: the properties of its branches are optional";
            out.add("", keyword, Accepts::More, why);
        }
    }
    map
}

/// Adds the properties of alternatives.
fn join(map: &mut Map<String, Value>, branches: &[Map<String, Value>]) {
    let mut added: Map<String, Value> = Map::new();
    for branch in branches {
        for (name, schema) in branch
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            match added.get_mut(name) {
                None => {
                    added.insert(name.clone(), json!([schema]));
                }
                Some(Value::Array(schemas)) if !schemas.contains(schema) => {
                    schemas.push(schema.clone());
                }
                Some(_) => {}
            }
        }
    }
    if added.is_empty() {
        return;
    }
    map.entry("type").or_insert_with(|| json!("object"));
    let properties = map.entry("properties").or_insert_with(|| json!({}));
    let Some(properties) = properties.as_object_mut() else {
        return;
    };
    for (name, schemas) in added {
        let schema = match schemas {
            Value::Array(mut schemas) if schemas.len() == 1 => schemas.remove(0),
            schemas => json!({ "anyOf": schemas }),
        };
        properties.entry(name).or_insert(schema);
    }
    let in_all: Vec<&Value> = branches[0]
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|name| {
            branches.iter().all(|branch| {
                let required = branch.get("required").and_then(Value::as_array);
                required.is_some_and(|required| required.contains(name))
            })
        })
        .collect();
    if let Some(required) = map
        .entry("required")
        .or_insert_with(|| json!([]))
        .as_array_mut()
    {
        for name in in_all {
            if !required.contains(name) {
                required.push(name.clone());
            }
        }
    }
}
