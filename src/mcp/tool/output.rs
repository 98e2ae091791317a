//! The schema of a canonical value: content, and structured content as
//! advertised.

use serde_json::{Map, Value, json};

use crate::schema::Schema;

/// Where the advertised schema stands in the schema of the value.
const PLACE: &str = "#/properties/structuredContent";

/// The schema of the value, and why `advertised` is not in it, if it is not.
///
/// Without an advertised schema, structured content is any object; with one
/// that is not understood it is anything.
pub(super) fn canonical(advertised: Option<&Value>) -> (Value, Option<String>) {
    let Some(advertised) = advertised else {
        return (closed(json!({"type": "object"}), false), None);
    };
    match with_advertised(advertised) {
        Ok(schema) => (schema, None),
        Err(reason) => (closed(json!({}), false), Some(reason)),
    }
}

fn closed(structured: Value, is_required: bool) -> Value {
    let mut required = vec!["content"];
    if is_required {
        required.push("structuredContent");
    }
    json!({
        "type": "object",
        "properties": {"content": {"type": "array"}, "structuredContent": structured},
        "required": required,
        "additionalProperties": false,
    })
}

fn with_advertised(advertised: &Value) -> Result<Value, String> {
    let Value::Object(advertised) = advertised else {
        return Err("expected an object as the output schema, found something else".to_owned());
    };
    let mut structured = advertised.clone();
    // The draft is the document's; its name would change what `#` means.
    let draft = structured.remove("$schema");
    for name in ["$id", "id"] {
        if structured.get(name).is_some_and(Value::is_string) {
            structured.remove(name);
        }
    }
    let mut structured = Value::Object(structured);
    // Judged by itself first: rewriting walks no deeper than what compiles.
    let mut alone = structured.clone();
    if let (Some(map), Some(draft)) = (alone.as_object_mut(), &draft) {
        map.insert("$schema".to_owned(), draft.clone());
    }
    Schema::compile(&alone).map_err(|error| error.to_string())?;
    rewrite(&mut structured, false)?;
    let mut schema = closed(structured, true);
    if let (Some(map), Some(draft)) = (schema.as_object_mut(), draft) {
        map.insert("$schema".to_owned(), draft);
    }
    Schema::compile(&schema).map_err(|error| error.to_string())?;
    Ok(schema)
}

/// Makes references into the schema lead to where it stands now. `names` says
/// that `value` maps names to schemas.
fn rewrite(value: &mut Value, names: bool) -> Result<(), String> {
    match value {
        Value::Array(items) => items.iter_mut().try_for_each(|item| rewrite(item, false)),
        Value::Object(map) => map
            .iter_mut()
            .try_for_each(|(name, item)| rewrite_member(name, item, names)),
        _ => Ok(()),
    }
}

fn rewrite_member(name: &str, item: &mut Value, names: bool) -> Result<(), String> {
    if names {
        return match item {
            Value::Object(schema) if has_own_base(schema) => Ok(()),
            item => rewrite(item, false),
        };
    }
    match (name, &mut *item) {
        ("$recursiveRef", _) => Err("expected no $recursiveRef, found one".to_owned()),
        ("$ref" | "$dynamicRef", Value::String(reference)) => {
            let inside = reference.strip_prefix('#').map(str::to_owned);
            if let Some(place) = inside.filter(|it| it.is_empty() || it.starts_with('/')) {
                *reference = format!("{PLACE}{place}");
            }
            Ok(())
        }
        ("const" | "enum" | "default" | "examples", _) => Ok(()),
        (_, Value::Object(schema)) if has_own_base(schema) => Ok(()),
        (_, item) => rewrite(item, maps_names(name)),
    }
}

/// Whether references in `schema` are relative to itself.
fn has_own_base(schema: &Map<String, Value>) -> bool {
    schema.get("$id").is_some_and(Value::is_string)
}

fn maps_names(keyword: &str) -> bool {
    matches!(
        keyword,
        "properties"
            | "patternProperties"
            | "$defs"
            | "definitions"
            | "dependentSchemas"
            | "dependencies"
    )
}
