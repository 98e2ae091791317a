//! Tools declared in TypeScript.

use std::fmt::Write as _;

use serde_json::{Value, json};
use toolfall::sdk::typescript::type_of;
use toolfall::sdk::{Language, Sdk, ToolDeclaration};

fn tool(name: &str, parameters: Value) -> ToolDeclaration {
    ToolDeclaration::new(name, "", parameters)
}

/// `levels` unions in each other, each with null.
fn nullable(levels: usize) -> Value {
    let mut schema = json!({"type": "string"});
    for _ in 0..levels {
        let branches = Value::Array(vec![schema, json!({"type": "null"})]);
        schema = Value::Object([("oneOf".to_owned(), branches)].into_iter().collect());
    }
    schema
}

/// conformance: SDK-01
#[test]
fn scalars_and_literals() {
    for (schema, expected) in [
        (json!({"type": "string"}), "string"),
        (json!({"type": "number"}), "number"),
        (json!({"type": "integer"}), "number"),
        (json!({"type": "boolean"}), "boolean"),
        (json!({"type": "null"}), "null"),
        (
            json!({"type": "string", "enum": ["a", "b"]}),
            r#""a" | "b""#,
        ),
        (json!({"type": "integer", "enum": [1, 2]}), "1 | 2"),
        (
            json!({"type": "string", "enum": ["a", "b"], "const": "b"}),
            r#""b""#,
        ),
        (json!({"const": true}), "true"),
        (json!({"enum": [null, 1.5, -1]}), "null | 1.5 | -1"),
    ] {
        assert_eq!(type_of(&schema), expected, "{schema}");
    }
}

/// conformance: SDK-02
#[test]
fn unions_and_arrays() {
    let number = json!({"type": "number"});
    let choice = json!({"type": "string", "enum": ["x", "y"]});
    let open = json!({"type": "object", "properties": {"a": number}});
    for (schema, expected) in [
        (
            json!({"oneOf": [{"type": "string"}, {"type": "null"}]}),
            "string | null",
        ),
        (json!({"type": ["string", "null"]}), "string | null"),
        (json!({"type": "array", "items": number}), "number[]"),
        (
            json!({"type": "array", "items": choice}),
            r#"("x" | "y")[]"#,
        ),
        (
            json!({"type": "array", "items": open}),
            "({\n  a?: number;\n} & Record<string, JsonValue>)[]",
        ),
        (json!({"type": "array"}), "JsonValue[]"),
        (json!({}), "JsonValue"),
        (json!(true), "JsonValue"),
        (json!(false), "never"),
    ] {
        assert_eq!(type_of(&schema), expected, "{schema}");
    }
}

/// conformance: SDK-03
#[test]
fn objects() {
    for (schema, expected) in [
        (json!({"type": "object"}), "Record<string, JsonValue>"),
        (
            json!({"type": "object", "properties": {}}),
            "Record<string, JsonValue>",
        ),
        (
            json!({"type": "object", "properties": {}, "additionalProperties": false}),
            "Record<string, never>",
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            "Record<string, string>",
        ),
        (
            json!({
                "type": "object",
                "properties": {"id": {"type": "integer"}, "label": {"type": "string"}},
                "required": ["id"],
                "additionalProperties": false,
            }),
            "{\n  id: number;\n  label?: string;\n}",
        ),
        (
            json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Absolute file path"},
                    "limit": {"type": "integer"},
                    "opts": {
                        "type": "object",
                        "properties": {"deep": {"type": "boolean"}},
                        "required": ["deep"],
                    },
                },
                "required": ["path"],
            }),
            "{\n  /** Absolute file path */\n  path: string;\n  limit?: number;\n  opts?: {\n    \
             deep: boolean;\n  } & Record<string, JsonValue>;\n} & Record<string, JsonValue>",
        ),
    ] {
        assert_eq!(type_of(&schema), expected, "{schema}");
    }
}

/// conformance: SDK-04
#[test]
fn what_is_no_schema_is_unknown_as_a_whole() {
    for part in [
        json!({"type": "tuple"}),
        json!({"type": []}),
        json!({"enum": []}),
        json!({"oneOf": []}),
        json!({"anyOf": "string"}),
        json!({"type": "array", "items": 5}),
        json!({"type": "object", "properties": []}),
        json!({"type": "object", "required": "a"}),
        json!({"type": "object", "additionalProperties": 1}),
        json!({"$ref": "https://example.com/schema"}),
        json!({"$ref": "#/$defs/missing"}),
        json!("string"),
        Value::Null,
    ] {
        assert_eq!(type_of(&part), "unknown", "{part}");
        let whole =
            json!({"type": "object", "properties": {"a": {"type": "array", "items": part}}});
        assert_eq!(type_of(&whole), "unknown", "{part}");
    }
}

/// conformance: SDK-05
#[test]
fn a_description_ends_no_comment() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "null", "description": "ends */ here\n\n and\tthere\u{2028}*/"}},
        "additionalProperties": false,
    });
    let expected = "{\n  /** ends *\\/ here and there *\\/ */\n  a?: null;\n}";
    assert_eq!(type_of(&schema), expected);
}

/// conformance: SDK-06
#[test]
fn a_union_of_any_depth_is_flat() {
    let schema = nullable(5_000);
    let text = type_of(&schema);
    assert!(text.starts_with("string | null"));
    assert_eq!(text.len(), 6 + 7 * 5_000);
    // Dropping such a value recurses.
    std::mem::forget(schema);
}

/// conformance: SDK-07
#[test]
fn tools_are_declared_in_their_order() {
    let tools = [
        tool("my-mcp.tool", json!({"type": "object"})),
        ToolDeclaration::new(
            "bash",
            "Runs a command.",
            json!({
                "type": "object",
                "properties": {"command": {"type": "string"}},
                "required": ["command"],
                "additionalProperties": false,
            }),
        )
        .output(json!({"type": "string"})),
    ];
    let text = Sdk::new(Language::TypeScript).render(&tools);
    for part in [
        "\n```typescript\n",
        "interface ToolArgsMap {\n  /** Runs a command. */\n  bash: {\n    command: string;\n  };\n  \
         \"my-mcp.tool\": Record<string, JsonValue>;\n}\n",
        "interface ToolOutputMap {\n  bash: string;\n  \"my-mcp.tool\": JsonValue;\n}\n",
        "type ToolName = keyof ToolOutputMap",
        "declare class ToolCallError extends Error",
        "readonly toolName: ToolName;",
        "declare const tools: {",
        "[K in ToolName]: (args: ToolArgsMap[K]) => Promise<ToolOutputMap[K]>;",
        "type JsonValue = null | boolean | number | string",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn references_are_followed_and_what_leads_back_is_any_json() {
    let schema = json!({
        "$defs": {
            "Node": {
                "type": "object",
                "properties": {"value": {"type": "string"}, "next": {"$ref": "#/$defs/Node"}},
                "required": ["value"],
                "additionalProperties": false,
            },
        },
        "allOf": [{"$ref": "#/$defs/Node"}],
    });
    assert_eq!(
        type_of(&schema),
        "{\n  value: string;\n  next?: JsonValue;\n}"
    );
    let loops = json!({"$ref": "#"});
    assert_eq!(type_of(&loops), "JsonValue");
}

#[test]
fn definitions_that_double_stay_short() {
    let mut defs = serde_json::Map::new();
    let leaf = json!({"type": "string", "description": "x".repeat(1_000)});
    defs.insert("d0".to_owned(), leaf);
    for level in 1..31 {
        let below = json!({"$ref": format!("#/$defs/d{}", level - 1)});
        let both = json!({"type": "object", "properties": {"a": below, "b": below}});
        defs.insert(format!("d{level}"), both);
    }
    let schema = json!({"$defs": defs, "$ref": "#/$defs/d30"});
    for text in [
        type_of(&schema),
        Sdk::new(Language::Python).declarations(&[tool("t", schema)]),
    ] {
        assert!(text.len() < 4 << 20, "{}", text.len());
    }
}

#[test]
fn lists_and_objects_of_any_depth_end_somewhere() {
    let (mut lists, mut objects) = (json!({}), json!({}));
    for _ in 0..20_000 {
        let wrap = |pairs: [(&str, Value); 2]| {
            let pairs = pairs.map(|(name, value)| (name.to_owned(), value));
            Value::Object(pairs.into_iter().collect())
        };
        lists = wrap([("type", json!("array")), ("items", lists)]);
        let fields = wrap([("a", objects), ("b", json!({}))]);
        objects = wrap([("type", json!("object")), ("properties", fields)]);
    }
    let mut expected = "JsonValue".to_owned();
    for _ in 0..180 {
        let _ = write!(expected, "[]");
    }
    assert_eq!(type_of(&lists), expected);
    let text = type_of(&objects);
    assert_eq!(text.matches("a?: ").count(), 180);
    assert!(text.len() < 180 * 180 * 5 + 180 * 100);
    std::mem::forget((lists, objects));
}
