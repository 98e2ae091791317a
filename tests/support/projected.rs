//! What each provider demands of a schema, and values that it may accept.

#![allow(dead_code, reason = "each test uses its part")]

use serde_json::{Map, Value, json};
use toolfall::schema::provider::Provider;

pub(crate) const PROVIDERS: [Provider; 3] = [
    Provider::OpenAiStrict,
    Provider::Anthropic,
    Provider::Gemini,
];

/// The schemas below a projected schema, itself among them.
fn subschemas(schema: &Value) -> Vec<&Map<String, Value>> {
    let mut found = Vec::new();
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        let map = schema
            .as_object()
            .unwrap_or_else(|| panic!("a schema: {schema}"));
        found.push(map);
        for keyword in ["properties", "$defs"] {
            open.extend(
                map.get(keyword)
                    .and_then(Value::as_object)
                    .into_iter()
                    .flat_map(Map::values),
            );
        }
        open.extend(
            map.get("anyOf")
                .and_then(Value::as_array)
                .into_iter()
                .flatten(),
        );
        open.extend(map.get("items"));
    }
    found
}

/// What each provider demands of every schema.
pub(crate) fn check(provider: Provider, schema: &Value) {
    assert_eq!(schema["type"], "object", "{schema}");
    for keyword in ["anyOf", "oneOf", "allOf", "$ref"] {
        assert!(schema.get(keyword).is_none(), "{schema}");
    }
    if provider == Provider::Anthropic {
        return;
    }
    for map in subschemas(schema) {
        let said = ["type", "anyOf", "$ref"]
            .iter()
            .filter(|keyword| map.contains_key(**keyword));
        assert_eq!(said.count(), 1, "{map:?}");
        let is_object = map.get("type").is_some_and(|kind| {
            kind == "object"
                || kind
                    .as_array()
                    .is_some_and(|kinds| kinds.contains(&"object".into()))
        });
        if provider == Provider::OpenAiStrict {
            assert!(
                map.keys().all(|keyword| matches!(
                    &**keyword,
                    "type"
                        | "anyOf"
                        | "$ref"
                        | "$defs"
                        | "enum"
                        | "title"
                        | "description"
                        | "properties"
                        | "required"
                        | "additionalProperties"
                        | "items"
                        | "pattern"
                        | "format"
                        | "minimum"
                        | "maximum"
                        | "exclusiveMinimum"
                        | "exclusiveMaximum"
                        | "multipleOf"
                        | "minItems"
                        | "maxItems"
                )),
                "{map:?}"
            );
            assert!(!map.contains_key("$ref") || map.len() == 1, "{map:?}");
            if is_object {
                assert_eq!(map["additionalProperties"], false);
                let mut names: Vec<&String> =
                    map["properties"].as_object().unwrap().keys().collect();
                names.sort();
                assert_eq!(map["required"], json!(names));
            }
        } else {
            assert!(
                map.keys().all(|keyword| matches!(
                    &**keyword,
                    "type"
                        | "anyOf"
                        | "nullable"
                        | "default"
                        | "enum"
                        | "title"
                        | "description"
                        | "properties"
                        | "required"
                        | "items"
                        | "pattern"
                        | "format"
                        | "minimum"
                        | "maximum"
                        | "minItems"
                        | "maxItems"
                        | "minLength"
                        | "maxLength"
                        | "minProperties"
                        | "maxProperties"
                )),
                "{map:?}"
            );
            assert!(map.get("type").is_none_or(Value::is_string), "{map:?}");
            for value in map
                .get("enum")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                assert!(value.is_string() && map["type"] == "string", "{map:?}");
            }
        }
    }
}

/// Numbers that look random and are the same in every run.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end.max(1)
    }
}

/// A value that a schema in strict mode probably accepts.
pub(crate) fn instance(root: &Value, schema: &Value, numbers: &mut Numbers, depth: usize) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#')).unwrap();
        return if depth > 12 {
            Value::Null
        } else {
            instance(root, target, numbers, depth + 1)
        };
    }
    if let Some(branches) = schema["anyOf"].as_array() {
        let branch = if depth > 8 {
            branches.len() - 1
        } else {
            numbers.below(branches.len())
        };
        return instance(root, &branches[branch], numbers, depth + 1);
    }
    if let Some(values) = schema["enum"].as_array() {
        return values[numbers.below(values.len())].clone();
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) if depth > 8 => &kinds[kinds.len() - 1],
        Value::Array(kinds) => &kinds[numbers.below(kinds.len())],
        kind => kind,
    };
    match kind.as_str().unwrap() {
        "string" => json!(["", "a", "2024-01-01", "x y"][numbers.below(4)]),
        "integer" => json!(numbers.below(30)),
        "number" => json!([0.5, 1.0, 7.25, 100.0][numbers.below(4)]),
        "boolean" => json!(numbers.below(2) == 0),
        "array" => {
            let length = usize::try_from(schema["minItems"].as_u64().unwrap_or(0)).unwrap()
                + numbers.below(2);
            (0..length)
                .map(|_| instance(root, &schema["items"], numbers, depth + 1))
                .collect()
        }
        "object" => schema["properties"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, schema)| (name.clone(), instance(root, schema, numbers, depth + 1)))
            .collect::<Map<_, _>>()
            .into(),
        _ => Value::Null,
    }
}
