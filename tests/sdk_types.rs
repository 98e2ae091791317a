//! The declarations of real tools and of hostile ones, read by the languages'
//! own type checkers: `tsc` and `mypy`, or what `TOOLFALL_TSC` and
//! `TOOLFALL_MYPY` name instead, by absolute paths. Where one is not installed, its tests say so
//! and check nothing.

#[path = "support/schemas.rs"]
mod schemas;

use std::collections::HashSet;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use serde_json::{Value, json};
use toolfall::sdk::{Language, Sdk, ToolDeclaration};

/// Every tool of the copied data and of the servers, where these are there.
fn tools() -> Vec<ToolDeclaration> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut rows: Vec<(String, Value)> = Vec::new();
    for file in [
        "bfcl/single_turn.jsonl",
        "bfcl/toolsets.jsonl",
        "policy/toolsets.jsonl",
    ] {
        for (line, mut row) in schemas::lines(&data.join(file)).into_iter().enumerate() {
            if let Some(Value::Array(tools)) = row.get_mut("tools").map(Value::take) {
                rows.extend(
                    tools
                        .into_iter()
                        .map(|tool| (format!("{file}:{line}"), tool)),
                );
            }
        }
    }
    for tool in schemas::announced().unwrap_or_default() {
        rows.push((tool["server"].as_str().unwrap_or_default().to_owned(), tool));
    }
    let mut seen = HashSet::new();
    let tools = rows.into_iter().map(|(origin, tool)| {
        let text = |member: &str| tool[member].as_str().unwrap_or_default().to_owned();
        // Tools of several servers may share a name.
        let name = Some(text("name")).filter(|name| seen.insert(name.clone()));
        let name = name.unwrap_or_else(|| format!("{origin} {}", text("name")));
        let parameters = tool.get("parameters").or(tool.get("inputSchema"));
        let declared = ToolDeclaration::new(
            name,
            text("description"),
            parameters.cloned().unwrap_or_default(),
        );
        match tool.get("outputSchema") {
            Some(output) => declared.output(output.clone()),
            None => declared,
        }
    });
    tools.collect()
}

/// Text that would end a comment, a string, a line or a block, were it not
/// escaped; `!` is in no other text.
const HOSTILE: [&str; 24] = [
    "*/ pwned!(); /*",
    "\"; pwned!(); \"",
    "\"\"\"\n        pwned!()\n        \"\"\"",
    "\\\"\"\"; pwned!()",
    "\\",
    "\"",
    "'''",
    "\nimport pwned!",
    "\r\n    pwned!()",
    "\u{2028}pwned!()",
    "\u{85}pwned!()",
    "\u{c}pwned!()",
    "\0pwned!()",
    "```\n# pwned!\n```",
    "`${pwned!()}`",
    "// pwned!",
    "# pwned!",
    "</script>pwned!",
    "\u{1b}]0;pwned!\u{7}",
    "*\\/pwned!*/",
    "**/pwned!",
    "/** pwned!",
    "{pwned!}",
    "\u{202e}pwned!",
];

/// Each hostile text, and each two of them together, in every place where a
/// text can be.
fn hostile() -> Vec<ToolDeclaration> {
    let mut texts: Vec<String> = HOSTILE.iter().map(|text| (*text).to_owned()).collect();
    for first in HOSTILE {
        texts.extend(HOSTILE.iter().map(|second| format!("{first}{second}")));
    }
    let mut tools = Vec::new();
    for (place, text) in texts.iter().enumerate() {
        let inner = json!({
            "type": "object",
            "properties": {
                "fine": {"type": "string", "description": text},
                "choice": {"enum": [text, format!("{text}{text}")]},
            },
            "required": ["fine"],
            "description": text,
        });
        let schema = json!({
            "type": "object",
            "properties": {text: inner, "plain": inner},
            "required": [text],
            "title": text,
        });
        let name = format!("tool{place}");
        tools.push(ToolDeclaration::new(name, &**text, inner.clone()).output(schema.clone()));
        tools.push(ToolDeclaration::new(&**text, &**text, schema).output(inner));
    }
    tools
}

/// Names that mean something to a language, as tools and as fields.
fn awkward() -> Vec<ToolDeclaration> {
    let names = [
        "Any",
        "Args",
        "Literal",
        "NotRequired",
        "Protocol",
        "Tools",
        "ToolCallError",
        "TypedDict",
        "Awkward",
        "async",
        "bool",
        "class",
        "constructor",
        "dict",
        "float",
        "function",
        "get",
        "import",
        "int",
        "items",
        "keys",
        "list",
        "match",
        "new",
        "print",
        "prototype",
        "readonly",
        "self",
        "static",
        "str",
        "super",
        "then",
        "toString",
        "tools",
        "type",
        "typeof",
        "unknown",
        "yield",
        "zoo",
        "AwkwardArgs",
        "ZooArgs",
        "__proto__",
        "_",
        "$",
        "a$b",
        "\u{e9}t\u{e9}",
        "1",
        "1e3",
        "01",
        "-",
        "JsonValue",
        "Record",
        "Promise",
        "ToolName",
    ];
    let texts = |_: &str| json!({"type": ["string", "boolean", "number", "integer", "null"]});
    let properties: serde_json::Map<_, _> = names
        .iter()
        .map(|name| ((*name).to_owned(), texts(name)))
        .collect();
    let mut tools = Vec::new();
    for name in names {
        let fields: serde_json::Map<_, _> = [name, "str", "list", "zzz"]
            .into_iter()
            .map(|field| {
                (
                    field.to_owned(),
                    json!({"type": "array", "items": {"const": name}}),
                )
            })
            .collect();
        let parameters = json!({"type": "object", "properties": fields});
        let output = json!({"type": "object", "properties": properties.clone()});
        tools.push(ToolDeclaration::new(name, name, parameters).output(output));
    }
    tools
}

/// What `text` is without comments and strings.
fn bare(text: &str, language: Language) -> String {
    let comments = match language {
        Language::Python => [("#", "\n"), ("\"\"\"", "\"\"\"")],
        _ => [("/*", "*/"), ("//", "\n")],
    };
    let (mut bare, mut rest) = (String::new(), text);
    'text: while let Some(first) = rest.chars().next() {
        for (start, end) in comments {
            if let Some(after) = rest.strip_prefix(start) {
                rest = past(after, end, start.starts_with('"'));
                continue 'text;
            }
        }
        rest = &rest[first.len_utf8()..];
        if first == '"' {
            rest = past(rest, "\"", true);
        } else {
            bare.push(first);
        }
    }
    bare
}

/// What follows the first `end`, which a backslash escapes if `escapes`.
fn past<'t>(text: &'t str, end: &str, escapes: bool) -> &'t str {
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix(end) {
            return after;
        }
        assert!(
            first != '\n',
            "a comment or a string goes past its line: {text:.80}"
        );
        rest = &rest[first.len_utf8()..];
        if escapes && first == '\\' {
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    rest
}

#[track_caller]
fn assert_contained(tools: &[ToolDeclaration]) {
    for language in Language::ALL {
        let text = Sdk::new(language).declarations(tools);
        let bare = bare(&text, language);
        assert!(!bare.contains('!'), "{bare}");
        assert!(text.chars().all(|c| c == '\n' || c >= ' '));
        assert!(
            text.lines()
                .all(|line| !line.trim_start().starts_with("```"))
        );
        if language == Language::Python {
            // Every line is one of those that are ever written.
            let starts = ["from ", "class ", "tools: ", "    ", ""];
            let known = |line: &str| starts.iter().any(|start| line.starts_with(start));
            assert!(bare.lines().all(known), "{bare}");
        }
    }
}

#[test]
fn nothing_breaks_out_of_a_comment_or_a_string() {
    assert_contained(&hostile());
    assert_contained(&awkward());
}

proptest! {
    #[test]
    fn no_text_at_all_breaks_out(
        texts in prop::collection::vec(
            prop::collection::vec(
                prop_oneof![
                    prop::sample::select(&HOSTILE[..]).prop_map(str::to_owned),
                    prop::char::any().prop_map(String::from),
                    r#"[*/\\\\"'#\r\n`_a1-]{0,4}"#,
                ],
                0..6,
            )
            .prop_map(|pieces| pieces.concat()),
            5,
        ),
    ) {
        prop_assume!(texts.iter().all(|text| !text.replace("pwned!", "").contains('!')));
        let [name, description, field, told, literal] = &texts[..] else { unreachable!() };
        let schema = json!({
            "type": "object",
            "properties": {
                field: {"enum": [literal], "description": told},
                "fine": {"type": "array", "items": {
                    "type": "object",
                    "properties": {"inner": {"type": "null", "description": told}},
                }},
            },
        });
        let tool = |name: &str| {
            ToolDeclaration::new(name, &**description, schema.clone()).output(schema.clone())
        };
        assert_contained(&[tool(name), tool("method")]);
    }
}

/// The checker that `variable` names, or `program` where it is installed.
fn checker(variable: &str, program: &str) -> Option<Command> {
    if let Some(named) = std::env::var_os(variable) {
        return Some(Command::new(named));
    }
    let version = Command::new(program).arg("--version").output();
    if version.is_ok_and(|output| output.status.success()) {
        return Some(Command::new(program));
    }
    println!("skipped: there is no {program}, and {variable} names none");
    None
}

/// What a checker says of `text`, line by line; nothing if it is content.
fn complaints(mut checker: Command, file: &str, text: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(file), text).unwrap();
    let output = checker
        .arg(file)
        .current_dir(folder.path())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaints: Vec<_> = told.lines().filter(|line| line.contains("error")).collect();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        output.status.success(),
        complaints.is_empty(),
        "{told}{errors}"
    );
    complaints.into_iter().map(str::to_owned).collect()
}

fn tsc() -> Option<Command> {
    let mut tsc = checker("TOOLFALL_TSC", "tsc")?;
    tsc.args(["--noEmit", "--strict", "--pretty", "false"]);
    tsc.args(["--target", "es2022", "--module", "esnext", "--types", ""]);
    Some(tsc)
}

fn mypy() -> Option<Command> {
    let mut mypy = checker("TOOLFALL_MYPY", "mypy")?;
    mypy.args(["--strict", "--no-incremental", "--no-error-summary"]);
    mypy.args(["--python-version", "3.11", "--cache-dir", "/dev/null"]);
    Some(mypy)
}

/// Two tools, for programs.
fn two() -> [ToolDeclaration; 2] {
    let field = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    let lines = json!({"type": "array", "items": {"type": "string"}});
    [
        ToolDeclaration::new("read", "Reads.", field("path")).output(lines),
        ToolDeclaration::new("look-up", "Looks up.", field("word")).output(field("meaning")),
    ]
}

#[test]
fn tsc_judges_a_program_by_the_declarations() {
    let Some(tsc) = tsc() else { return };
    let text = Sdk::new(Language::TypeScript).declarations(&two());
    let program = r#"
async function program(): Promise<string[]> {
  const lines: string[] = await tools.read({ path: "a" });
  const found = await tools["look-up"]({ word: lines[0] ?? "" });
  // @ts-expect-error
  await tools.read({ path: 1 });
  // @ts-expect-error
  await tools.write({ path: "a" });
  try {
    await Promise.all(lines.map((path) => tools.read({ path })));
  } catch (error) {
    if (error instanceof ToolCallError) {
      const name: "read" | "look-up" = error.toolName;
      return [name, error.message];
    }
  }
  return [found.meaning];
}
"#;
    let told = complaints(tsc, "sdk.ts", &(text + program));
    assert!(told.is_empty(), "{told:#?}");
}

#[test]
fn mypy_judges_a_program_by_the_declarations() {
    let Some(mypy) = mypy() else { return };
    let text = Sdk::new(Language::Python).declarations(&two());
    let program = r#"
async def program() -> list[str]:
    lines: list[str] = await tools.read({"path": "a"})
    await tools.read({"path": 1})  # type: ignore[typeddict-item]
    await tools.read({})  # type: ignore[typeddict-item]
    await tools.write({"path": "a"})  # type: ignore[attr-defined]
    try:
        lines += await tools.read({"path": lines[0]})
    except ToolCallError as error:
        return [error.toolName, str(error)]
    return lines
"#;
    let told = complaints(mypy, "sdk.py", &(text + program));
    assert!(told.is_empty(), "{told:#?}");
}

#[test]
fn tsc_takes_the_declarations_of_every_tool() {
    let Some(tsc) = tsc() else { return };
    let mut tools = tools();
    println!("{} tools", tools.len());
    tools.extend(hostile().into_iter().chain(awkward()));
    let text = Sdk::new(Language::TypeScript).declarations(&tools);
    let told = complaints(tsc, "sdk.ts", &text);
    assert!(told.is_empty(), "{told:#?}");
}

#[test]
fn mypy_takes_the_declarations_of_every_tool() {
    let Some(mypy) = mypy() else { return };
    let mut tools = tools();
    println!("{} tools", tools.len());
    tools.extend(hostile().into_iter().chain(awkward()));
    let text = Sdk::new(Language::Python).declarations(&tools);
    let told = complaints(mypy, "sdk.py", &text);
    assert!(told.is_empty(), "{} {told:#?}", told.len());
}
