//! Real schemas as providers take them, counted, and what they accept then.

#[path = "support/projected.rs"]
mod projected;
#[path = "support/schemas.rs"]
mod support;

use std::collections::BTreeMap;

use projected::{Numbers, PROVIDERS, check, instance};
use serde_json::Value;
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
