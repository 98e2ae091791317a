//! What the providers' subsets hold.

use serde_json::{Map, Value};

use super::Provider;
use super::change::Accepts;

/// Longer lists of allowed values are dropped in strict mode.
const MAX_ENUM: usize = 1_000;

const ANNOTATIONS: [&str; 11] = [
    "$comment",
    "$schema",
    "default",
    "deprecated",
    "description",
    "example",
    "examples",
    "nullable",
    "readOnly",
    "title",
    "writeOnly",
];

/// Says nothing about which values are accepted.
pub(super) fn is_annotation(keyword: &str) -> bool {
    ANNOTATIONS.contains(&keyword)
}

/// Names places and definitions: nothing by itself.
pub(super) fn is_structure(keyword: &str) -> bool {
    matches!(
        keyword,
        "$schema"
            | "$id"
            | "id"
            | "$defs"
            | "definitions"
            | "$anchor"
            | "$dynamicAnchor"
            | "$recursiveAnchor"
            | "$vocabulary"
            | "$comment"
    )
}

/// The types that a keyword speaks of; `None` for all of them.
fn speaks_of(keyword: &str) -> Option<&'static [&'static str]> {
    Some(match keyword {
        "properties"
        | "required"
        | "additionalProperties"
        | "patternProperties"
        | "propertyNames"
        | "minProperties"
        | "maxProperties"
        | "dependentRequired"
        | "dependentSchemas"
        | "dependencies"
        | "unevaluatedProperties" => &["object"],
        "items" | "prefixItems" | "additionalItems" | "minItems" | "maxItems" | "uniqueItems"
        | "contains" | "minContains" | "maxContains" | "unevaluatedItems" => &["array"],
        "pattern" | "minLength" | "maxLength" | "contentEncoding" | "contentMediaType"
        | "contentSchema" => &["string"],
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
            &["number", "integer"]
        }
        _ => return None,
    })
}

/// Whether a keyword can say anything of values of these types.
pub(super) fn applies(keyword: &str, kinds: &[String]) -> bool {
    speaks_of(keyword).is_none_or(|of| kinds.iter().any(|kind| of.contains(&&**kind)))
}

/// What is accepted once the keyword is gone.
pub(super) fn without(keyword: &str, kinds: &[String]) -> Accepts {
    let known = super::super::unknown::is_known(keyword);
    if !known || is_annotation(keyword) || is_structure(keyword) || !applies(keyword, kinds) {
        return Accepts::Same;
    }
    match keyword {
        "contentEncoding" | "contentMediaType" | "contentSchema" => Accepts::Same,
        _ => Accepts::More,
    }
}

/// Whether the provider takes this keyword, one that stands for itself, as
/// it is.
pub(super) fn is_kept(provider: Provider, keyword: &str, value: &Value) -> bool {
    let gemini = provider == Provider::Gemini;
    match keyword {
        "title" | "description" => value.is_string(),
        "nullable" => gemini && value.is_boolean(),
        "default" => gemini,
        "minItems" | "maxItems" => value.is_u64(),
        "minLength" | "maxLength" | "minProperties" | "maxProperties" => gemini && value.is_u64(),
        "minimum" | "maximum" => value.is_number(),
        "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => !gemini && value.is_number(),
        "pattern" => value.as_str().is_some_and(is_plain_pattern),
        "format" => value.as_str().is_some_and(|format| {
            if gemini {
                matches!(
                    format,
                    "date-time" | "enum" | "int32" | "int64" | "float" | "double"
                )
            } else {
                matches!(
                    format,
                    "date-time"
                        | "time"
                        | "date"
                        | "duration"
                        | "email"
                        | "hostname"
                        | "ipv4"
                        | "ipv6"
                        | "uuid"
                )
            }
        }),
        _ => false,
    }
}

/// Neither looks around nor back.
fn is_plain_pattern(pattern: &str) -> bool {
    let backwards = pattern
        .as_bytes()
        .windows(2)
        .any(|pair| pair[0] == b'\\' && (pair[1].is_ascii_digit() || pair[1] == b'k'));
    !backwards
        && !["(?=", "(?!", "(?<=", "(?<!"]
            .iter()
            .any(|look| pattern.contains(look))
}

/// Whether the provider takes this list of allowed values.
pub(super) fn is_enum_kept(provider: Provider, values: &[Value]) -> bool {
    let all = |is: fn(&Value) -> bool| !values.is_empty() && values.iter().all(is);
    match provider {
        Provider::Gemini => all(Value::is_string),
        _ => values.len() <= MAX_ENUM && all(|value| !value.is_array() && !value.is_object()),
    }
}

/// The types that the values have.
pub(super) fn kinds_of(values: &[Value]) -> Vec<String> {
    let mut kinds: Vec<String> = Vec::new();
    for value in values {
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        if !kinds.iter().any(|known| known == kind) {
            kinds.push(kind.to_owned());
        }
    }
    if kinds.iter().any(|kind| kind == "number") {
        kinds.retain(|kind| kind != "integer");
    }
    kinds
}

/// The types that a schema without `type` seems to mean.
pub(super) fn kinds_meant(map: &Map<String, Value>) -> Vec<String> {
    let mut meant: Vec<&str> = Vec::new();
    for keyword in map.keys() {
        let kind = match speaks_of(keyword) {
            Some(["number", ..]) => "number",
            Some([kind]) => kind,
            _ if keyword == "format" => "string",
            _ => continue,
        };
        if !meant.contains(&kind) {
            meant.push(kind);
        }
    }
    meant.sort_unstable();
    meant.into_iter().map(str::to_owned).collect()
}
