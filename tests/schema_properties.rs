//! Schemas and arguments made up at random.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use toolfall::schema::Schema;
use toolfall::{Arguments, BoxError, Registry, ToolContext, raw_tool};

/// A parameter: its schema, and a value that satisfies it.
fn parameter() -> impl Strategy<Value = (Value, Value)> {
    let scalar = prop_oneof![
        any::<i32>().prop_map(|n| (json!({"type": "integer"}), json!(n))),
        any::<bool>().prop_map(|b| (json!({"type": "boolean"}), json!(b))),
        "[ -~]{0,8}".prop_map(|s| (json!({"type": "string"}), json!(s))),
        Just((json!({"type": "string", "enum": ["a", "b"]}), json!("b"))),
        Just((json!({"type": "null"}), json!(null))),
        Just((json!({}), json!([1, "x", null]))),
    ];
    scalar.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|(schema, value)| (
                json!({"type": "array", "items": schema}),
                json!([value])
            )),
            objects(inner),
        ]
    })
}

fn objects(inner: impl Strategy<Value = (Value, Value)>) -> impl Strategy<Value = (Value, Value)> {
    prop::collection::btree_map("[a-z]{1,4}", (inner, any::<bool>()), 0..4).prop_map(|fields| {
        let (mut properties, mut value, mut required) = (Map::new(), Map::new(), Vec::new());
        for (name, ((schema, example), is_required)) in fields {
            properties.insert(name.clone(), schema);
            value.insert(name.clone(), example);
            if is_required {
                required.push(name);
            }
        }
        let schema = json!({"type": "object", "properties": properties, "required": required});
        (schema, Value::Object(value))
    })
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,4}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// conformance: ARGS-29, ARGS-30, SCHEMA-26, SCHEMA-27, SCHEMA-28
    #[test]
    fn good_arguments_pass_and_a_missing_one_is_named(
        (schema, good) in objects(parameter()),
        odd in anything(),
    ) {
        let compiled = Schema::compile(&schema).unwrap();
        prop_assert_eq!(compiled.argument_violations(&good), vec![]);
        for name in schema["required"].as_array().unwrap() {
            let name = name.as_str().unwrap();
            let mut less = good.clone();
            less.as_object_mut().unwrap().remove(name);
            let told = compiled.argument_violations(&less);
            let named = format!("\"{name}\"");
            prop_assert!(told.iter().any(|violation| violation.message().contains(&named)));
        }
        let told = compiled.argument_violations(&odd);
        prop_assert!(odd.is_object() || !told.is_empty());
        prop_assert_eq!(told.is_empty(), compiled.is_valid(&odd));
        for violation in told {
            prop_assert!(odd.pointer(violation.pointer()).is_some());
        }

        // What was registered is what a model is told.
        let registry = Registry::new();
        let tool = raw_tool("t", "", schema.clone(), |arguments: Arguments, _: ToolContext| async move {
            Ok::<Value, BoxError>(arguments.value().clone())
        });
        let _registration = registry.register(tool).unwrap();
        prop_assert_eq!(&registry.schemas(None)[0].parameters, &schema);
    }
}
