//! Definitions of strangers: taken, or quarantined with the place of the fault.

#[path = "support/mcp_tool.rs"]
mod support;

use proptest::prelude::*;
use serde_json::{Value, json};
use support::{Fake, definition, parsed, run};
use toolfall::Registry;
use toolfall::mcp::tool::{McpTool, ToolOptions};

fn empty() -> Fake {
    Fake::answering(json!({"content": []}))
}

#[test]
fn what_cannot_be_used_is_quarantined_with_its_place() {
    let with = |field: &str, value: Value| {
        let mut changed = definition("raw");
        changed[field] = value;
        changed
    };
    let long = "x".repeat(1025);
    let deep = (0..100).fold(json!({}), |inner, _| json!({"properties": {"a": inner}}));
    let big = "x".repeat(300 * 1024);
    for (definition, pointer) in [
        (json!(null), ""),
        (json!([definition("raw")]), ""),
        (json!({"inputSchema": {"type": "object"}}), "/name"),
        (with("name", json!(5)), "/name"),
        (with("name", json!("")), "/name"),
        (with("name", json!(long)), "/name"),
        (with("name", json!("a\nb")), "/name"),
        (with("description", json!(["Does it"])), "/description"),
        (with("title", json!({})), "/title"),
        (with("annotations", json!([])), "/annotations"),
        (
            with("annotations", json!({"title": 1})),
            "/annotations/title",
        ),
        (with("execution", json!("required")), "/execution"),
        (json!({"name": "raw"}), "/inputSchema"),
        (with("inputSchema", json!("object")), "/inputSchema"),
        (with("inputSchema", json!(true)), "/inputSchema"),
        (with("inputSchema", json!({})), "/inputSchema/type"),
        (
            with("inputSchema", json!({"type": "array"})),
            "/inputSchema/type",
        ),
        (
            with("inputSchema", json!({"type": ["object"]})),
            "/inputSchema/type",
        ),
        (
            with(
                "inputSchema",
                json!({"type": "object", "properties": {"a": {"type": "strin"}}}),
            ),
            "/inputSchema/properties/a/type",
        ),
        (
            with(
                "inputSchema",
                json!({"type": "object", "$schema": "http://example.test/mine"}),
            ),
            "/inputSchema/$schema",
        ),
        (
            with(
                "inputSchema",
                json!({"type": "object", "not": {"$ref": "file:///etc/passwd"}}),
            ),
            "/inputSchema",
        ),
        (
            with("inputSchema", json!({"type": "object", "not": deep})),
            "",
        ),
        (
            with("inputSchema", json!({"type": "object", "title": big})),
            "/inputSchema",
        ),
        (with("description", json!("x".repeat(2 * 1024 * 1024))), ""),
        (
            with("$serde_json::private::Number", json!("1")),
            "/$serde_json::private::Number",
        ),
    ] {
        let shown = definition.to_string().chars().take(100).collect::<String>();
        let quarantine = McpTool::parse("srv", definition).unwrap_err();
        assert!(
            quarantine.pointer().starts_with(pointer),
            "{shown}: {quarantine}"
        );
        if pointer.is_empty() {
            continue;
        }
        assert_eq!(quarantine.pointer(), pointer, "{shown}: {quarantine}");
        assert!(!quarantine.reason().is_empty());
        let is_named = quarantine.tool() == Some("raw");
        assert!(is_named || pointer == "/name", "{quarantine}");
    }
}

/// A definition may be as deep as a line is long.
#[test]
fn a_definition_of_any_depth_is_read_without_stack() {
    for field in [
        "inputSchema",
        "outputSchema",
        "description",
        "_meta",
        "more",
    ] {
        let mut deep = Value::Null;
        for level in 0..100_000 {
            deep = if level % 2 == 0 {
                Value::Array(vec![deep])
            } else {
                Value::Object([("not".to_owned(), deep)].into_iter().collect())
            };
        }
        // Indexing would copy nothing, but a failed assertion would print it.
        let Value::Object(mut fields) = definition("raw") else {
            unreachable!()
        };
        fields.insert(field.to_owned(), deep);
        let quarantine = McpTool::parse("srv", Value::Object(fields)).unwrap_err();
        assert_eq!(quarantine.tool(), Some("raw"));
        assert!(quarantine.to_string().len() < 1000, "{quarantine}");
    }
}

#[test]
fn a_large_definition_is_no_reason_to_refuse() {
    let properties: serde_json::Map<String, Value> = (0..1000)
        .map(|at| {
            let text = format!("What the parameter of the number {at} is good for, at length");
            (
                format!("parameter_{at}"),
                json!({"type": "string", "description": text}),
            )
        })
        .collect();
    let mut large = definition("raw");
    large["inputSchema"]["properties"] = Value::Object(properties);
    assert!(large.to_string().len() > 104 * 1024);
    let registry = Registry::new();
    registry
        .register(parsed(large).into_tool(ToolOptions::new(), empty()))
        .unwrap()
        .keep();
}

#[test]
fn what_a_server_says_of_itself_is_kept() {
    let mut full = definition("admin.reset");
    full["annotations"] = json!({"title": "Reset"});
    let tool = parsed(full.clone());
    assert_eq!((tool.server(), tool.raw_name()), ("srv", "admin.reset"));
    assert_eq!(tool.public_name(), "mcp__srv__admin_reset_3b185f786768");
    assert_eq!(
        (tool.title(), tool.description()),
        (Some("Reset"), "Does it")
    );
    full["title"] = json!("Reset all");
    full["description"] = Value::Null;
    let tool = parsed(full);
    assert_eq!((tool.title(), tool.description()), (Some("Reset all"), ""));
    // Some providers want properties, even none.
    let def = tool.into_tool(ToolOptions::new(), empty());
    assert_eq!(
        def.parameters(),
        &json!({"type": "object", "properties": {}})
    );
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop_oneof!["[a-z]{0,6}", "\\PC{0,6}", Just("object".to_owned())].prop_map(Value::from),
    ];
    let keywords = prop_oneof![
        Just("type"),
        Just("properties"),
        Just("$ref"),
        Just("items"),
        Just("required"),
        Just("content"),
        Just("text"),
        Just("data"),
        Just("mimeType"),
        Just("uri"),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((keywords.clone(), inner), 0..4).prop_map(|fields| fields
                .into_iter()
                .map(|(name, it)| (name.to_owned(), it))
                .collect()),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_stands_in_a_definition_is_taken_or_quarantined(
        field in prop_oneof![
            Just("name"), Just("description"), Just("title"), Just("inputSchema"),
            Just("outputSchema"), Just("annotations"), Just("execution"), Just("_meta"),
        ],
        value in anything(),
    ) {
        let mut odd = definition("raw");
        odd[field] = value;
        match McpTool::parse("srv", odd) {
            Ok(tool) => {
                let def = tool.into_tool(ToolOptions::new(), empty());
                prop_assert!(Registry::new().register(def).is_ok());
            }
            Err(quarantine) => prop_assert!(!quarantine.reason().is_empty()),
        }
    }

    #[test]
    fn whatever_is_answered_ends_in_one_result(
        field in prop_oneof![
            Just("content"), Just("structuredContent"), Just("isError"), Just("toolResult"),
            Just("task"), Just("_meta"),
        ],
        block in prop_oneof![
            Just("text"), Just("image"), Just("audio"), Just("resource"), Just("resource_link"),
        ],
        value in anything(),
        native in any::<bool>(),
    ) {
        let mut answer = json!({"content": [{"type": block, "text": value, "data": value}]});
        answer[field] = value;
        let options = ToolOptions::new();
        let options = if native { options.native_content() } else { options };
        let def = parsed(definition("raw")).into_tool(options, Fake::answering(answer));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let result = runtime.block_on(run(def));
        prop_assert_eq!(result.is_error(), result.value().is_none());
        prop_assert!(native || !result.content().is_empty());
    }
}
