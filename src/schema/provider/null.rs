//! Strict mode's way of leaving a property out.

use serde_json::{Value, json};

/// Lets a projected schema accept `null`.
pub(super) fn nullable(schema: &mut Value) {
    let Value::Object(map) = schema else {
        return;
    };
    if let Some(Value::Array(branches)) = map.get_mut("anyOf") {
        if !branches.iter().any(accepts_null) {
            branches.push(json!({"type": "null"}));
        }
        return;
    }
    if accepts_null(&Value::Object(map.clone())) {
        return;
    }
    if map.contains_key("enum") || map.contains_key("$ref") {
        *schema = json!({"anyOf": [schema.take(), {"type": "null"}]});
        return;
    }
    match map.get_mut("type") {
        Some(Value::Array(kinds)) => kinds.push("null".into()),
        Some(kind) => *kind = json!([kind.take(), "null"]),
        None => {}
    }
}

fn accepts_null(schema: &Value) -> bool {
    let by_type = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "null"),
        Some(kind) => kind == "null",
        None => false,
    };
    match schema.get("enum") {
        Some(Value::Array(values)) => by_type && values.contains(&Value::Null),
        _ => by_type,
    }
}
