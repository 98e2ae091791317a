//! What a model is told of programs, whatever their language: the text as a
//! whole, its words, and the call that runs a program.

use serde_json::{Value, json};
use toolfall::sdk::{Language, Sdk, ToolDeclaration, run_code};

fn declared(tools: &[ToolDeclaration]) -> String {
    Sdk::new(Language::TypeScript).declarations(tools)
}

fn tool(name: &str, parameters: Value) -> ToolDeclaration {
    ToolDeclaration::new(name, "", parameters)
}

/// conformance: SDK-08
#[test]
fn instructions_say_how_a_typescript_program_is_written() {
    let text = Sdk::new(Language::TypeScript).instructions();
    for part in [
        "erasable syntax only",
        "rejects with `ToolCallError`",
        "MAY overlap under `Promise.all`",
        "lossless JSON",
        "two required arguments",
        "`code`",
        "`description`",
    ] {
        assert!(text.contains(part), "{part}");
    }
}

/// conformance: SDK-09
#[test]
fn the_text_depends_on_the_set_alone() {
    let (a, b) = (tool("a", json!({})), tool("b", json!({"type": "object"})));
    for language in Language::ALL {
        let sdk = Sdk::new(language);
        let text = sdk.render(&[a.clone(), b.clone()]);
        assert_eq!(text, sdk.render(&[b.clone(), a.clone()]));
        assert_eq!(
            text,
            sdk.render(&[b.clone(), a.clone(), b.clone(), a.clone()])
        );
    }
    let empty = declared(&[]);
    assert!(empty.contains("interface ToolArgsMap {}\n"), "{empty}");
    assert!(empty.contains("interface ToolOutputMap {}\n"), "{empty}");
    let empty = Sdk::new(Language::Python).declarations(&[]);
    assert!(
        empty.starts_with("from typing import Protocol\n"),
        "{empty}"
    );
    assert!(
        empty.contains("class Tools(Protocol):\n    pass\n"),
        "{empty}"
    );
}

/// conformance: SDK-16
#[test]
fn half_a_surrogate_pair_is_no_declaration() {
    for text in [
        r#"{"name": "a\ud800", "parameters": {}}"#,
        r#"{"name": "a", "parameters": {"const": "\ud800"}}"#,
    ] {
        let error = serde_json::from_str::<ToolDeclaration>(text).unwrap_err();
        assert!(error.is_syntax() || error.is_eof(), "{error}");
    }
}

/// conformance: SDK-38
#[test]
fn a_call_that_runs_a_program_is_described_in_its_language() {
    for (language, name, parts) in [
        (
            "typescript",
            "TypeScript",
            [
                "Execute a TypeScript program",
                "BODY of an",
                "`description`",
            ],
        ),
        (
            "python",
            "Python",
            [
                "Execute a Python program",
                "`return <value>`",
                "`description`",
            ],
        ),
    ] {
        let call = run_code::for_runtime(Some(language)).unwrap();
        assert_eq!(call.name, "run_code");
        for part in parts {
            assert!(call.description.contains(part), "{part}");
        }
        let code = &call.parameters["properties"]["code"]["description"];
        let expected = format!("The program: the body of an async {name} function.");
        assert_eq!(code, &json!(expected));
        if language == "python" {
            assert!(!serde_json::to_string(&call).unwrap().contains("TypeScript"));
        }
    }
}

/// conformance: SDK-39
#[test]
fn an_unknown_language_is_refused_and_no_runtime_means_typescript() {
    assert_eq!(
        run_code::for_runtime(Some("ruby")).unwrap_err().to_string(),
        "no run_code schema flavor registered for runtime language \"ruby\" (known: \
         \"typescript\", \"python\")"
    );
    assert_eq!(
        run_code::for_runtime(None).unwrap(),
        run_code::declaration(Language::TypeScript)
    );
    assert_eq!(
        Sdk::for_runtime("ruby").unwrap_err().to_string(),
        "no SDK renderer registered for runtime language \"ruby\""
    );
}

/// conformance: SDK-40
#[test]
fn names_are_in_byte_order() {
    // In UTF-16 the second would come first.
    let names = ["z", "\u{ff5e}", "\u{10330}"];
    let tools: Vec<_> = names
        .iter()
        .rev()
        .map(|name| tool(name, json!({})))
        .collect();
    let text = declared(&tools);
    let places: Vec<_> = names
        .iter()
        .map(|name| {
            text.find(&format!("{name}\": J"))
                .or(text.find(&format!("  {name}: J")))
        })
        .collect();
    assert!(places.iter().all(Option::is_some), "{text}");
    assert!(places.is_sorted(), "{text}");
}

/// conformance: SDK-37
#[test]
fn instructions_say_how_a_python_program_is_written() {
    let text = Sdk::new(Language::Python).instructions();
    for part in [
        "top-level `await`",
        "exactly two of the names declared below are bound: `tools` and `ToolCallError`",
        "never `FooArgs(field=1)`, which raises `NameError`",
        "MAY overlap under `asyncio.gather`",
        "lossless JSON",
        "two required arguments",
        "`code`",
        "`description`",
    ] {
        assert!(text.contains(part), "{part}");
    }
}
