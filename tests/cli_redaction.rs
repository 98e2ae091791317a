//! What `[redaction]` of `toolfall.toml` keeps from people, log and model.

#[path = "support/cli_batches.rs"]
mod batches;
#[path = "support/cli.rs"]
mod support;

use batches::{ALLOW, batches, message, run};
use serde_json::json;
use support::{Place, Ran};

const TOKEN: &str = "ghp_aB3xY7qR9tK2mN5pL8vC4wZ6aB3xY7qR9tK2mN5p";
const MASK: &str = "[redacted: github-token]";

fn log(place: &Place) -> String {
    std::fs::read_to_string(place.path("toolfall-session.jsonl")).unwrap()
}

fn content(ran: &Ran, at: usize) -> String {
    ran.results()[at]["content"][0]["text"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn well_known_secrets_are_masked_unless_the_file_says_no() {
    let calls = [json!({"note": format!("use {TOKEN}")})];
    // No table is the default one.
    for config in ["", "[redaction]\n"] {
        let place = Place::new();
        let ran = run(&place, &format!("{ALLOW}{config}"), &[&calls], &[]);
        let text = content(&ran, 0);
        assert!(text.contains(MASK) && !text.contains(TOKEN), "{text}");
        // The tool got what was sent; the row says what that was.
        assert!(
            ran.results()[0]["arguments_json"]
                .as_str()
                .unwrap()
                .contains(TOKEN)
        );
        let log = log(&place);
        assert!(log.contains(MASK) && !log.contains(TOKEN), "{log}");
    }
    let place = Place::new();
    let config = format!("{ALLOW}[redaction]\nmask_results = false\n");
    let ran = run(&place, &config, &[&calls], &[]);
    assert!(content(&ran, 0).contains(TOKEN), "the model reads it");
    assert!(!log(&place).contains(TOKEN), "and the log does not have it");

    let place = Place::new();
    let config = format!("{ALLOW}[redaction]\nknown_secrets = false\n");
    let ran = run(&place, &config, &[&calls], &[]);
    assert!(content(&ran, 0).contains(TOKEN));
    assert!(log(&place).contains(TOKEN));
}

#[test]
fn a_tools_secrets_are_hidden_from_the_log_and_from_people() {
    let config = format!(
        "{ALLOW}[[redaction.tool]]\ntool = \"echo\"\narguments = [\"/token\", \"/headers/*\"]\n\
         results = [\"/recorded\"]\n"
    );
    let calls =
        [json!({"to": "prod", "token": "correct-horse", "headers": {"a": "staple-battery"}})];
    let place = Place::new();
    let ran = run(&place, &config, &[&calls], &[]);
    assert!(
        content(&ran, 0).contains("correct-horse"),
        "the model's own words"
    );
    let log = log(&place);
    assert!(!log.contains("horse") && !log.contains("staple"), "{log}");
    assert!(
        log.contains(r#"\"headers\":{\"a\":\"[redacted]\"}"#),
        "{log}"
    );
    assert!(log.contains(r#"\"recorded\":\"[redacted]\""#), "{log}");

    let human = Place::new();
    human.write("toolfall.toml", format!("{}{config}", batches::ECHO));
    human.write("b.jsonl", batches(&[&calls]));
    let ran = human.run(&["run", "b.jsonl", "--human"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(
        ran.out.contains("[redacted]") && !ran.out.contains("horse"),
        "{}",
        ran.out
    );
    let shown = human.run(&["show", "toolfall-session.jsonl", "--json"]);
    assert!(
        shown.out.contains("[redacted]") && !shown.out.contains("horse"),
        "{}",
        shown.out
    );
}

#[test]
fn what_a_command_fails_with_does_not_leak() {
    let config = format!(
        "{ALLOW}[[replay]]\nname = \"pay\"\nparameters = {{ type = \"object\", properties = \
         {{ pin = {{ type = \"integer\" }} }} }}\n[[redaction.tool]]\ntool = \"pay\"\n\
         arguments = [\"/pin\"]\n"
    );
    let place = Place::new();
    place.write("toolfall.toml", config);
    let call = json!({"call_id": "1", "name": "pay", "arguments": {"pin": "48213"}});
    place.write("b.jsonl", json!({"id": "0", "calls": [call]}).to_string());
    let ran = place.run(&["run", "b.jsonl", "--json"]);
    let result = &ran.results()[0];
    assert!(message(result).contains("must be an integer"), "{result}");
    assert!(!result["content"].to_string().contains("48213"), "{result}");
    assert!(!log(&place).contains("48213"));
}

#[test]
fn a_pattern_of_ones_own_has_its_name_in_the_mask() {
    let config = format!(
        "{ALLOW}[redaction]\nknown_secrets = false\n[[redaction.pattern]]\nname = \"badge\"\n\
         regex = 'badge (?P<secret>[0-9]{{6}})'\n"
    );
    let place = Place::new();
    let ran = run(&place, &config, &[&[json!({"n": "badge 123456"})]], &[]);
    assert!(
        content(&ran, 0).contains("badge [redacted: badge]"),
        "{}",
        content(&ran, 0)
    );
    assert!(!log(&place).contains("123456"));
}

#[test]
fn mistakes_are_refused_with_their_place() {
    for (table, line, said) in [
        ("[redaction]\nknown = true\n", 5, "unknown field `known`"),
        (
            "[[redaction.tool]]\ntool = \"echo\"\nsecret = []\n",
            6,
            "unknown field `secret`",
        ),
        (
            "[[redaction.tool]]\ntool = \"echo\"\narguments = [\"token\"]\n",
            6,
            "expected a JSON pointer that is empty or begins with \"/\", found \"token\"",
        ),
        (
            "[[redaction.tool]]\ntool = \"ecko\"\narguments = [\"/a\"]\n",
            5,
            "expected the name of a tool, one of echo, found \"ecko\"",
        ),
        (
            "[[redaction.pattern]]\nname = \"a\"\nregex = \"(\"\n",
            6,
            "expected a regular expression for \"a\"",
        ),
        (
            "[[redaction.pattern]]\nname = \"A b\"\nregex = \"x\"\n",
            5,
            "expected a name of 1 to 64 lower-case letters",
        ),
    ] {
        let place = Place::new();
        place.write("toolfall.toml", format!("{}{table}", batches::ECHO));
        place.write("b.jsonl", batches(&[&[json!({})]]));
        let ran = place.run(&["run", "b.jsonl"]);
        assert_eq!(ran.status, 2, "{}", ran.err);
        assert!(
            ran.err.contains(&format!("toolfall.toml:{line}:")),
            "{line}: {}",
            ran.err
        );
        assert!(ran.err.contains(said), "{said}: {}", ran.err);
        assert!(
            !place.path("toolfall-session.jsonl").exists(),
            "before anything is done"
        );
    }
}
