//! What a schema says of arguments, and what a model is told.

#[path = "support/facade.rs"]
mod support;

use serde_json::{Value, json};
use support::{Counter, registry, request, returns};
use toolfall::schema::{Schema, Violation};
use toolfall::{
    Arguments, BoxError, Pipeline, Registry, ToolContext, ToolOutcome, Validation, codes, raw_tool,
};

fn messages(violations: &[Violation]) -> Vec<&str> {
    violations.iter().map(Violation::message).collect()
}

/// What a call with `arguments` is told by a tool of `schema`.
fn of_arguments(schema: &Value, arguments: &Value) -> Vec<String> {
    let schema = Schema::compile(schema).unwrap();
    messages(&schema.argument_violations(arguments))
        .into_iter()
        .map(str::to_owned)
        .collect()
}

/// What is said of a value that a body returned.
fn of_value(schema: &Value, value: &Value) -> Vec<String> {
    let schema = Schema::compile(schema).unwrap();
    messages(&schema.violations("value", value))
        .into_iter()
        .map(str::to_owned)
        .collect()
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

/// conformance: ARGS-09, ARGS-10, ARGS-11, ARGS-13, ARGS-14, ARGS-16, ARGS-17, ARGS-18, ARGS-20,
/// ARGS-21, ARGS-22, ARGS-33, SCHEMA-20, SCHEMA-21, SCHEMA-22, SCHEMA-23, SCHEMA-24, SCHEMA-25,
/// JSON-18
#[test]
fn arguments_are_told_exactly_what_is_wrong() {
    let path = object(json!({"path": {"type": "string"}}), &["path"]);
    let config = object(
        json!({
            "config": object(json!({"host": {"type": "string"}, "port": {"type": "number"}}), &["host"]),
            "zone": {"type": "object"},
        }),
        &["config"],
    );
    let lists = object(
        json!({
            "tags": {"type": "array", "items": {"type": "string"}},
            "any": {"type": "array"},
            "servers": {"type": "array", "items": object(json!({"host": {"type": "string"}}), &["host"])},
        }),
        &[],
    );
    let kinds = object(
        json!({
            "s": {"type": "string"}, "n": {"type": "number"}, "b": {"type": "boolean"},
            "i": {"type": "integer"}, "x": {"type": "null"},
            "color": {"type": "string", "enum": ["red", "green"]}, "e": {"enum": [1, 2]},
            "c": {"const": "a"},
        }),
        &[],
    );
    let table: &[(&Value, Value, &[&str])] = &[
        (&path, json!({"path": "a"}), &[]),
        (&path, json!({"path": "a", "more": 1}), &[]),
        (&path, json!(null), &["\"arguments\" must be an object"]),
        (&path, json!("a"), &["\"arguments\" must be an object"]),
        (&path, json!(["a"]), &["\"arguments\" must be an object"]),
        (&path, json!({}), &["missing required property \"path\""]),
        (&path, json!({"path": null}), &["\"path\" must be a string"]),
        (
            &kinds,
            json!({"s": 1, "n": "1", "b": 0, "i": 1.5, "x": 1}),
            &[
                "\"b\" must be a boolean",
                "\"i\" must be an integer",
                "\"n\" must be a number",
                "\"s\" must be a string",
                "\"x\" must be null",
            ],
        ),
        (
            &kinds,
            json!({"color": "blue"}),
            &["\"color\" must be one of [\"red\",\"green\"]"],
        ),
        (&kinds, json!({"color": 1}), &["\"color\" must be a string"]),
        (&kinds, json!({"e": 3}), &["\"e\" must be one of [1,2]"]),
        (&kinds, json!({"e": 1.0, "i": 1.0}), &[]),
        (&kinds, json!({"c": "b"}), &["\"c\" must be \"a\""]),
        (
            &config,
            json!({"config": {"port": 9}, "zone": 5}),
            &[
                "missing required property \"config.host\"",
                "\"zone\" must be an object",
            ],
        ),
        (
            &config,
            json!({"config": {"host": "h"}, "zone": {"anything": [1]}}),
            &[],
        ),
        (
            &lists,
            json!({"tags": ["a", 1]}),
            &["\"tags[1]\" must be a string"],
        ),
        (&lists, json!({"tags": "a"}), &["\"tags\" must be an array"]),
        (&lists, json!({"any": [1, "a", null]}), &[]),
        (
            &lists,
            json!({"servers": [{"host": "a"}, {}]}),
            &["missing required property \"servers[1].host\""],
        ),
    ];
    for (schema, arguments, expected) in table {
        assert_eq!(of_arguments(schema, arguments), *expected, "{arguments}");
    }
}

/// conformance: ARGS-18, ARGS-23, ARGS-24, JSON-15, JSON-18, JSON-19, JSON-20, JSON-21, JSON-22,
/// JSON-24, JSON-26, JSON-27
#[allow(clippy::too_many_lines, reason = "one table")]
#[test]
fn values_are_told_exactly_what_is_wrong() {
    let mut file = object(
        json!({"file": {"type": "string"}, "nested": {
            "type": "object", "properties": {"line": {"type": "integer"}}, "required": ["line"],
            "additionalProperties": false,
        }}),
        &["file"],
    );
    let closed = json!({"type": "object", "additionalProperties": false, "required": ["z", "a"],
        "properties": {"a": {}, "m": {"type": "string"}, "toString": {}, "z": {}}});
    let letters = json!({"type": "string", "enum": ["a", "b"], "const": "a"});
    let either = json!({"oneOf": [{"type": "string"}, {"type": "number"}]});
    let numbers = json!({"oneOf": [{"type": "number"}, {"type": "integer"}]});
    let table: &[(Value, Value, &[&str])] = &[
        (
            json!({"type": "string"}),
            json!(1),
            &["\"value\" must be a string"],
        ),
        (
            json!({"type": "number"}),
            json!("1"),
            &["\"value\" must be a number"],
        ),
        (
            json!({"type": "integer"}),
            json!(1.5),
            &["\"value\" must be an integer"],
        ),
        (
            json!({"type": "boolean"}),
            json!(0),
            &["\"value\" must be a boolean"],
        ),
        (
            json!({"type": "null"}),
            json!(0),
            &["\"value\" must be null"],
        ),
        (
            json!({"type": "object"}),
            json!([]),
            &["\"value\" must be an object"],
        ),
        (
            json!({"type": "array"}),
            json!({}),
            &["\"value\" must be an array"],
        ),
        (
            json!({"type": "integer"}),
            json!(9_007_199_254_740_993_u64),
            &[],
        ),
        (json!({"type": "integer"}), json!(1000.0), &[]),
        (json!({"type": "integer"}), json!(-0.0), &[]),
        (json!({"type": "number"}), json!(-0.0), &[]),
        (json!({"enum": [1.0]}), json!(1), &[]),
        (json!({"const": 1}), json!(1.0), &[]),
        (
            letters.clone(),
            json!("c"),
            &["\"value\" must be one of [\"a\",\"b\"]"],
        ),
        (letters, json!("b"), &["\"value\" must be \"a\""]),
        (
            either,
            json!(null),
            &["\"value\" must match exactly one oneOf branch (matched 0)"],
        ),
        (
            numbers.clone(),
            json!(1),
            &["\"value\" must match exactly one oneOf branch (matched 2)"],
        ),
        (numbers, json!(1.5), &[]),
        (
            json!({"oneOf": [{}, true, {"type": "number"}, {"type": "string"}]}),
            json!(1),
            &["\"value\" must match exactly one oneOf branch (matched 3)"],
        ),
        (
            json!({"type": "array", "items": {"type": "integer"}}),
            json!([1, 1.5]),
            &["\"value[1]\" must be an integer"],
        ),
        (file.clone(), json!({"file": "f", "more": 1}), &[]),
        (
            file.clone(),
            json!({}),
            &["missing required property \"value.file\""],
        ),
        (
            file.take(),
            json!({"file": 1, "nested": {"extra": 1}}),
            &[
                "\"value.file\" must be a string",
                "missing required property \"value.nested.line\"",
                "\"value.nested.extra\" is not a declared property (additionalProperties: false)",
            ],
        ),
        // Missing ones in the order of `required`, then declared, then others.
        (
            closed.clone(),
            json!({"m": 1, "constructor": 1, "aa": 1}),
            &[
                "missing required property \"value.z\"",
                "missing required property \"value.a\"",
                "\"value.m\" must be a string",
                "\"value.aa\" is not a declared property (additionalProperties: false)",
                "\"value.constructor\" is not a declared property (additionalProperties: false)",
            ],
        ),
        (closed, json!({"a": 1, "z": 1}), &[]),
        (
            object(json!({"toString": {}}), &["toString"]),
            json!({}),
            &["missing required property \"value.toString\""],
        ),
    ];
    for (schema, value, expected) in table {
        assert_eq!(of_value(schema, value), *expected, "{schema} {value}");
    }
    for value in [
        json!(null),
        json!(true),
        json!(1),
        json!("x"),
        json!([1]),
        json!({"x": null}),
    ] {
        assert_eq!(of_value(&json!({}), &value), [""; 0], "{value}");
    }
}

#[test]
fn a_plain_text_schema_says_what_the_compiled_one_says() {
    let plain = Schema::compile(&json!({"type": "string", "description": "a text"})).unwrap();
    let compiled = Schema::compile(&json!({"type": "string", "minLength": 0})).unwrap();
    let long = json!(vec!["much text"; 200]);
    for value in [
        json!("a"),
        json!(1),
        json!(null),
        json!({"a": ["\u{1b}"]}),
        long,
    ] {
        for root in ["value", "", "arguments"] {
            assert_eq!(
                plain.violations(root, &value),
                compiled.violations(root, &value)
            );
        }
        assert_eq!(
            plain.argument_violations(&value),
            compiled.argument_violations(&value)
        );
        assert_eq!(plain.is_valid(&value), compiled.is_valid(&value));
    }
}

/// What a model sent is quoted briefly and harmlessly, however it is made.
#[test]
fn names_and_values_of_a_model_are_quoted_with_care() {
    let schema = Schema::compile(&json!({
        "type": "object", "properties": {"list": {"type": "array", "items": {"type": "string"}}},
        "additionalProperties": false,
    }))
    .unwrap();
    let mut hostile = serde_json::Map::new();
    hostile.insert("\u{1b}[2Jcleared\u{202e}".to_owned(), json!(1));
    for number in 0..5_000 {
        hostile.insert(
            format!("{number}{}", "n".repeat(500)),
            json!("v".repeat(100)),
        );
    }
    let violations = schema.argument_violations(&Value::Object(hostile));
    assert_eq!(violations.len(), toolfall::schema::MAX_VIOLATIONS);
    let clear = schema.argument_violations(&json!({"\u{1b}[2Jcleared\u{202e}": 1}));
    assert_eq!(
        messages(&clear),
        [r#""\u{1b}[2Jcleared\u{202e}" is not a declared property (additionalProperties: false)"#]
    );
    let deep = schema.argument_violations(&json!({"list": ["a", {"\u{9b}": "\u{7f}"}]}));
    assert_eq!(deep[0].found(), r#"{"\u{9b}":"\u{7f}"}"#);
    assert_eq!((deep[0].pointer(), deep[0].keyword()), ("/list/1", "type"));
    for violation in violations.iter().chain(&clear).chain(&deep) {
        for text in [violation.message(), violation.found()] {
            assert!(text.chars().count() < 300, "{text}");
            assert!(
                !text.contains(|c: char| c.is_control() || c == '\u{202e}'),
                "{text:?}"
            );
        }
    }
    assert!(
        violations[0].found().ends_with('…'),
        "{}",
        violations[0].found()
    );
}

/// conformance: ARGS-25, ARGS-26, ARGS-27, SCHEMA-29
#[tokio::test]
async fn refused_arguments_pass_every_stage_but_the_body() {
    let runs = Counter::default();
    let stages = support::Log::<String>::default();
    let [pre, guard, around, post] = std::array::from_fn(|_| stages.clone());
    let tools = {
        let runs = runs.clone();
        let schema = object(
            json!({"a": {"type": "string"}, "b": {"type": "string"}}),
            &["a", "b"],
        );
        raw_tool(
            "strict",
            "Wants a and b",
            schema,
            move |_: Arguments, _: ToolContext| {
                runs.add();
                async { Ok::<Value, BoxError>("ran".into()) }
            },
        )
    };
    let pipeline = Pipeline::builder(registry([tools]))
        .pre_decision(move |_: &toolfall::CallView| {
            pre.push("pre");
            toolfall::Decision::Allow
        })
        .guard(move |_: &toolfall::CallView| -> Option<toolfall::Denial> {
            guard.push("guard");
            None
        })
        .around(tower::util::MapRequestLayer::new(
            move |call: toolfall::ClearedCall| {
                around.push("around");
                call
            },
        ))
        .post_execute(move |_: &toolfall::PostRequest| {
            post.push("post");
            toolfall::PostDecision::accept()
        })
        .build();
    let result = pipeline.run(request("strict", "{\"b\":1}")).await;
    let message = "invalid arguments: missing required property \"a\"; \"b\" must be a string";
    assert_eq!(result.message(), Some(message));
    assert_eq!(
        result.content()[0].as_text(),
        Some(&*format!("Error: {message}"))
    );
    let info = result.info().unwrap();
    assert_eq!(
        (info.name(), info.code()),
        ("ToolArgsError", codes::INVALID_ARGS)
    );
    let notes = "at \"\" (required): found {\"b\":1}\nat \"/b\" (type): found 1";
    assert_eq!(result.content()[1].as_text(), Some(notes));
    assert_eq!(runs.get(), 0);
    assert_eq!(stages.take(), ["pre", "guard", "around", "post"]);

    let result = pipeline.run(request("strict", r#"{"a":"","b":""}"#)).await;
    assert_eq!((result.text(), runs.get()), ("ran".to_owned(), 1));

    let built = ToolOutcome::invalid_arguments(&["first", "second"]);
    assert_eq!(built.message(), Some("invalid arguments: first; second"));
    assert_eq!(built.code(), Some("INVALID_ARGS"));
}

/// conformance: ARGS-15, SCHEMA-19
#[tokio::test]
async fn a_default_is_told_and_never_filled_in() {
    let schema = object(
        json!({"path": {"type": "string"}, "limit": {"type": "number", "default": 10}}),
        &["path"],
    );
    let tool = raw_tool(
        "read",
        "Reads",
        schema.clone(),
        |arguments: Arguments, _: ToolContext| async move {
            Ok::<Value, BoxError>(arguments.value().clone())
        },
    );
    let registry = registry([tool]);
    assert_eq!(registry.schemas(None)[0].parameters, schema);
    let pipeline = Pipeline::builder(registry).build();
    for sent in [
        json!({"path": "a"}),
        json!({"path": "a", "limit": 1}),
        json!({"path": "a", "extra": 1}),
    ] {
        let result = pipeline.run(request("read", sent.to_string())).await;
        assert_eq!(result.value(), Some(&sent));
    }
}

/// Malformed text is answered, and the record keeps it.
#[tokio::test]
async fn text_that_is_no_json_reaches_only_tools_that_take_text() {
    let runs = Counter::default();
    let strict = returns("strict", "ran".into(), &runs);
    let free = raw_tool(
        "free",
        "Takes text",
        json!({}),
        |arguments: Arguments, _: ToolContext| async move {
            Ok::<Value, BoxError>(arguments.value().clone())
        },
    )
    .validation(Validation::FreeText);
    let pipeline = Pipeline::builder(registry([strict, free])).build();

    let result = pipeline.run(request("strict", "not \u{1b}json")).await;
    assert_eq!(
        result.message(),
        Some("invalid arguments: \"arguments\" must be an object")
    );
    let note = result.content()[1].as_text().unwrap();
    assert!(note.starts_with("The arguments are no JSON: "), "{note}");
    assert!(note.ends_with("Found: not \\u{1b}json"), "{note}");
    assert_eq!(runs.get(), 0);

    let result = pipeline.run(request("free", "not json")).await;
    assert_eq!(result.value(), Some(&json!("not json")));
}

/// conformance: SCHEMA-31
#[tokio::test]
async fn what_a_schema_cannot_say_the_body_says_without_a_code() {
    let tool = raw_tool(
        "say",
        "Says",
        json!({"type": "object"}),
        |arguments: Arguments, _: ToolContext| async move {
            match arguments.value()["text"].as_str() {
                Some(text) if !text.trim().is_empty() => Ok(Value::from(text)),
                _ => Err("expected a text that is not blank"),
            }
        },
    );
    let pipeline = Pipeline::builder(registry([tool])).build();
    let result = pipeline.run(request("say", r#"{"text":" "}"#)).await;
    assert_eq!(result.message(), Some("expected a text that is not blank"));
    assert_eq!(result.info(), None);
}

/// conformance: EXEC-55
#[tokio::test]
async fn a_raw_tool_takes_any_root_that_its_schema_takes() {
    let tool = raw_tool(
        "any",
        "Takes any",
        json!({}),
        |arguments: Arguments, _: ToolContext| async move {
            Ok::<Value, BoxError>(json!({ "got": arguments.value() }))
        },
    );
    let registry: Registry = registry([tool]);
    let pipeline = Pipeline::builder(registry).build();
    for sent in ["1", "\"a\"", "[1,2]", "true", "1.5"] {
        let result = pipeline.run(request("any", sent)).await;
        let sent: Value = serde_json::from_str(sent).unwrap();
        assert_eq!(result.value(), Some(&json!({ "got": sent })));
    }
}
