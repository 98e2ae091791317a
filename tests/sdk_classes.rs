//! Objects as classes of Python.

use serde_json::{Value, json};
use toolfall::sdk::{Language, Sdk, ToolDeclaration};

fn declared(tools: &[ToolDeclaration]) -> String {
    Sdk::new(Language::Python).declarations(tools)
}

fn tool(name: &str, parameters: Value) -> ToolDeclaration {
    ToolDeclaration::new(name, "", parameters)
}

/// A closed object of `fields`, all of them required.
fn object(fields: &[(&str, Value)]) -> Value {
    let map = |(name, value): &(&str, Value)| ((*name).to_owned(), value.clone());
    let properties: serde_json::Map<_, _> = fields.iter().map(map).collect();
    let required: Vec<_> = fields.iter().map(|(name, _)| *name).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn flag() -> Value {
    object(&[("on", json!({"type": "boolean"}))])
}

/// The names of the classes, in order.
fn classes(text: &str) -> Vec<&str> {
    let names = text.lines().filter_map(|line| line.strip_prefix("class "));
    names
        .filter_map(|line| line.strip_suffix("(TypedDict):"))
        .collect()
}

/// Lines that are in `text`, one after the other.
#[track_caller]
fn assert_lines(text: &str, lines: &str) {
    let text = format!("\n{text}");
    assert!(text.contains(&format!("\n{lines}\n")), "{lines}\n---{text}");
}

/// conformance: SDK-17
#[test]
fn fields_are_required_or_not() {
    let schema = json!({
        "type": "object",
        "properties": {
            "limit": {"type": "number"},
            "query": {"type": "string", "description": "What to search for."},
        },
        "required": ["query"],
        "additionalProperties": false,
    });
    let search = tool("search", schema).output(json!({"type": "string"}));
    let text = declared(&[search]);
    assert_lines(
        &text,
        "class SearchArgs(TypedDict):\n    # What to search for.\n    query: str\n    \
         limit: NotRequired[float]\n",
    );
    assert_lines(
        &text,
        "    async def search(self, args: SearchArgs) -> str: ...",
    );
    assert_lines(&text, "from typing import NotRequired, Protocol, TypedDict");

    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "array"}},
        "additionalProperties": false,
    });
    let text = declared(&[tool("t", schema).output(json!({"type": "null"}))]);
    assert_lines(
        &text,
        "    a: NotRequired[str]\n    b: NotRequired[list[Any]]",
    );
    assert_lines(
        &text,
        "from typing import Any, NotRequired, Protocol, TypedDict",
    );

    let mode = object(&[("mode", json!({"enum": ["fast", "slow"]}))]);
    let text = declared(&[tool("t", mode)]);
    assert_lines(&text, "    mode: Literal[\"fast\", \"slow\"]");
    assert_lines(
        &text,
        "from typing import Any, Literal, Protocol, TypedDict",
    );
}

/// conformance: SDK-18
#[test]
fn a_class_follows_those_that_it_names() {
    let phase = object(&[("title", json!({"type": "string"}))]);
    let meta = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "phases": {"type": "array", "items": phase},
        },
        "required": ["name"],
        "additionalProperties": false,
    });
    let text = declared(&[tool("workflow", object(&[("meta", meta)]))]);
    assert_eq!(
        classes(&text),
        ["WorkflowArgsMetaPhases", "WorkflowArgsMeta", "WorkflowArgs"]
    );
    assert!(text.find("class WorkflowArgs(") < text.find("class Tools("));
    assert_lines(&text, "    meta: WorkflowArgsMeta");
    assert_lines(
        &text,
        "    phases: NotRequired[list[WorkflowArgsMetaPhases]]",
    );
}

/// conformance: SDK-19
#[test]
fn branches_of_a_union_are_numbered() {
    let union = json!({"oneOf": [flag(), object(&[("off", json!({"type": "null"}))])]});
    let text = declared(&[
        tool("act", json!({"type": "object"})).output(union.clone()),
        tool("x", union),
    ]);
    assert!(text.contains("-> ActOutput1 | ActOutput2: ..."), "{text}");
    assert!(text.contains("args: XArgs1 | XArgs2)"), "{text}");
    assert_eq!(
        classes(&text),
        ["ActOutput1", "ActOutput2", "XArgs1", "XArgs2"]
    );
    assert!(text.find("class XArgs2(") < text.find("class Tools("));

    let text = declared(&[tool("x", json!({"oneOf": [flag(), {"type": "null"}]}))]);
    assert!(text.contains("args: XArgs | None)"), "{text}");
}

/// conformance: SDK-20
#[test]
fn open_and_empty_objects_are_classes() {
    let open = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let text = declared(&[tool("a", open), tool("b", object(&[]))]);
    assert_lines(
        &text,
        "class AArgs(TypedDict):\n    a: NotRequired[str]\n    \
         # Additional keys beyond those declared are allowed.\n",
    );
    assert_lines(&text, "class BArgs(TypedDict):\n    pass\n");
    assert!(text.contains("args: BArgs)"), "{text}");
}

/// conformance: SDK-21, SDK-22
#[test]
fn fields_that_are_no_names_make_a_dictionary() {
    for field in [
        "a-b",
        "class",
        "None",
        "__token",
        "__debug__",
        "\u{fb01}eld",
        "",
        "1a",
        "a b",
    ] {
        let inner = object(&[("fine", json!({"type": "string"})), (field, flag())]);
        let text = declared(&[tool("t", object(&[("inner", inner)]))]);
        assert_lines(
            &text,
            "class TArgs(TypedDict):\n    inner: dict[str, Any]\n",
        );
        assert_eq!(classes(&text), ["TArgs"], "{field}");
        assert!(!text.contains("fine"), "{text}");
    }
    let fields =
        ["match", "case", "type", "_", "__meta__"].map(|name| (name, json!({"type": "null"})));
    let text = declared(&[tool("t", object(&fields))]);
    assert_lines(
        &text,
        "    match: None\n    case: None\n    type: None\n    _: None\n    __meta__: None",
    );
    let text = declared(&[tool(
        "搜索",
        object(&[("路径", flag()), ("深度", json!({"type": "integer"}))]),
    )]);
    assert_lines(
        &text,
        "class 搜索Args(TypedDict):\n    路径: 搜索Args路径\n    深度: int\n",
    );
    assert!(
        text.contains("    async def 搜索(self, args: 搜索Args)"),
        "{text}"
    );
    let text = declared(&[tool("搜索", object(&[("opts", flag())]))]);
    assert_eq!(classes(&text), ["搜索ArgsOpts", "搜索Args"]);
}
