//! Real schemas at registration: taken, or refused with a place and a reason.

#[path = "support/schemas.rs"]
mod support;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use toolfall::schema::unknown_keywords;
use toolfall::{Arguments, BoxError, RegisterError, Registry, ToolContext, raw_tool};

/// Registers each schema, and counts the refusals by reason.
fn register(schemas: &[(Value, Option<Value>)]) -> (usize, BTreeMap<String, usize>) {
    let (mut taken, mut refusals) = (0, BTreeMap::new());
    for (parameters, output) in schemas {
        let registry = Registry::new();
        let body = |arguments: Arguments, _: ToolContext| async move {
            Ok::<Value, BoxError>(arguments.value().clone())
        };
        let mut tool = raw_tool("t", "", parameters.clone(), body);
        if let Some(output) = output {
            tool = tool.output_schema(output.clone());
        }
        match registry.register(tool) {
            Ok(_) => taken += 1,
            Err(RegisterError::Schema { error, .. }) => {
                // The place is one in the schema, and the reason is short.
                let of = output
                    .as_ref()
                    .filter(|_| parameters.pointer(error.pointer()).is_none());
                let schema = of.unwrap_or(parameters);
                let found = schema.pointer(error.pointer());
                assert!(found.is_some(), "{error}: {schema}");
                assert!(error.to_string().len() < 400, "{error}");
                let keyword = error.pointer().rsplit('/').next().unwrap_or_default();
                let found = found
                    .filter(|found| found.is_string())
                    .map_or(String::new(), Value::to_string);
                let reason = format!("{keyword} {found}");
                *refusals.entry(reason).or_default() += 1;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    println!("{taken} of {} taken; refused: {refusals:#?}", schemas.len());
    (taken, refusals)
}

/// How often each keyword that no draft knows is met.
fn unknown(schemas: &[(Value, Option<Value>)]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for (parameters, output) in schemas {
        for found in [Some(parameters), output.as_ref()]
            .into_iter()
            .flatten()
            .flat_map(unknown_keywords)
        {
            *counts.entry(found.keyword).or_default() += 1;
        }
    }
    println!("keywords without effect: {counts:#?}");
    counts
}

#[test]
fn the_copied_schemas_are_taken() {
    let schemas: Vec<_> = support::copied()
        .into_iter()
        .map(|schema| (schema, None))
        .collect();
    let (taken, refusals) = register(&schemas);
    assert_eq!((taken, json!(refusals)), (600, json!({})));
    assert_eq!(json!(unknown(&schemas)), json!({}));
}

#[test]
fn what_servers_announce_is_taken_or_refused_with_a_place() {
    let Some(tools) = support::announced() else {
        return;
    };
    let schemas: Vec<_> = tools
        .iter()
        .map(|tool| {
            (
                tool["inputSchema"].clone(),
                tool.get("outputSchema").cloned(),
            )
        })
        .collect();
    let (taken, refusals) = register(&schemas);
    assert_eq!((taken, json!(refusals)), (2_376, json!({})));
    assert_eq!(
        json!(unknown(&schemas)),
        json!({"discriminator": 3, "example": 58})
    );
}

#[test]
fn schemas_as_people_wrote_them_are_taken_or_refused_with_a_place() {
    let Some(folder) = support::beside() else {
        return;
    };
    let schemas: Vec<_> = support::lines(&folder.join("bfcl/raw_schemas.jsonl"))
        .iter()
        .map(|row| (row["parameters_raw"].clone(), None))
        .collect();
    let (taken, refusals) = register(&schemas);
    let expected = json!({
        "type \"Array\"": 1,
        "type \"ArrayList\"": 1,
        "type \"Boolean\"": 1,
        "type \"HashMap\"": 3,
        "type \"String\"": 33,
        "type \"any\"": 68,
        "type \"char\"": 1,
        "type \"dict\"": 2_393,
        "type \"double\"": 1,
        "type \"float\"": 453,
        "type \"long\"": 5,
    });
    assert_eq!((taken, json!(refusals)), (0, expected));
    assert_eq!(json!(unknown(&schemas)), json!({"optional": 42}));
}
