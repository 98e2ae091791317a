//! Rules from TOML and JSON: both say the same.

#[path = "support/verdicts.rs"]
mod verdicts;

use std::fs;

use serde_json::{Value, json};
use toolfall::policy::{RuleErrorKind, RuleList, Verdict, WrittenRules, WrittenTest};
use verdicts::verdict;

const TOML: &str = r#"
otherwise = "deny"

[[rules]]
name = "some"
verdict = "allow"
tools = ["to?l", "other"]
because = "why not"
arguments = [
    { at = "/a", one_of = ["x", 1] },
    { at = "/b", equals = { c = [1, true] } },
    { at = "/d", glob = "X*", ignore_case = true },
    { at = "/e", regex = "a+" },
    { at = "/f", path = "a/**" },
    { at = "/g", below = "/", path = "etc/**" },
    { at = "/h", below = "/" },
    { at = "/i", outside = "/etc" },
    { at = "/j", at_least = 1, at_most = 2.5 },
    { at = "/k", argv = ["git", "**"] },
    { at = "/l", present = true },
    { at = "/m", present = false },
    { at = "/n", empty = true },
    { at = "/o", empty = false },
    { at = "/p/*", at_most = 0 },
]
"#;

fn good() -> Value {
    json!({
        "a": 1.0, "b": {"c": [1, true]}, "d": "xyz", "e": "aa", "f": "./a/b", "g": "/etc/x",
        "h": "/a", "i": "/a", "j": 2, "k": "git log", "l": null, "n": [], "o": "x", "p": [0, -1],
    })
}

fn check(rules: &RuleList) {
    assert_eq!(verdict(rules, good()), Verdict::Allow);
    assert_eq!(rules.verdict("other", &good()).1, Some("some"));
    assert_eq!(rules.verdict("t", &good()), (Verdict::Deny, None));
    for (member, other) in [
        ("a", json!("y")),
        ("b", json!({"c": [1, false]})),
        ("d", json!("yz")),
        ("e", json!("aab")),
        ("f", json!("b/a")),
        ("g", json!("/usr/x")),
        ("h", json!("~")),
        ("i", json!("/etc/x")),
        ("j", json!(2.6)),
        ("j", json!(0.9)),
        ("k", json!("git log;")),
        ("m", json!(null)),
        ("n", json!([1])),
        ("o", json!("")),
        ("p", json!([0, 1])),
    ] {
        let mut arguments = good();
        arguments[member] = other;
        assert_eq!(verdict(rules, arguments), Verdict::Deny, "{member}");
    }
    let mut arguments = good();
    arguments.as_object_mut().unwrap().remove("l");
    assert_eq!(verdict(rules, arguments), Verdict::Deny);
}

#[test]
fn toml_and_json_say_the_same() {
    check(&RuleList::from_toml(TOML).unwrap());
    let written = written();
    assert_eq!(toml::from_str::<WrittenRules>(TOML).unwrap(), written);
    let json = serde_json::to_string(&written).unwrap();
    check(&RuleList::from_json(&json).unwrap());
    assert_eq!(
        serde_json::from_str::<WrittenRules>(&json).unwrap(),
        written
    );
    let null =
        r#"{"rules":[{"name":"n","verdict":"deny","arguments":[{"at":"/a","equals":null}]}]}"#;
    let null = RuleList::from_json(null).unwrap();
    assert_eq!(verdict(&null, json!({"a": null})), Verdict::Deny);
    assert_eq!(verdict(&null, json!({"a": 1})), Verdict::Ask);
    assert_eq!(
        verdict(&RuleList::from_toml("").unwrap(), json!({})),
        Verdict::Ask
    );
}

/// What [`TOML`] says.
fn written() -> WrittenRules {
    let test = |at: &str| WrittenTest {
        at: at.to_owned(),
        ..WrittenTest::default()
    };
    let some = |said: &str| Some(said.to_owned());
    let tests = vec![
        WrittenTest {
            one_of: Some(vec![json!("x"), json!(1)]),
            ..test("/a")
        },
        WrittenTest {
            equals: Some(json!({"c": [1, true]})),
            ..test("/b")
        },
        WrittenTest {
            glob: some("X*"),
            ignore_case: true,
            ..test("/d")
        },
        WrittenTest {
            regex: some("a+"),
            ..test("/e")
        },
        WrittenTest {
            path: some("a/**"),
            ..test("/f")
        },
        WrittenTest {
            below: Some("/".into()),
            path: some("etc/**"),
            ..test("/g")
        },
        WrittenTest {
            below: Some("/".into()),
            ..test("/h")
        },
        WrittenTest {
            outside: Some("/etc".into()),
            ..test("/i")
        },
        WrittenTest {
            at_least: Some(1.0),
            at_most: Some(2.5),
            ..test("/j")
        },
        WrittenTest {
            argv: Some(vec!["git".to_owned(), "**".to_owned()]),
            ..test("/k")
        },
        WrittenTest {
            present: Some(true),
            ..test("/l")
        },
        WrittenTest {
            present: Some(false),
            ..test("/m")
        },
        WrittenTest {
            empty: Some(true),
            ..test("/n")
        },
        WrittenTest {
            empty: Some(false),
            ..test("/o")
        },
        WrittenTest {
            at_most: Some(0.0),
            ..test("/p/*")
        },
    ];
    let rule = toolfall::policy::WrittenRule {
        name: "some".to_owned(),
        verdict: Verdict::Allow,
        tools: vec!["to?l".to_owned(), "other".to_owned()],
        arguments: tests,
        because: some("why not"),
    };
    WrittenRules {
        otherwise: Verdict::Deny,
        rules: vec![rule],
    }
}

#[test]
fn a_file_is_named_and_its_folder_is_where_roots_begin() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    fs::create_dir(at("work")).unwrap();
    let rule = "[[rules]]\nname = \"r\"\nverdict = \"allow\"\narguments = [{ at = \"/a\", below = \"work\" }]\n";
    fs::write(at("rules.toml"), rule).unwrap();
    let rules = RuleList::from_file(at("rules.toml")).unwrap();
    let inside = at("work/x").to_str().unwrap().to_owned();
    assert_eq!(verdict(&rules, json!({"a": inside})), Verdict::Allow);
    assert_eq!(verdict(&rules, json!({"a": "x"})), Verdict::Allow);
    assert_eq!(verdict(&rules, json!({"a": "../x"})), Verdict::Ask);
    let json =
        r#"{"rules":[{"name":"r","verdict":"allow","arguments":[{"at":"/a","below":"work"}]}]}"#;
    fs::write(at("rules.JSON"), json).unwrap();
    let rules = RuleList::from_file(at("rules.JSON")).unwrap();
    assert_eq!(verdict(&rules, json!({"a": "x"})), Verdict::Allow);

    fs::write(at("bad.toml"), "\notherwise = \"maybe\"\n").unwrap();
    fs::write(at("bad.json"), glob_error()).unwrap();
    fs::write(at("bytes.toml"), [b'a', 0xff]).unwrap();
    for (file, wanted) in [
        ("bad.toml", "bad.toml:2:13: unknown variant `maybe`"),
        (
            "bad.json",
            "bad.json: at /rules/0/tools/0: rule \"r\": expected a glob",
        ),
        ("bytes.toml", "bytes.toml: expected UTF-8 text"),
        ("none.toml", "none.toml: expected a file of rules: "),
        ("work", "work: expected a file of rules: "),
    ] {
        let error = RuleList::from_file(at(file)).unwrap_err();
        assert!(error.to_string().contains(wanted), "{error}");
        assert_eq!(error.file(), Some(&*at(file)));
    }
}

fn glob_error() -> &'static str {
    r#"{"rules":[{"name":"r","verdict":"ask","tools":["a["]}]}"#
}

#[test]
fn an_error_knows_its_place_in_a_larger_file() {
    let text =
        "log = 1\n[policy]\n[[policy.rules]]\nname = \"r\"\nverdict = \"deny\"\ntools = [\"a[\"]\n";
    let mut written = written();
    written.rules[0].tools = vec!["a[".to_owned()];
    let error = written.compile().unwrap_err();
    assert!(matches!(error.kind(), RuleErrorKind::Glob { glob, .. } if glob == "a["));
    assert_eq!(&text[error.span(text, "/policy").unwrap()], "\"a[\"");
    assert_eq!(error.span(text, "/nothing"), None);
    assert_eq!(error.span("no toml", ""), None);
}

/// Editors and hosts may check files before they are read.
#[test]
fn the_schema_knows_every_key() {
    let schema = serde_json::to_value(schemars::schema_for!(WrittenRules)).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let rules = serde_json::to_value(written()).unwrap();
    assert!(validator.is_valid(&rules), "{schema}");
    for pointer in ["", "/rules/0", "/rules/0/arguments/0"] {
        let mut rules = rules.clone();
        rules.pointer_mut(pointer).unwrap()["odd"] = json!(1);
        assert!(!validator.is_valid(&rules), "{pointer}");
    }
}
