//! What tools and the classes of their objects are called in Python, and how
//! deep and how long what is declared may be.

use serde_json::{Value, json};
use toolfall::sdk::python::type_of;
use toolfall::sdk::{Language, Sdk, ToolDeclaration};

fn declared(name: &str, parameters: Value) -> String {
    all(&[ToolDeclaration::new(name, "", parameters)])
}

fn all(tools: &[ToolDeclaration]) -> String {
    Sdk::new(Language::Python).declarations(tools)
}

fn map<const N: usize>(pairs: [(&str, Value); N]) -> Value {
    let pairs = pairs.map(|(name, value)| (name.to_owned(), value));
    Value::Object(pairs.into_iter().collect())
}

/// A closed object of `fields`, all of them required. Moves what it is given,
/// since copying and dropping recurse.
fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let names = fields.each_ref().map(|(name, _)| *name);
    map([
        ("type", json!("object")),
        ("properties", map(fields)),
        ("required", json!(names.as_slice())),
        ("additionalProperties", json!(false)),
    ])
}

fn flag() -> Value {
    object([("on", json!({"type": "boolean"}))])
}

fn list(items: Value) -> Value {
    map([("type", json!("array")), ("items", items)])
}

fn lists(levels: usize, items: Value) -> Value {
    (0..levels).fold(items, |items, _| list(items))
}

fn union(first: Value, second: Value) -> Value {
    map([("oneOf", Value::Array(vec![first, second]))])
}

fn brackets(levels: usize, inner: &str) -> String {
    "list[".repeat(levels) + inner + &"]".repeat(levels)
}

fn classes(text: &str) -> Vec<&str> {
    let names = text.lines().filter_map(|line| line.strip_prefix("class "));
    names
        .filter_map(|line| line.strip_suffix("(TypedDict):"))
        .collect()
}

/// conformance: SDK-23
#[test]
fn tools_that_are_no_names_are_called_by_text() {
    for (name, class) in [
        ("my-tool", "MyToolArgs"),
        ("a b", "ABArgs"),
        ("class", "ClassArgs"),
        ("None", "NoneArgs"),
        ("_hidden", "HiddenArgs"),
        ("__init__", "InitArgs"),
        ("say \"hi\"\n", "SayHiArgs"),
        ("--", "ToolArgs"),
    ] {
        let text = all(&[ToolDeclaration::new(name, "What it does.", flag())]);
        let quoted = serde_json::to_string(name).unwrap();
        let comment =
            format!("\n    # tools[{quoted}](args: {class}) -> Any\n    #   What it does.\n");
        assert!(text.contains(&comment), "{text}");
        assert_eq!(classes(&text), [class]);
        assert!(!text.contains("async def"), "{text}");
    }
}

#[test]
fn no_method_hides_a_type() {
    let tools = ["list", "zoo", "ZooArgs"].map(|name| ToolDeclaration::new(name, "", flag()));
    let text = all(&tools);
    assert!(
        text.contains("    # tools[\"list\"](args: ListArgs) -> Any\n"),
        "{text}"
    );
    assert_eq!(classes(&text), ["ZooArgsArgs", "ListArgs", "ZooArgs2"]);
}

/// conformance: SDK-24
#[test]
fn a_name_that_python_would_change_is_no_method() {
    let text = declared("\u{fb01}nd", flag());
    assert!(
        text.contains("# tools[\"\u{fb01}nd\"](args: FIndArgs)"),
        "{text}"
    );
    assert_eq!(classes(&text), ["FIndArgs"]);
    assert!(!text.contains("async def"), "{text}");
    let text = declared("\u{19b}", flag());
    assert!(
        text.contains("    async def \u{19b}(self, args: \u{a7dc}Args)"),
        "{text}"
    );
    assert_eq!(classes(&text), ["\u{a7dc}Args"]);
}

/// conformance: SDK-24
#[test]
fn the_tables_are_of_the_versions_that_are_documented() {
    // Whoever updates one of them updates the documentation of `sdk`.
    assert_eq!(unicode_ident::UNICODE_VERSION, (18, 0, 0));
    assert_eq!(unicode_normalization::UNICODE_VERSION, (18, 0, 0));
    assert!(char::UNICODE_VERSION >= (16, 0, 0));
}

/// conformance: SDK-25
#[test]
fn joiners_digits_and_marks() {
    let text = declared("ping", object([("a\u{200c}b", json!({"type": "string"}))]));
    assert!(
        text.contains("class PingArgs(TypedDict):\n    a\u{200c}b: str\n"),
        "{text}"
    );

    let text = declared("\u{200c}b", flag());
    assert!(
        text.contains("    # tools[\"\u{200c}b\"](args: Tool\u{200c}bArgs)"),
        "{text}"
    );
    assert_eq!(classes(&text), ["Tool\u{200c}bArgs"]);

    let tool = ToolDeclaration::new("1st-tool", "", json!({"type": "object"})).output(flag());
    assert_eq!(classes(&all(&[tool])), ["Tool1stToolOutput"]);

    let text = declared("\u{301}abc", flag());
    assert!(
        text.contains("    # tools[\"\u{301}abc\"](args: Too\u{13a}abcArgs)"),
        "{text}"
    );
    assert_eq!(classes(&text), ["Too\u{13a}abcArgs"]);
}

/// conformance: SDK-26
#[test]
fn names_are_normalized_where_they_are_joined() {
    let inner = object([("\u{1161}x", flag())]);
    let text = declared("x", object([("\u{ac00}\u{1100}", inner)]));
    assert_eq!(
        classes(&text),
        ["XArgs\u{ac00}\u{ac00}x", "XArgs\u{ac00}\u{1100}", "XArgs"]
    );

    let inner = object([("\u{1161}", flag())]);
    let text = declared("x", object([("\u{ac00}", flag()), ("\u{1100}", inner)]));
    assert_eq!(
        classes(&text),
        ["XArgs\u{ac00}", "XArgs\u{ac00}2", "XArgs\u{1100}", "XArgs"]
    );
    assert!(text.contains("    \u{ac00}: XArgs\u{ac00}\n"), "{text}");
    assert!(text.contains("    \u{1161}: XArgs\u{ac00}2\n"), "{text}");
}

/// conformance: SDK-27
#[test]
fn names_that_are_taken_get_the_next_free_number() {
    let tools = ["my.tool", "my-tool"].map(|name| ToolDeclaration::new(name, "", flag()));
    let text = all(&tools);
    assert_eq!(classes(&text), ["MyToolArgs", "MyToolArgs2"]);
    assert!(
        text.contains("tools[\"my.tool\"](args: MyToolArgs2)"),
        "{text}"
    );

    let fields = object([("phase", flag()), ("phase2", flag()), ("Phase", flag())]);
    let text = declared("foo", fields);
    assert_eq!(
        classes(&text),
        ["FooArgsPhase", "FooArgsPhase2", "FooArgsPhase3", "FooArgs"]
    );
    assert!(text.contains("    Phase: FooArgsPhase3\n"), "{text}");
}

/// conformance: SDK-28
#[test]
fn names_stay_short() {
    let name = "a".repeat(200);
    let tool = ToolDeclaration::new(&*name, "", flag()).output(flag());
    let base = format!("A{}", "a".repeat(119));
    assert_eq!(classes(&all(&[tool])), [base.clone(), format!("{base}2")]);

    let depth = 4_000;
    let chain = (0..depth).fold(flag(), |inner, _| object([("field", inner)]));
    let tool = [ToolDeclaration::new("chain", "", chain)];
    let text = all(&tool);
    let names = classes(&text);
    assert_eq!(names.len(), depth + 2 - 1);
    assert!(names.iter().all(|name| name.len() <= 140));
    assert!(text.len() < depth * 400, "{}", text.len());
    std::mem::forget(tool);
}

/// conformance: SDK-29
#[test]
fn names_are_cut_between_characters() {
    let ahsa = "\u{10330}".repeat(200);
    let text = declared(&ahsa, flag());
    assert_eq!(classes(&text), ["\u{10330}".repeat(60)]);
    let text = declared(&format!("x{ahsa}"), flag());
    assert_eq!(classes(&text), [format!("X{}", "\u{10330}".repeat(59))]);
}

/// conformance: SDK-30
#[test]
fn lists_nest_as_deep_as_python_reads() {
    let deep = lists(20_000, json!({"type": "null"}));
    assert_eq!(type_of(&deep), brackets(180, "Any"));
    std::mem::forget(deep);
    let number = json!({"type": "number"});
    let fits = lists(179, number);
    assert_eq!(type_of(&fits), brackets(179, "float"));
    let text = declared("t", object([("rows", fits)]));
    let field = format!("    rows: {}\n", brackets(179, "float"));
    assert!(text.contains(&field), "{text}");
}

/// conformance: SDK-31
#[test]
fn unions_do_not_nest_and_fields_do_once() {
    let constant = json!({"type": "string", "const": "x"});
    let arguments = |schema: Value| {
        let text = declared("rooted", schema);
        let (_, rest) = text.split_once("(self, args: ").unwrap();
        rest.split_once(") -> Any").unwrap().0.to_owned()
    };
    let fits = lists(180, constant.clone());
    let expected = brackets(180, "Literal[\"x\"]");
    assert_eq!(arguments(fits.clone()), expected);
    assert_eq!(arguments(lists(181, constant)), brackets(180, "Any"));
    let string = || json!({"type": "string"});
    let unions = (0..3).fold(fits.clone(), |inner, _| union(inner, string()));
    assert_eq!(arguments(unions), format!("{expected} | str | str | str"));
    let text = declared("rooted", object([("rows", fits)]));
    let field = format!("    rows: {}\n", brackets(179, "Any"));
    assert!(text.contains(&field), "{text}");
}

/// conformance: SDK-32
#[test]
fn long_chains_take_time_in_proportion() {
    let chain = (0..100_000).fold(json!({"type": "string"}), |inner, _| {
        union(inner, json!({"type": "null"}))
    });
    let text = type_of(&chain);
    assert!(text.starts_with("str | None | None"));
    assert_eq!(text.len(), 3 + 7 * 100_000);
    std::mem::forget(chain);

    let chain = (0..60_000).fold(flag(), |inner, _| union(inner, flag()));
    let tool = [ToolDeclaration::new("chain", "", chain)];
    let text = all(&tool);
    let names = classes(&text);
    assert_eq!(names.len(), 60_001);
    assert!(names.iter().all(|name| name.len() <= 140));
    std::mem::forget(tool);
}
