//! What each provider demands of a schema.

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
