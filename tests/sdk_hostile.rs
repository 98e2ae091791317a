//! Whatever names and descriptions hold, they end neither their comment, nor
//! their string, nor their line.

#[path = "support/hostile.rs"]
mod support;

use proptest::prelude::*;
use serde_json::json;
use support::{HOSTILE, awkward, hostile};
use toolfall::sdk::{Language, Sdk, ToolDeclaration};

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
