//! Schemas that a fuzzer writes byte by byte.

use serde_json::{Map, Value, json};

use super::input::Input;

const KINDS: [&str; 8] = [
    "object", "string", "array", "integer", "number", "boolean", "null", "dict",
];

const NAMES: [&str; 10] = [
    "a",
    "b",
    "c",
    "",
    "a/b",
    "~",
    "$ref",
    "properties",
    "é",
    "x y",
];

const REFERENCES: [&str; 13] = [
    "#",
    "#/$defs/a",
    "#/$defs/b",
    "#/definitions/a",
    "#/properties/a",
    "#/$defs/a~1b",
    "#/$defs/%7E0",
    "#/allOf/0",
    "#/items",
    "#a",
    "#/missing",
    "b",
    "https://example.com/a",
];

const TEXTS: [&str; 10] = [
    "a",
    "",
    "date",
    "date-time",
    "^a+$",
    "(?=a)",
    "(",
    "#a",
    "uri",
    "https://json-schema.org/draft/2020-12/schema",
];

/// Most keywords, grouped by what stands behind them.
const ONE: [&str; 13] = [
    "items",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "propertyNames",
    "additionalItems",
    "contentSchema",
    "items",
];
const LISTS: [&str; 6] = ["allOf", "anyOf", "oneOf", "prefixItems", "items", "allOf"];
const MAPS: [&str; 6] = [
    "properties",
    "$defs",
    "definitions",
    "patternProperties",
    "dependentSchemas",
    "properties",
];
const NUMBERS: [&str; 13] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minContains",
    "maxContains",
];
const WORDS: [&str; 11] = [
    "title",
    "description",
    "format",
    "pattern",
    "$anchor",
    "$dynamicAnchor",
    "$id",
    "$comment",
    "$schema",
    "contentEncoding",
    "contentMediaType",
];
const FLAGS: [&str; 8] = [
    "uniqueItems",
    "nullable",
    "deprecated",
    "readOnly",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "additionalProperties",
    "unevaluatedProperties",
];

/// A schema, right or wrong.
pub fn schema(input: &mut Input<'_>, depth: usize) -> Value {
    if depth > 8 || input.is_empty() {
        return Value::Object(Map::new());
    }
    let members = match input.byte() % 16 {
        0 => return Value::Bool(true),
        1 => return Value::Bool(false),
        2 => return scalar(input),
        many => usize::from(many % 6),
    };
    let mut map = Map::new();
    for _ in 0..members {
        let (keyword, value) = member(input, depth);
        map.insert(keyword.to_owned(), value);
    }
    Value::Object(map)
}

fn member(input: &mut Input<'_>, depth: usize) -> (&'static str, Value) {
    match input.byte() % 16 {
        0 | 1 => ("type", json!(input.one_of(&KINDS))),
        2 => {
            let count = input.below(4);
            let kinds: Vec<&str> = (0..count).map(|_| input.one_of(&KINDS)).collect();
            ("type", json!(kinds))
        }
        3..=5 => {
            let keyword = input.one_of(&MAPS);
            let count = input.below(4);
            let members = (0..count)
                .map(|_| (input.one_of(&NAMES).to_owned(), schema(input, depth + 1)))
                .collect();
            (keyword, Value::Object(members))
        }
        6 => {
            let count = input.below(4);
            let names: Vec<&str> = (0..count).map(|_| input.one_of(&NAMES)).collect();
            ("required", json!(names))
        }
        7 | 8 => {
            let keyword = input.one_of(&LISTS);
            let count = input.below(4);
            let schemas = (0..count).map(|_| schema(input, depth + 1)).collect();
            (keyword, Value::Array(schemas))
        }
        9 => (input.one_of(&ONE), schema(input, depth + 1)),
        10 => {
            let keyword = input.one_of(&["$ref", "$ref", "$dynamicRef", "$recursiveRef"]);
            (keyword, json!(input.one_of(&REFERENCES)))
        }
        11 => (input.one_of(&NUMBERS), number(input)),
        12 => (input.one_of(&WORDS), json!(input.one_of(&TEXTS))),
        13 => (input.one_of(&FLAGS), json!(input.below(2) == 0)),
        14 => {
            let count = input.below(4);
            let values = (0..count).map(|_| scalar(input)).collect();
            ("enum", Value::Array(values))
        }
        _ => {
            let keyword = input.one_of(&["const", "default", "examples", "type", "other", "enum"]);
            (keyword, scalar(input))
        }
    }
}

fn number(input: &mut Input<'_>) -> Value {
    match input.byte() {
        255 => json!(-1),
        254 => json!(0.5),
        253 => json!(u64::MAX),
        252 => json!(1e300),
        251 => json!("1"),
        small => json!(small % 5),
    }
}

/// A value for `const` and the like, or where a schema should be.
fn scalar(input: &mut Input<'_>) -> Value {
    match input.byte() % 8 {
        0 => Value::Null,
        1 => json!(input.below(2) == 0),
        2 => number(input),
        3 => json!([scalar(input)]),
        4 => json!({ input.one_of(&NAMES): number(input) }),
        5 => json!(input.one_of(&KINDS)),
        _ => json!(input.one_of(&TEXTS)),
    }
}
