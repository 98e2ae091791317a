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

/// Thirty levels of definitions that each refer twice to the next are a
/// thousand million schemas: registration refuses them, whatever stands
/// around the references, and so nothing ever validates against them.
#[test]
fn doubled_references_are_refused_at_registration() {
    for around in [
        "allOf",
        "anyOf",
        "oneOf",
        "properties",
        "items",
        "not",
        "if",
    ] {
        let mut defs = Map::new();
        for step in 0..30 {
            let next = json!({ "$ref": format!("#/$defs/d{}", step + 1) });
            let twice = match around {
                "properties" => json!({"properties": {"l": next, "r": next}}),
                "items" => json!({"items": next, "additionalItems": next}),
                "not" => json!({"not": {"allOf": [next, next]}}),
                "if" => json!({"if": next, "then": next}),
                word => json!({ word: [next, next] }),
            };
            defs.insert(format!("d{step}"), twice);
        }
        defs.insert("d30".into(), json!({"type": "string"}));
        let told = refusal(json!({"properties": {"v": {"$ref": "#/$defs/d0"}}, "$defs": defs}));
        assert!(
            told.contains("expected at most 100000 nodes"),
            "{around}: {told}"
        );
    }
}

/// What is not refused at registration costs at most so much at a call: that
/// is counted, so the answer is the same on every machine.
#[test]
fn a_value_that_is_too_large_for_its_schema_is_refused_and_a_large_one_told_in_short() {
    let mut list = ladder(9, 2);
    list["properties"]["v"] = json!({"type": "array", "items": {"$ref": "#/$defs/d0"}});
    let schema = Schema::compile(&list).unwrap();
    let words = |count: usize, last: Value| {
        let mut words = vec![json!("a"); count];
        words.push(last);
        json!({ "v": words })
    };
    let message = |value: Value| {
        let told = schema.argument_violations(&value);
        assert_eq!(schema.is_valid(&value), told.is_empty());
        told.first().map(|told| told.message().to_owned())
    };
    assert_eq!(message(words(10, json!("a"))), None);
    assert_eq!(
        message(words(10, json!(1))).unwrap(),
        "\"v[10]\" must be a string"
    );
    assert_eq!(message(words(3_000, json!("a"))), None);
    let told = message(words(3_000, json!(1))).unwrap();
    assert_eq!(told, "\"arguments\" does not match its schema");
    let told = message(words(200_000, json!("a"))).unwrap();
    assert_eq!(told, "\"arguments\" holds too many values to be validated");

    // Of properties one value is only one: many of them cost nothing.
    let wide: Map<String, Value> = (0..2_000)
        .map(|n| (format!("p{n}"), json!({"type": "string"})))
        .collect();
    let schema = Schema::compile(&json!({"items": {"properties": wide}})).unwrap();
    let many: Value = (0..50_000).map(|_| json!({"p7": "a"})).collect();
    assert_eq!(schema.argument_violations(&many), []);
}

/// Allowed values are shown with each violation.
#[test]
fn long_lists_of_allowed_values_are_not_told_for_each_item_of_a_long_list() {
    let allowed: Value = (0..5_000).map(|n| json!({ "a": n })).collect();
    let schema = Schema::compile(&json!({"items": {"enum": allowed}})).unwrap();
    let odd: Value = (0..5_000).map(|n| json!({ "b": n })).collect();
    let told = schema.argument_violations(&odd);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].message(), "\"arguments\" does not match its schema");
    let told = schema.argument_violations(&json!([7]));
    assert!(told[0].message().contains("must be one of"), "{told:?}");
}

/// A schema that leads back to itself along several ways multiplies what an
/// explanation has to try at every level.
#[allow(
    clippy::disallowed_methods,
    reason = "only the real clock sees a loop that is busy"
)]
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
