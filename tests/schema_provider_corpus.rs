//! Real schemas as providers take them, counted, and what they accept then.

#[path = "support/projected.rs"]
mod projected;
#[path = "support/schemas.rs"]
mod support;

use std::collections::BTreeMap;

use projected::{PROVIDERS, check};
use serde_json::{Map, Value, json};
use toolfall::schema::Schema;
use toolfall::schema::provider::{Provider, project, restore};

/// Projects all of them, twice, and counts what was changed by keyword.
fn count(provider: Provider, schemas: &[Value]) -> (usize, BTreeMap<String, usize>) {
    let (mut exact, mut counts) = (0, BTreeMap::new());
    for schema in schemas {
        let once = project(provider, schema).unwrap();
        check(provider, &once.schema);
        let again = project(provider, &once.schema).unwrap();
        assert_eq!(again.schema, once.schema, "{provider:?} of {schema}");
        assert_eq!(again.changes, [], "{provider:?} of {}", once.schema);
        assert_eq!(again.schema.to_string(), once.schema.to_string());
        exact += usize::from(!once.accepts_more());
        for change in once.changes {
            let label = format!("{} {:?}", change.keyword(), change.accepts());
            *counts.entry(label).or_default() += 1;
        }
    }
    (exact, counts)
}

#[test]
fn real_schemas_are_projected_and_what_was_changed_is_counted() {
    let schemas = support::copied();
    let figures = PROVIDERS.map(|provider| {
        let (exact, counts) = count(provider, &schemas);
        println!(
            "{provider:?}: {exact} of {} accept no more; {counts:#?}",
            schemas.len()
        );
        exact
    });
    assert_eq!((schemas.len(), figures), (600, [600, 600, 589]));
}

#[test]
fn what_servers_announce_is_projected_where_it_is_there() {
    let Some(tools) = support::announced() else {
        return;
    };
    let schemas: Vec<Value> = tools
        .iter()
        .map(|tool| tool["inputSchema"].clone())
        .filter(|schema| Schema::compile(schema).is_ok())
        .collect();
    let figures = PROVIDERS.map(|provider| {
        let (exact, counts) = count(provider, &schemas);
        println!(
            "{provider:?}: {exact} of {} accept no more; {counts:#?}",
            schemas.len()
        );
        exact
    });
    assert_eq!((schemas.len(), figures), (2376, [2274, 2376, 881]));
}

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end.max(1)
    }
}

/// A value that a schema in strict mode probably accepts.
fn instance(root: &Value, schema: &Value, numbers: &mut Numbers, depth: usize) -> Value {
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

/// Whatever a strict projection accepts the schema accepts, once the nulls
/// are gone, unless the report says that it may accept more.
#[test]
fn a_projection_that_says_so_accepts_no_more_than_the_schema() {
    let mut schemas = support::copied();
    for tool in support::announced().into_iter().flatten() {
        schemas.push(tool["inputSchema"].clone());
    }
    let (mut asked, mut numbers) = (0, Numbers(7));
    for schema in schemas {
        let Ok(original) = Schema::compile(&schema) else {
            continue;
        };
        let projected = project(Provider::OpenAiStrict, &schema).unwrap();
        if projected.accepts_more() {
            continue;
        }
        let strict = Schema::compile(&projected.schema).unwrap();
        for _ in 0..4 {
            let mut value = instance(&projected.schema, &projected.schema, &mut numbers, 0);
            if !strict.is_valid(&value) {
                continue;
            }
            asked += 1;
            restore(&schema, &mut value);
            let told = original.argument_violations(&value);
            assert_eq!(told, [], "{schema}\n{}\n{value}", projected.schema);
            let before = value.clone();
            restore(&schema, &mut value);
            assert_eq!(value, before);
        }
    }
    println!("{asked} instances asked");
    assert!(asked > 1_000, "{asked}");
}
