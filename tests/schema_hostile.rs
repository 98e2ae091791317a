//! Schemas that are refused when a tool is registered, because they are
//! wrong or because they would bite later.

#[path = "support/facade.rs"]
mod support;

use std::error::Error as _;
use std::time::Duration;

use serde_json::{Map, Value, json};
use support::{Counter, returns};
use toolfall::schema::Schema;
use toolfall::{RegisterError, Registry, ToolDef};

fn tool_of(parameters: Value) -> ToolDef {
    toolfall::raw_tool(
        "odd",
        "",
        parameters,
        |arguments: toolfall::Arguments, _| async move {
            Ok::<Value, toolfall::BoxError>(arguments.value().clone())
        },
    )
}

/// The pointer and the words of the refusal, and that nothing was registered.
fn refusal(parameters: Value) -> String {
    let registry = Registry::new();
    let error = registry
        .register(tool_of(parameters))
        .map(drop)
        .unwrap_err();
    assert!(!registry.contains("odd", None));
    let RegisterError::Schema { .. } = &error else {
        panic!("{error:?}");
    };
    error.source().unwrap().to_string()
}

/// Definitions of which each refers `times` times to the next.
fn ladder(steps: usize, times: usize) -> Value {
    let mut defs = Map::new();
    for step in 0..steps {
        let next = json!({ "$ref": format!("#/$defs/d{}", step + 1) });
        defs.insert(format!("d{step}"), json!({ "allOf": vec![next; times] }));
    }
    defs.insert(format!("d{steps}"), json!({ "type": "string" }));
    json!({"type": "object", "properties": {"v": {"$ref": "#/$defs/d0"}}, "$defs": defs})
}

/// conformance: OUT-01, ARGS-19
#[test]
fn what_cannot_be_used_is_refused_at_registration() {
    let table = [
        (json!({"type": "dict"}), "/type"),
        (json!({"properties": {"a": 1}}), "/properties/a"),
        (json!({"required": "a"}), "/required"),
        (json!({"enum": 1}), "/enum"),
        (json!({"pattern": "("}), "/pattern"),
        (
            json!({"$schema": "https://example.com/mine", "type": "object"}),
            "/$schema",
        ),
        (
            json!({"$schema": "https://example.com/mine", "type": "string"}),
            "/$schema",
        ),
        (json!({"$schema": 7, "type": "string"}), "/$schema"),
        (json!({"type": "string", "title": 7}), "/title"),
        (json!(null), ""),
        (json!(["a"]), ""),
        (json!("string"), ""),
    ];
    for (schema, pointer) in table {
        let told = refusal(schema.clone());
        let start = format!("unsupported JSON schema at \"{pointer}\": ");
        assert!(told.starts_with(&start), "{schema}: {told}");
        assert!(told.len() > start.len() && told.len() < 400, "{told}");
    }
    // The output schema is judged at registration, too.
    let tool =
        returns("out", 1.into(), &Counter::default()).output_schema(json!({"type": "tuple"}));
    let error = Registry::new().register(tool).map(drop).unwrap_err();
    assert!(matches!(error, RegisterError::Schema { .. }), "{error}");
}

#[test]
fn a_reference_leads_inside_the_document_or_nowhere() {
    for outside in [
        "https://example.com/s.json",
        "http://127.0.0.1:1/s.json",
        "file:///etc/passwd",
        "other.json#/a",
        "#/$defs/none",
        "#nowhere",
    ] {
        let told = refusal(json!({"type": "object", "properties": {"v": {"$ref": outside}}}));
        assert!(
            told.contains("unsupported JSON schema"),
            "{outside}: {told}"
        );
    }
    // Inside, every way of naming a place works.
    for inside in ["#/$defs/t", "#text", "#/%24defs/t"] {
        let schema = Schema::compile(&json!({
            "properties": {"v": {"$ref": inside}},
            "$defs": {"t": {"$anchor": "text", "type": "string"}},
        }))
        .unwrap();
        assert!(schema.is_valid(&json!({"v": "a"})), "{inside}");
        assert!(!schema.is_valid(&json!({"v": 1})), "{inside}");
    }
}

#[test]
fn every_draft_that_is_named_is_honoured() {
    let drafts = [
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-07/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
    ];
    for (place, draft) in drafts.into_iter().enumerate() {
        // A list of schemas in `items` is a tuple up to 2019-09 only, and a
        // boolean `exclusiveMinimum` exists in draft 4 only.
        let tuple = json!({"$schema": draft, "type": "array", "items": [{"type": "string"}]});
        assert_eq!(Schema::compile(&tuple).is_ok(), place < 4, "{draft}");
        let limit = json!({"$schema": draft, "minimum": 1, "exclusiveMinimum": true});
        assert_eq!(Schema::compile(&limit).is_ok(), place == 0, "{draft}");
    }
}

/// conformance: SCHEMA-14, SCHEMA-16
#[test]
fn sharing_and_recursion_are_fine() {
    let shared = json!({
        "type": "object", "required": ["__proto__"],
        "properties": {"a": {"$ref": "#/$defs/p"}, "b": {"$ref": "#/$defs/p"}, "__proto__": {}},
        "$defs": {"p": {"type": "object", "properties": {"x": {"type": "integer"}}}},
    });
    let schema = Schema::compile(&shared).unwrap();
    let told = schema.argument_violations(&json!({"a": {"x": ""}, "b": {"x": 1}}));
    assert_eq!(told[0].message(), "missing required property \"__proto__\"");
    assert_eq!(told[1].message(), "\"a.x\" must be an integer");

    let tree = json!({
        "type": "object", "additionalProperties": false,
        "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "leaf": {"type": "string"}},
    });
    let schema = Schema::compile(&tree).unwrap();
    assert!(schema.is_valid(&json!({"left": {"leaf": "a"}, "right": {"left": {}}})));
    let told = schema.argument_violations(&json!({"left": {"right": {"leaf": 1}}}));
    assert_eq!(told[0].message(), "\"left.right.leaf\" must be a string");
}

#[test]
fn a_schema_that_grows_without_bound_is_refused_before_it_is_compiled() {
    assert!(Schema::compile(&ladder(8, 2)).is_ok());
    for doubling in [ladder(40, 2), ladder(12, 10), ladder(2_000, 2)] {
        let told = refusal(doubling);
        assert!(told.contains("expected at most"), "{told}");
    }
    // Long but not doubling: what is taken is compiled on a small stack, too.
    let long = ladder(120, 1);
    let compiled = std::thread::Builder::new()
        .stack_size(2 * 1024 * 1024)
        .spawn(move || Schema::compile(&long).map(|schema| schema.is_valid(&json!({"v": "a"}))))
        .unwrap();
    assert_eq!(compiled.join().unwrap(), Ok(true));
    assert!(refusal(ladder(3_000, 1)).contains("expected at most 512 steps"));

    let mut deep = json!({"type": "string"});
    for _ in 0..40 {
        deep = json!({ "oneOf": [deep, {"type": "null"}] });
    }
    assert!(refusal(deep).contains("expected at most 64 levels"));
    assert!(refusal(json!({"description": "d".repeat(300_000)})).contains("262144 bytes"));
}

/// A schema that leads back to itself along several ways multiplies what an
/// explanation has to try at every level.
#[test]
fn a_recursive_schema_is_asked_at_any_depth_and_explained_while_that_is_possible() {
    let twice = json!({"type": "object",
        "properties": {"c": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}});
    let behind = json!({"type": "object",
        "properties": {"c": {"allOf": [{"$ref": "#/$defs/x"}, {"$ref": "#/$defs/x"}]}},
        "$defs": {"x": {"type": "object", "properties": {"c": {"$ref": "#"}}}}});
    let branch = |kind: &str| {
        json!({"type": "object", "required": ["k"],
            "properties": {"k": {"const": kind}, "c": {"$ref": "#"}}})
    };
    let tree = json!({"oneOf": [branch("a"), branch("b"), branch("d")]});
    for schema in [twice, behind, tree] {
        let schema = Schema::compile(&schema).unwrap();
        for depth in [3, 20, 100] {
            let (mut good, mut bad) = (json!({"k": "a"}), json!(true));
            for _ in 0..depth {
                good = json!({"k": "b", "c": good});
                bad = json!({"k": "b", "c": bad});
            }
            let started = std::time::Instant::now();
            assert_eq!(schema.argument_violations(&good), []);
            let told = schema.argument_violations(&bad);
            assert!(!told.is_empty() && !schema.is_valid(&bad));
            if depth > 3 {
                assert_eq!(told[0].message(), "\"arguments\" does not match its schema");
            }
            assert!(
                started.elapsed() < Duration::from_secs(10),
                "{depth} levels"
            );
        }
    }
}

#[tokio::test]
async fn a_pattern_that_backtracks_is_cut_short() {
    let schema =
        Schema::compile(&json!({"type": "string", "pattern": "(?=a)(a|aa)+\\1$"})).unwrap();
    let asked = tokio::task::spawn_blocking(move || {
        schema.argument_violations(&Value::from(format!("{}!", "a".repeat(3_000))))
    });
    let told = tokio::time::timeout(Duration::from_secs(20), asked)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(told[0].keyword(), "pattern");
}
