//! Tools declared in Python: types, classes and methods.

use serde_json::{Value, json};
use toolfall::sdk::python::type_of;
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

/// conformance: SDK-10, SDK-11
#[test]
fn scalars_literals_and_containers() {
    let dict = object(&[("a", json!({}))]);
    for (schema, expected) in [
        (json!({"type": "string"}), "str"),
        (json!({"type": "number"}), "float"),
        (json!({"type": "integer"}), "int"),
        (json!({"type": "boolean"}), "bool"),
        (json!({"type": "null"}), "None"),
        (json!({"enum": ["a", "b"]}), r#"Literal["a", "b"]"#),
        (json!({"const": true}), "Literal[True]"),
        (json!({"const": 1.5}), "Literal[1.5]"),
        (
            json!({"type": "array", "items": {"type": "number"}}),
            "list[float]",
        ),
        (
            json!({"type": "array", "items": {"enum": ["x", "y"]}}),
            r#"list[Literal["x", "y"]]"#,
        ),
        (json!({"type": "array"}), "list[Any]"),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            "str | None",
        ),
        (json!({"type": "object"}), "dict[str, Any]"),
        (
            json!({"type": "object", "additionalProperties": {"type": "integer"}}),
            "dict[str, int]",
        ),
        (json!({}), "Any"),
        (dict.clone(), "dict[str, Any]"),
        (
            json!({"oneOf": [dict, {"type": "null"}]}),
            "dict[str, Any] | None",
        ),
        (
            json!({"type": "array", "items": dict}),
            "list[dict[str, Any]]",
        ),
    ] {
        assert_eq!(type_of(&schema), expected, "{schema}");
    }
}

/// conformance: SDK-12
#[test]
fn what_is_no_schema_is_any_at_its_place_alone() {
    assert_eq!(type_of(&json!({"type": "tuple"})), "Any");
    let bad = object(&[("good", flag()), ("bad", json!({"enum": []}))]);
    let text = declared(&[
        tool("a", bad.clone()).output(flag()),
        tool("b", flag()).output(bad),
    ]);
    assert_lines(
        &text,
        "    async def a(self, args: Any) -> AOutput: ...\n    \
         async def b(self, args: BArgs) -> Any: ...",
    );
    assert_eq!(classes(&text), ["AOutput", "BArgs"]);
}

/// conformance: SDK-13
#[test]
fn strings_are_quoted_as_in_json() {
    for (text, expected) in [
        ("a\0b", r#"Literal["a\u0000b"]"#),
        ("say \"hi\"\n", r#"Literal["say \"hi\"\n"]"#),
        ("ends\\", r#"Literal["ends\\"]"#),
        ("\u{85}", "Literal[\"\u{85}\"]"),
        ("\u{2028}", "Literal[\"\u{2028}\"]"),
        ("\u{2029}", "Literal[\"\u{2029}\"]"),
    ] {
        assert_eq!(type_of(&json!({"const": text})), expected);
    }
}

/// conformance: SDK-14
#[test]
fn integers_have_all_their_digits() {
    for (schema, expected) in [
        (json!({"const": 1_i64 << 60}), "1152921504606846976"),
        (json!({"const": -(1_i64 << 60)}), "-1152921504606846976"),
        (
            json!({"type": "integer", "const": 1e21}),
            "1000000000000000000000",
        ),
        (
            json!({"type": "number", "const": 1e21}),
            "1000000000000000000000",
        ),
        (json!({"const": (1_i64 << 53) - 1}), "9007199254740991"),
        (json!({"const": 1e-7}), "1e-7"),
        (json!({"const": -1.25e-9}), "-1.25e-9"),
        (json!({"const": 1e-6}), "0.000001"),
        (json!({"const": -0.0}), "0"),
        (json!({"const": u64::MAX}), "18446744073709551615"),
    ] {
        assert_eq!(type_of(&schema), format!("Literal[{expected}]"));
    }
}

/// conformance: SDK-33, SDK-34
#[test]
fn tools_are_methods_or_comments_in_one_order() {
    let described = |name: &str, text: &str| ToolDeclaration::new(name, text, flag());
    let tools = [
        described("zoo", ""),
        described("b-c", " Does\nit. "),
        described("a", "First."),
        described("d.e", "\n\t "),
        described("blank", " \u{a0}\u{feff} "),
    ];
    let text = Sdk::new(Language::Python).render(&tools);
    assert!(text.contains("\n```python\n"), "{text}");
    assert_lines(&text, "class ToolCallError(Exception):");
    assert_lines(
        &text,
        "class Tools(Protocol):
    async def a(self, args: AArgs) -> Any:
        \"\"\"First.\"\"\"
    # tools[\"b-c\"](args: BCArgs) -> Any
    #   Does it.
    async def blank(self, args: BlankArgs) -> Any: ...
    # tools[\"d.e\"](args: DEArgs) -> Any
    async def zoo(self, args: ZooArgs) -> Any: ...

tools: Tools",
    );
    let text = declared(&tools[1..2]);
    assert_lines(
        &text,
        "class Tools(Protocol):\n    pass\n    # tools[\"b-c\"](args: BCArgs) -> Any\n    #   Does it.",
    );
}

/// conformance: SDK-35, SDK-36
#[test]
fn descriptions_are_escaped() {
    for (description, docstring, comment) in [
        (
            "ends in a quote\"",
            r#"ends in a quote\""#,
            "ends in a quote\"",
        ),
        (
            "ends in a backslash\\",
            r"ends in a backslash\\",
            r"ends in a backslash\",
        ),
        (r#"a """ b"#, r#"a \"\"\" b"#, r#"a """ b"#),
        ("before\0after", r"before\\x00after", r"before\x00after"),
        ("\u{7}\u{1b}[0m", r"\\x07\\x1b[0m", r"\x07\x1b[0m"),
        (
            "a\u{7f}b\u{85}c\u{9b}d",
            r"a\\x7fb\\x85c\\x9bd",
            r"a\x7fb\x85c\x9bd",
        ),
        (
            "a\tb\nc\rd\u{b}e\u{c}f\u{a0}g",
            "a b c d e f g",
            "a b c d e f g",
        ),
        (
            "zero\u{200b}width 🦀",
            "zero\u{200b}width 🦀",
            "zero\u{200b}width 🦀",
        ),
        (" \u{85} ", r"\\x85", r"\x85"),
    ] {
        let field = json!({"type": "null", "description": description});
        let arguments = object(&[("a", field)]);
        let text = declared(&[
            ToolDeclaration::new("bare", description, arguments.clone()),
            ToolDeclaration::new("no-name", description, arguments),
        ]);
        assert_lines(&text, &format!("        \"\"\"{docstring}\"\"\""));
        assert_lines(&text, &format!("    #   {comment}"));
        assert_lines(&text, &format!("    # {comment}\n    a: None"));
    }
}
