//! Single keywords of a schema, as far as they tell a type.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value};

use super::super::number;
use super::Unreadable;

/// The types of JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl Type {
    fn named(name: &Value) -> Result<Self, Unreadable> {
        Ok(match name.as_str() {
            Some("null") => Self::Null,
            Some("boolean") => Self::Boolean,
            Some("integer") => Self::Integer,
            Some("number") => Self::Number,
            Some("string") => Self::String,
            Some("array") => Self::Array,
            Some("object") => Self::Object,
            _ => return Err(Unreadable),
        })
    }
}

/// The types that `schema` states; empty if it states none.
pub(super) fn types(schema: &Map<String, Value>) -> Result<Vec<Type>, Unreadable> {
    let mut types = Vec::new();
    match schema.get("type") {
        None => {}
        Some(Value::Array(names)) if !names.is_empty() => {
            for name in names {
                let name = Type::named(name)?;
                if !types.contains(&name) {
                    types.push(name);
                }
            }
            // Every integer is a number.
            if types.contains(&Type::Number) {
                types.retain(|name| *name != Type::Integer);
            }
        }
        Some(name) => types.push(Type::named(name)?),
    }
    Ok(types)
}

/// The scalars that `const`, or else `enum`, allows; `None` without either,
/// and where they hold what is no literal: lists, objects, endless numbers.
pub(super) fn literals(schema: &Map<String, Value>) -> Result<Option<Vec<&Value>>, Unreadable> {
    let values: Vec<&Value> = match (schema.get("const"), schema.get("enum")) {
        (Some(value), _) => vec![value],
        (None, Some(Value::Array(values))) if !values.is_empty() => values.iter().collect(),
        (None, Some(_)) => return Err(Unreadable),
        (None, None) => return Ok(None),
    };
    let literal = |value: &&Value| match value {
        Value::Array(_) | Value::Object(_) => false,
        Value::Number(number) => number::text(number).is_some(),
        _ => true,
    };
    Ok(values.iter().all(literal).then_some(values))
}

/// The branches of the keyword `name`, at least one.
pub(super) fn branches<'a>(
    schema: &'a Map<String, Value>,
    name: &str,
) -> Result<Option<&'a [Value]>, Unreadable> {
    match schema.get(name) {
        None => Ok(None),
        Some(Value::Array(branches)) if !branches.is_empty() => Ok(Some(branches)),
        Some(_) => Err(Unreadable),
    }
}

/// Whether a branch says of itself what type it is.
pub(super) fn tells(branch: &Value) -> bool {
    [
        "type",
        "properties",
        "$ref",
        "const",
        "enum",
        "anyOf",
        "oneOf",
    ]
    .iter()
    .any(|keyword| branch.get(keyword).is_some())
}

/// The properties with their names and whether they are required: the
/// required ones as they are listed, then the others by name. A map's own
/// order depends on how `serde_json` was built.
pub(super) fn properties(
    schema: &Map<String, Value>,
) -> Result<Vec<(&str, &Value, bool)>, Unreadable> {
    let properties: BTreeMap<&str, &Value> = match schema.get("properties") {
        None => BTreeMap::new(),
        Some(Value::Object(map)) => map.iter().map(|(name, value)| (&**name, value)).collect(),
        Some(_) => return Err(Unreadable),
    };
    let mut required: HashSet<&str> = HashSet::new();
    let mut ordered = Vec::with_capacity(properties.len());
    match schema.get("required") {
        None => {}
        Some(Value::Array(names)) => {
            for name in names {
                let name = name.as_str().ok_or(Unreadable)?;
                if required.insert(name)
                    && let Some(value) = properties.get(name)
                {
                    ordered.push((name, *value, true));
                }
            }
        }
        Some(_) => return Err(Unreadable),
    }
    for (name, value) in properties {
        if !required.contains(name) {
            ordered.push((name, value, false));
        }
    }
    Ok(ordered)
}

/// What `schema` says of itself in words.
pub(super) fn description(schema: &Value) -> Result<Option<&str>, Unreadable> {
    match schema.get("description") {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Unreadable),
    }
}
