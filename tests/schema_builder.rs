//! Schemas that are made in code, registered and asked; and keywords without
//! effect, told at registration.

use std::io;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolfall::schema::builder::{array, boolean, integer, number, object, one_of, string};
use toolfall::schema::{Schema, unknown_keywords};
use toolfall::{Arguments, BoxError, Registry, ToolContext, ToolDef, raw_tool};

fn tool(parameters: Value) -> ToolDef {
    raw_tool(
        "t",
        "",
        parameters,
        |arguments: Arguments, _: ToolContext| async move {
            Ok::<Value, BoxError>(arguments.value().clone())
        },
    )
}

#[test]
fn what_is_built_registers_and_judges() {
    let built = object()
        .property("name", string().min(1).max(5))
        .property("ratio", number().nullable())
        .property("sure", boolean().optional().default_value(true))
        .property("tags", array(one_of(["a", "b"])).max(2).optional())
        .property("mode", one_of(["x"]).nullable().optional())
        .property("at", object().open().property("line", integer()).optional())
        .build();
    let registry = Registry::new();
    registry.register(tool(built.clone())).unwrap().keep();
    assert_eq!(registry.schemas(None)[0].parameters, built);
    assert_eq!(built["required"], json!(["name", "ratio"]));
    assert_eq!(unknown_keywords(&built), []);

    let schema = Schema::compile(&built).unwrap();
    for right in [
        json!({"name": "a", "ratio": null}),
        json!({"name": "a", "ratio": 0.5, "sure": false, "tags": ["a", "b"], "mode": null}),
        json!({"name": "a", "ratio": 1, "at": {"line": 3, "column": 4}}),
    ] {
        assert_eq!(schema.argument_violations(&right), [], "{right}");
    }
    for wrong in [
        json!({"name": "a"}),
        json!({"name": "", "ratio": 1}),
        json!({"name": "abcdef", "ratio": 1}),
        json!({"name": "a", "ratio": 1, "other": 1}),
        json!({"name": "a", "ratio": 1, "sure": null}),
        json!({"name": "a", "ratio": 1, "tags": ["a", "b", "a"]}),
        json!({"name": "a", "ratio": 1, "tags": ["c"]}),
        json!({"name": "a", "ratio": 1, "mode": "y"}),
        json!({"name": "a", "ratio": 1, "at": {"line": 3.5}}),
        json!({"name": "a", "ratio": 1, "at": {}}),
    ] {
        assert!(!schema.is_valid(&wrong), "{wrong}");
    }
}

#[test]
fn a_property_is_replaced_whole_and_what_does_not_apply_does_nothing() {
    let built = object()
        .property("a", string())
        .property("a", integer().optional())
        .min(3)
        .build();
    assert_eq!(
        built,
        json!({"type": "object", "additionalProperties": false,
        "properties": {"a": {"type": "integer"}}})
    );
    assert_eq!(string().property("a", string()), string());
    assert_eq!(Value::from(boolean().max(1)), json!({"type": "boolean"}));
}

/// A place for what is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_keyword_without_effect_is_told_when_the_tool_is_registered() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .with_ansi(false)
        .finish();
    tracing::subscriber::with_default(subscriber, || {
        let registry = Registry::new();
        let odd = tool(json!({"type": "object", "x-order": 1, "properties": {
            "minimun": {"type": "integer", "minimun": 3, "default": {"what": 1}}}}))
        .output_schema(json!({"typ": "string"}));
        registry.register(odd).unwrap().keep();
        registry
            .register(tool(json!({"type": "object"})).with_name("plain"))
            .unwrap()
            .keep();
    });
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert_eq!(text.lines().count(), 2, "{text}");
    for part in [
        "the parameters schema has a keyword without effect: minimun",
        "pointer=\"/properties/minimun\"",
        "the output schema has a keyword without effect: typ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn unknown_keywords_are_found_wherever_a_schema_stands_and_nowhere_else() {
    let odd = json!({
        "allOf": [{"oops": 1}], "items": [{"ooops": 1}], "not": {"oooops": 1},
        "$defs": {"a/b": {"Type": "string"}}, "dependencies": {"a": ["b"], "c": {"d": 1}},
        "enum": [{"x": 1}], "const": {"y": 1}, "examples": [{"z": 1}],
    });
    let found: Vec<String> = unknown_keywords(&odd)
        .into_iter()
        .map(|found| format!("{}:{}", found.pointer, found.keyword))
        .collect();
    assert_eq!(
        found,
        [
            "/$defs/a~1b:Type",
            "/allOf/0:oops",
            "/dependencies/c:d",
            "/items/0:ooops",
            "/not:oooops"
        ]
    );
    let many: Value = (0..500)
        .map(|n| (format!("k{n:03}"), json!(1)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    assert_eq!(unknown_keywords(&many).len(), 50);
}
