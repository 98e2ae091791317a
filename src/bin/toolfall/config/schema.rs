//! The JSON Schema of `toolfall.toml`.

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
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

/// The shape of `[policy]`, which [`super::policy`] reads.
// Beside it and not derived there, so that the two can change one by one; a
// test holds this shape against what the program reads.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct PolicyShape {
    /// What holds where no rule matches.
    #[schemars(extend("default" = "ask"))]
    otherwise: Option<Word>,
    /// Ordered rules; the first that matches decides.
    #[schemars(extend("default" = []))]
    rules: Option<Vec<RuleShape>>,
}

/// What a rule says of a call.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum Word {
    /// It may go on.
    Allow,
    /// A person is asked.
    Ask,
    /// It is refused.
    Deny,
}

/// A rule.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct RuleShape {
    /// Cited by results and records; no two rules share one.
    name: String,
    /// What it says of the calls that it matches.
    verdict: Word,
    /// Globs over names, one of which must match; every tool without it.
    #[schemars(extend("default" = []))]
    tools: Option<Vec<String>>,
    /// Tests of the arguments, all of which must hold.
    #[schemars(extend("default" = []))]
    arguments: Option<Vec<TestShape>>,
    /// What the model or the person asked is told.
    because: Option<String>,
}

/// A test of a place in the arguments.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct TestShape {
    /// The place, a JSON pointer.
    at: String,
    /// Holds if the value there is this one.
    equals: Option<Value>,
    /// Holds if the value there is a string that the glob matches.
    glob: Option<String>,
    /// Holds if the value there is a string that, read as a path, matches.
    path: Option<String>,
    /// Holds if there is a value.
    #[schemars(extend("const" = true))]
    present: Option<bool>,
}
