//! Typed tools: schemas from types, arguments into types.

#[path = "support/facade.rs"]
mod support;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use support::{registry, request};
use toolfall::{
    BoxError, FailureKind, Pipeline, RegisterError, Registry, Tool, ToolContext, ToolDef,
    Validation, tool_fn,
};

/// Where to look.
#[derive(Deserialize, Serialize, JsonSchema)]
struct Place {
    /// The host's name.
    host: String,
    /// A port, if it is not the usual one.
    port: Option<u16>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Read,
    Write,
}

/// Only what is declared.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Closed {
    id: i64,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Optional {
    maybe: Option<String>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Args {
    /// The file.
    path: String,
    mode: Mode,
    place: Place,
    closed: Closed,
    optional: Option<Optional>,
    #[serde(default = "ten")]
    limit: i64,
    places: Vec<Place>,
    free: Value,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

fn ten() -> i64 {
    10
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

struct Back;

impl Tool for Back {
    type Args = Args;
    type Output = Args;

    fn name(&self) -> Cow<'static, str> {
        "back".into()
    }

    fn description(&self) -> Cow<'static, str> {
        "Gives its arguments back".into()
    }

    async fn call(&self, args: Args, _: ToolContext) -> Result<Args, BoxError> {
        Ok(args)
    }
}

fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    match schema.get("$ref").and_then(Value::as_str) {
        Some(reference) => root.pointer(&reference[1..]).unwrap(),
        None => schema,
    }
}

/// conformance: ARGS-01, ARGS-02, ARGS-03, ARGS-04, ARGS-05, ARGS-06, SCHEMA-01, SCHEMA-04,
/// SCHEMA-05, SCHEMA-06, SCHEMA-17
#[test]
fn a_schema_says_of_a_type_what_it_is_and_nothing_else() {
    let tool = ToolDef::typed(Back);
    let schema = tool.parameters();
    assert_eq!(schema["type"], "object");
    let mut required: Vec<&str> = schema["required"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    required.sort_unstable();
    assert_eq!(
        required,
        ["closed", "free", "mode", "path", "place", "places"]
    );
    assert_ne!(
        schema["additionalProperties"],
        json!(false),
        "the root is open"
    );

    let property = |name: &str| resolve(schema, &schema["properties"][name]);
    assert_eq!(
        *property("path"),
        json!({"type": "string", "description": "The file."})
    );
    assert_eq!(property("mode")["enum"], json!(["read", "write"]));
    assert_eq!(property("place")["required"], json!(["host"]));
    assert_eq!(
        property("place")["properties"]["host"]["description"],
        "The host's name."
    );
    assert_eq!(property("closed")["additionalProperties"], false);
    assert_eq!(property("closed")["required"], json!(["id"]));
    assert_eq!(property("limit")["default"], 10);
    assert!(property("path").get("default").is_none() && property("path").get("enum").is_none());
    assert_eq!(
        resolve(schema, &property("places")["items"])["required"],
        json!(["host"])
    );
    assert!(
        schema["properties"]["free"] == json!(true) || schema["properties"]["free"] == json!({}),
        "{}",
        schema["properties"]["free"]
    );
    let optional = &schema["$defs"]["Optional"];
    assert!(optional["properties"]["maybe"].is_object() && optional.get("required").is_none());

    let nothing = tool_fn("n", "", |_: Nothing, _: ToolContext| async {
        Ok::<_, BoxError>(1)
    });
    assert_eq!(
        *nothing.parameters(),
        json!({"type": "object", "properties": {}})
    );
}

/// conformance: ARGS-07, SCHEMA-17
#[tokio::test]
async fn what_validates_also_decodes() {
    let registry = registry([ToolDef::typed(Back)]);
    assert_eq!(
        registry.schemas(None)[0].parameters,
        *ToolDef::typed(Back).parameters()
    );
    let pipeline = Pipeline::builder(registry).build();
    let sent = json!({
        "path": "a", "mode": "write", "place": {"host": "h"}, "closed": {"id": 1.0},
        "places": [{"host": "i", "port": 80}], "free": [null], "undeclared": {"kept": true},
    });
    let result = pipeline.run(request("back", sent.to_string())).await;
    let value = result
        .value()
        .unwrap_or_else(|| panic!("{}", result.text()));
    assert_eq!(value["undeclared"], json!({"kept": true}));
    assert_eq!(
        (&value["limit"], &value["optional"]),
        (&json!(10), &Value::Null)
    );
    assert_eq!(
        (&value["closed"]["id"], &value["mode"]),
        (&json!(1), &json!("write"))
    );
}

/// conformance: ARGS-25, ARGS-35
#[tokio::test]
async fn an_unlisted_word_is_an_invalid_argument() {
    let ran = support::Counter::default();
    let tool = {
        let ran = ran.clone();
        tool_fn("modes", "", move |args: Choice, _: ToolContext| {
            ran.add();
            async move { Ok::<_, BoxError>(args.mode) }
        })
    };
    let pipeline = Pipeline::builder(registry([tool])).build();
    for (sent, message) in [
        (
            r#"{"mode":"delete"}"#,
            "invalid arguments: \"mode\" must be one of [\"read\",\"write\"]",
        ),
        (
            "{}",
            "invalid arguments: missing required property \"mode\"",
        ),
        (
            r#"{"mode":"read","n":"1"}"#,
            "invalid arguments: \"n\" must be an integer or null",
        ),
    ] {
        let result = pipeline.run(request("modes", sent)).await;
        assert_eq!(result.message(), Some(message));
        assert_eq!(result.info().unwrap().name(), "ToolArgsError");
    }
    assert_eq!(ran.get(), 0);
    let result = pipeline
        .run(request("modes", r#"{"mode":"read","n":1.0}"#))
        .await;
    assert_eq!((result.text(), ran.get()), ("read".to_owned(), 1));
}

#[derive(Deserialize, JsonSchema)]
struct Choice {
    mode: Mode,
    #[allow(dead_code, reason = "only its schema counts")]
    n: Option<i64>,
}

/// Its schema takes any object, its type wants an id.
#[derive(Deserialize)]
struct Drifted {
    id: u8,
}

impl JsonSchema for Drifted {
    fn schema_name() -> Cow<'static, str> {
        "Drifted".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({"type": "object"})
    }
}

/// conformance: ARGS-34
#[tokio::test]
async fn a_type_that_left_its_schema_is_not_the_models_fault() {
    let tool = |name: &'static str| {
        tool_fn(name, "", |args: Drifted, _: ToolContext| async move {
            Ok::<_, BoxError>(args.id)
        })
    };
    let decoding = tool("decoding").validation(Validation::Decoding);
    let pipeline = Pipeline::builder(registry([tool("drifted"), decoding])).build();
    let result = pipeline.run(request("drifted", r#"{"id":"\u001b"}"#)).await;
    assert_eq!(result.code(), Some("SCHEMA_DRIFT"));
    assert_eq!(result.kind(), Some(FailureKind::Body));
    assert!(
        !result.text().contains(char::is_control),
        "{:?}",
        result.text()
    );

    // Where the type itself is the judge, the model is told.
    let result = pipeline.run(request("decoding", r#"{"id":"a"}"#)).await;
    assert_eq!(result.code(), Some("INVALID_ARGS"));
    assert!(
        result
            .message()
            .unwrap()
            .starts_with("invalid arguments: at /id: ")
    );
    assert_eq!(
        pipeline
            .run(request("decoding", r#"{"id":7}"#))
            .await
            .text(),
        "7"
    );
}

/// conformance: ARGS-28, SCHEMA-32, REG-07, REG-08, TIME-25
#[test]
fn a_budget_is_positive_and_fits_a_timer() {
    let budgeted = |budget| ToolDef::typed(Back).budget(budget);
    for good in [
        Duration::from_millis(1),
        Duration::from_secs(30),
        Duration::from_millis(2_147_483_647),
    ] {
        assert!(Registry::new().register(budgeted(good)).is_ok());
    }
    for bad in [
        Duration::ZERO,
        Duration::MAX,
        Duration::from_millis(2_147_483_648),
    ] {
        let registry = Registry::new();
        let error = registry.register(budgeted(bad)).map(drop).unwrap_err();
        assert!(matches!(error, RegisterError::Budget { found, .. } if found == bad));
        let told = error.to_string();
        assert!(
            told.contains("timeoutMs must be a positive finite number"),
            "{told}"
        );
        assert!(told.contains("no greater than 2147483647"), "{told}");
        assert!(!registry.contains("back", None));
    }
    assert!(Registry::new().register(ToolDef::typed(Back)).is_ok());
}

/// conformance: SCHEMA-33, SCHEMA-34
#[test]
fn overlap_is_classified_per_arguments_and_never_on_doubt() {
    use toolfall::ExecutionMode::{Exclusive, Parallel};
    let tool = |name: &'static str| {
        tool_fn(name, "", |args: Choice, _: ToolContext| async move {
            Ok::<_, BoxError>(args.mode)
        })
    };
    let registry = registry([
        tool("plain"),
        tool("always").parallel(),
        tool("reads").parallel_when(|arguments| arguments["mode"] == "read"),
        tool("fails").try_parallel_when(|_| Err("no idea".into())),
        tool("panics").parallel_when(|_| panic!("no idea")),
    ]);
    for (name, arguments, mode) in [
        ("plain", r#"{"mode":"read"}"#, Exclusive),
        ("always", r#"{"mode":"write"}"#, Parallel),
        ("always", r#"{"mode":"delete"}"#, Exclusive),
        ("always", "{", Exclusive),
        ("reads", r#"{"mode":"read"}"#, Parallel),
        ("reads", r#"{"mode":"write"}"#, Exclusive),
        ("fails", r#"{"mode":"read"}"#, Exclusive),
        ("panics", r#"{"mode":"read"}"#, Exclusive),
        ("nobody", r#"{"mode":"read"}"#, Exclusive),
    ] {
        assert_eq!(
            registry.mode(&request(name, arguments)),
            mode,
            "{name} {arguments}"
        );
    }
}
