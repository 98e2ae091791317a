//! Mistakes in written rules are named with their place.

use toolfall::policy::{Rule, RuleList, Test};

/// The compiler of globs panics where one is large enough.
#[test]
fn a_glob_is_bounded() {
    let long = "?".repeat(600_000);
    for rule in [
        Rule::deny("long").tool(&long),
        Rule::deny("long").argument("/a", Test::glob(&long)),
        Rule::deny("long").argument("/a", Test::path(&long)),
        Rule::deny("long").argument("/a", Test::argv(["ls", &long])),
    ] {
        let error = RuleList::new([rule]).unwrap_err();
        let told = error.to_string();
        assert!(
            told.contains("600000 bytes where at most 16384") && told.len() < 200,
            "{told}"
        );
    }
    let longest = Rule::deny("longest").tool("?".repeat(16_384));
    assert!(RuleList::new([longest]).is_ok());
}

#[test]
fn what_is_wrong_in_toml_is_named_with_line_and_column() {
    let rule = "[[rules]]\nname = \"r\"\nverdict = \"deny\"\n";
    for (rest, wanted) in [
        (
            "odd = 1",
            "line 4, column 1: unknown field `odd`, expected one of `name`",
        ),
        ("tools = 5", "line 4, column 9: invalid type: integer `5`"),
        (
            "tools = [\"a\", \"a[\"]",
            "line 4, column 15: rule \"r\": expected a glob, found \"a[\"",
        ),
        (
            "arguments = [{ at = \"/a\", odd = 1 }]",
            "line 4, column 27: unknown field `odd`",
        ),
        (
            "arguments = [{ at = \"/a\" }]",
            "line 4, column 14: rule \"r\": expected one of `equals`",
        ),
        (
            "arguments = [{ at = \"/a\", glob = \"x\", regex = \"y\" }]",
            "line 4, column 14: rule \"r\": expected one of",
        ),
        (
            "arguments = [{ at = \"/a\", outside = \"/x\", path = \"y\" }]",
            "line 4, column 14: rule \"r\": expected one of",
        ),
        (
            "arguments = [{ at = \"a\", glob = \"x\" }]",
            "line 4, column 21: rule \"r\": expected a JSON pointer",
        ),
        (
            "arguments = [{ at = \"/a\", below = \"x\" }]",
            "line 4, column 14: rule \"r\": expected an absolute path",
        ),
        (
            "arguments = [{ at = \"/a\", equals = 2020-01-01 }]",
            "line 4, column 14: rule \"r\": expected a value of JSON, found a date",
        ),
        (
            "[[rules]]\nname = \"r\"\nverdict = \"ask\"",
            "line 5, column 8: rule \"r\": expected a name that no other rule has",
        ),
        (
            "[[rules]]\nname = \"\"\nverdict = \"ask\"",
            "line 5, column 8: expected a name for rule 2",
        ),
        (
            "[[rules]]\nname = \"x\"",
            "line 4, column 1: missing field `verdict`",
        ),
        ("x =", "line 4, column 4: "),
    ] {
        let error = RuleList::from_toml(&format!("{rule}{rest}\n")).unwrap_err();
        let told = error.to_string();
        assert!(
            told.starts_with(wanted) || told.contains(wanted),
            "{rest}\n{told}"
        );
        assert!(error.line().is_some(), "{rest}");
    }
}

#[test]
fn what_is_wrong_in_json_is_named_with_its_place() {
    let error = RuleList::from_json("{\n \"rules\": [}").unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("line 2, column 12: expected value"),
        "{error}"
    );
    let error = RuleList::from_json("{\"rules\": [], \"more\": 1}").unwrap_err();
    assert!(
        error.to_string().contains("unknown field `more`"),
        "{error}"
    );
    let twice = r#"{"otherwise": "deny", "otherwise": "allow"}"#;
    let error = RuleList::from_json(twice).unwrap_err();
    assert!(error.to_string().contains("duplicate field"), "{error}");
    let glob = r#"{"rules":[{"name":"r","verdict":"ask","tools":["a["]}]}"#;
    let error = RuleList::from_json(glob).unwrap_err();
    let wanted = "at /rules/0/tools/0: rule \"r\": expected a glob";
    assert!(error.to_string().starts_with(wanted), "{error}");
}
