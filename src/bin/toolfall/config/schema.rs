//! The JSON Schema of `toolfall.toml`.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use serde_json::{Value, json};

use super::Written;

/// What `toolfall config-schema` prints.
pub(crate) fn schema() -> Schema {
    SchemaSettings::draft2020_12()
        // One tree reads better than references, and nothing recurs.
        .with(|settings| settings.inline_subschemas = true)
        .with_transform(WithoutNull)
        .into_generator()
        .into_root_schema_for::<Written>()
}

/// What may be absent is no `null`: TOML has none.
#[derive(Clone)]
struct WithoutNull;

impl Transform for WithoutNull {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(object) = schema.as_object_mut() else {
            return;
        };
        if let Some(Value::Array(types)) = object.get_mut("type") {
            types.retain(|name| name != "null");
            if let [only] = types.as_slice() {
                let only = only.clone();
                object.insert("type".to_owned(), only);
            }
        }
        if object.get("default") == Some(&Value::Null) {
            object.remove("default");
        }
        let Some(Value::Array(choices)) = object.get_mut("anyOf") else {
            return;
        };
        choices.retain(|choice| *choice != json!({"type": "null"}));
        if let [Value::Object(only)] = choices.as_slice() {
            let only = only.clone();
            object.remove("anyOf");
            for (name, value) in only {
                // The place's own description goes before its type's.
                object.entry(name).or_insert(value);
            }
        }
    }
}
