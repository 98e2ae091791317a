//! Schemas made up at random, right and wrong ones, as providers take them.

#[path = "support/projected.rs"]
mod projected;

use projected::{Numbers, PROVIDERS, check, instance};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use toolfall::schema::Schema;
use toolfall::schema::provider::{Provider, project, restore};

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (0..5_u8).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
        prop::sample::select(vec![
            "string",
            "object",
            "array",
            "null",
            "integer",
            "dict",
            "#",
            "#/$defs/a",
            "#/properties/b",
            "(?=a)",
            "date",
            "uri"
        ])
        .prop_map(Value::from),
    ]
}

fn keyword() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "type",
        "enum",
        "const",
        "minLength",
        "pattern",
        "format",
        "default",
        "description",
        "required",
        "$ref",
        "minimum",
        "exclusiveMinimum",
        "nullable",
        "odd",
        "minItems",
        "uniqueItems",
        "$schema",
        "additionalProperties",
    ])
}

fn schema() -> impl Strategy<Value = Value> {
    let plain = prop::collection::vec((keyword(), scalar()), 0..3);
    let leaf = prop_oneof![
        scalar(),
        plain.prop_map(|pairs| pairs
            .into_iter()
            .map(|(word, value)| (word.to_owned(), value))
            .collect::<Map<_, _>>()
            .into()),
        prop::sample::select(vec!["string", "integer", "boolean"])
            .prop_map(|kind| json!({"type": kind})),
        prop::sample::select(vec!["#", "#/$defs/a", "#/$defs/b"])
            .prop_map(|to| json!({"$ref": to})),
        prop::collection::vec(scalar(), 0..3).prop_map(|values| json!({"enum": values})),
        prop::collection::vec(
            prop::sample::select(vec!["string", "null", "object", "array", "number"]),
            0..4
        )
        .prop_map(|kinds| json!({"type": kinds})),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let named = prop::collection::btree_map("[a-c]", inner.clone(), 0..3);
        let list = prop::collection::vec(inner.clone(), 0..3);
        prop_oneof![
            (
                named.clone(),
                prop::collection::vec("[a-d]", 0..3),
                any::<bool>()
            )
                .prop_map(|(properties, required, typed)| {
                    let mut map = json!({"properties": properties, "required": required});
                    if typed {
                        map["type"] = json!("object");
                    }
                    map
                }),
            (
                prop::sample::select(vec![
                    "allOf",
                    "anyOf",
                    "oneOf",
                    "items",
                    "prefixItems",
                    "type"
                ]),
                list,
                named.clone(),
                any::<bool>()
            )
                .prop_map(|(word, list, named, both)| {
                    let mut map = json!({ word: list });
                    if both {
                        map["properties"] = json!(named);
                    }
                    map
                }),
            (
                prop::sample::select(vec![
                    "items",
                    "not",
                    "if",
                    "additionalProperties",
                    "contains"
                ]),
                inner.clone()
            )
                .prop_map(|(word, schema)| json!({ word: schema, "description": "d" })),
            (inner, named).prop_map(|(schema, defs)| {
                let mut schema = schema;
                if let Some(map) = schema.as_object_mut() {
                    map.insert("$defs".to_owned(), json!(defs));
                }
                schema
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whatever_a_schema_says_its_projection_is_one_that_the_provider_takes(
        schema in schema(),
        value in schema(),
    ) {
        for provider in PROVIDERS {
            let Ok(once) = project(provider, &schema) else {
                continue;
            };
            // What is no schema passes Anthropic's projection as it is.
            if provider == Provider::Anthropic && Schema::compile(&schema).is_err() {
                continue;
            }
            check(provider, &once.schema);
            let again = project(provider, &once.schema).unwrap();
            prop_assert_eq!(&again.schema, &once.schema, "{:?} of {}", provider, &schema);
            if provider != Provider::Anthropic {
                prop_assert_eq!(again.changes, vec![], "{:?} of {}", provider, once.schema);
            }
        }
        let mut once = value.clone();
        restore(&schema, &mut once);
        let mut twice = once.clone();
        restore(&schema, &mut twice);
        prop_assert_eq!(once, twice);
    }

    /// What a projection in strict mode accepts, its nulls taken out, the
    /// schema accepts, unless the report says that it may not.
    #[test]
    fn a_projection_accepts_no_more_than_its_report_says(schema in schema(), seed in any::<u64>()) {
        let Ok(original) = Schema::compile(&schema) else {
            return Ok(());
        };
        let projected = project(Provider::OpenAiStrict, &schema).unwrap();
        if projected.accepts_more() {
            return Ok(());
        }
        let strict = Schema::compile(&projected.schema).unwrap();
        let mut numbers = Numbers(seed);
        for _ in 0..4 {
            let mut value = instance(&projected.schema, &projected.schema, &mut numbers, 0);
            if strict.is_valid(&value) {
                restore(&schema, &mut value);
                prop_assert!(original.is_valid(&value), "{} by {} of {}", value, projected.schema, schema);
            }
        }
    }
}
