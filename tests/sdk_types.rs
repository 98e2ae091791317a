//! The declarations of real tools and of hostile ones, read by the languages'
//! own type checkers: `tsc` and `mypy`, or what `TOOLFALL_TSC` and
//! `TOOLFALL_MYPY` name instead, by absolute paths. Where one is not installed, its tests say so
//! and check nothing.

#[path = "support/schemas.rs"]
mod schemas;
#[path = "support/hostile.rs"]
mod support;

use std::collections::HashSet;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use support::{awkward, hostile};
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
