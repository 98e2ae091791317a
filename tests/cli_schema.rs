//! The schema of `toolfall.toml`, held against the program, the document and
//! the example.

#[path = "support/cli.rs"]
mod support;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use support::Place;

const RULE: &str = "[[policy.rules]]\nname = \"a\"\nverdict = \"ask\"\n";
const AGENT: &str = "[[agent]]\nname = \"a\"\n";
const DOCUMENT: &str = include_str!("../docs/config.md");

fn schema() -> Value {
    let ran = Place::new().run(&["config-schema"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    serde_json::from_str(&ran.out).expect("a schema")
}

/// The first thing that is wrong with a configuration, by the schema.
fn wrong(schema: &Value, config: &str) -> Option<String> {
    let config: Value = toml::from_str(config).expect("TOML");
    let validator = jsonschema::validator_for(schema).expect("a valid schema");
    validator
        .iter_errors(&config)
        .next()
        .map(|error| format!("{}: {error}", error.instance_path()))
}

/// Every object that has properties of its own, by its place in the file:
/// `hooks.before`.
fn tables<'a>(place: &str, schema: &'a Value, found: &mut BTreeMap<String, &'a Value>) {
    if schema["properties"].is_object() {
        found.insert(place.to_owned(), schema);
    }
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        let place = match place {
            "" => name.clone(),
            place => format!("{place}.{name}"),
        };
        tables(&place, inner, found);
        tables(&place, &inner["items"], found);
    }
}

#[test]
fn the_quickstart_is_valid_and_an_unknown_key_is_not() {
    let schema = schema();
    let quickstart = include_str!("../examples/quickstart/toolfall.toml");
    assert_eq!(wrong(&schema, quickstart), None);
    for (config, place) in [
        ("lag = 1", ""),
        ("[budget]\ncall = 1", "/budget"),
        ("[repeat]\nthreshold = [2]", "/repeat"),
        ("[hooks]\nfiles = \"a\"", "/hooks"),
        ("[[hooks.before]]\nshel = \"a\"", "/hooks/before/0"),
        (
            "[[grants]]\nname = \"a\"\ntool = \"a\"\nttl = 1",
            "/grants/0",
        ),
        (
            "[[policy.rules]]\nname = \"a\"\nverdict = \"ask\"\nwhy = \"\"",
            "/policy/rules/0",
        ),
        ("approve = \"maybe\"", "/approve"),
        ("max_parallel = 0", "/max_parallel"),
        ("[repeat]\nthresholds = [1]", "/repeat/thresholds/0"),
        ("[[hooks.after]]\nname = \"a\"", "/hooks/after/0"),
        (
            "[[replay]]\nname = \"a\"\nanswers = [{ value = 1, error = \"a\" }]",
            "/replay/0/answers/0",
        ),
        ("[[grants]]\nname = \"a\"", "/grants/0"),
        (
            "[[grants]]\nname = \"a\"\ntool = \"a\"\narguments = [{ glob = \"a\" }]",
            "/grants/0/arguments/0",
        ),
        ("approval_timeout_ms = 0", "/approval_timeout_ms"),
        (
            "[permission]\napproval_policy = \"ask\"",
            "/permission/approval_policy",
        ),
        (
            "[[permission.presets]]\nname = \"a\"",
            "/permission/presets/0",
        ),
        ("[[agent]]\nname = \"a\"\nrules = []", "/agent/0"),
        ("[spill]\nmax_text_bytes = 999", "/spill/max_text_bytes"),
        ("[spill]\nmax_block_byte = 1", "/spill"),
        ("[[mcp]]\nname = \"\"", "/mcp/0/name"),
        ("[[mcp]]\ncommand = \"a\"", "/mcp/0"),
        (
            "[[mcp]]\nname = \"a\"\nreconnect = { attempts = 0 }",
            "/mcp/0/reconnect/attempts",
        ),
        ("[serve]\nport = 1", "/serve"),
        (
            "[[agent]]\nname = \"a\"\npolicy.rules = [{ name = \"a\" }]",
            "/agent/0/policy/rules/0",
        ),
    ] {
        let wrong = wrong(&schema, config).unwrap_or_else(|| panic!("valid: {config}"));
        assert!(
            wrong.starts_with(&format!("{place}: ")),
            "{config}: {wrong}"
        );
    }
}

/// What the README says to write is taken by the program, not only by the schema.
#[test]
fn the_gateway_of_the_readme_is_valid() {
    let readme = include_str!("../README.md");
    let blocks = readme.split("```toml\n").skip(1);
    let block = blocks
        .filter_map(|rest| rest.split("```").next())
        .find(|block| block.contains("[[mcp]]"))
        .expect("a configuration");
    assert_eq!(wrong(&schema(), block), None);
    let place = Place::new();
    place.write("toolfall.toml", block);
    // All of it is read before the address is refused.
    let args = ["serve", "--http", "192.0.2.1:1"];
    let ran = place.command(&args).env("GITHUB_TOKEN", "x").output();
    let err = String::from_utf8_lossy(&ran.expect("it starts").stderr).into_owned();
    assert!(err.contains("expected a token for 192.0.2.1:1"), "{err}");
}

/// An unknown key is answered with its place and the known ones, which are
/// those of the schema.
#[test]
fn the_program_knows_the_keys_of_the_schema_and_no_others() {
    let schema = schema();
    let mut found = BTreeMap::new();
    tables("", &schema, &mut found);
    let place = Place::new();
    place.write("empty.jsonl", "");
    for (name, table) in &found {
        let (before, after) = match name.as_str() {
            "" => (String::new(), ""),
            "replay.answers" => ("[[replay]]\nname = \"a\"\nanswers = [{ ".to_owned(), " }]"),
            "policy.rules.arguments" => (format!("{RULE}arguments = [{{ "), " }]"),
            "agent.policy.rules.arguments" => (
                format!(
                    "{AGENT}[agent.policy]\n{}arguments = [{{ ",
                    RULE.replace("[[", "[[agent.")
                ),
                " }]",
            ),
            "mcp.reconnect" => ("[[mcp]]\nname = \"a\"\nreconnect = { ".to_owned(), " }"),
            "agent.policy" => (format!("{AGENT}[agent.policy]\n"), ""),
            "agent.policy.rules" => (format!("{AGENT}[[agent.policy.rules]]\n"), ""),
            "grants.arguments" => (
                "[[grants]]\nname = \"a\"\ntool = \"a\"\narguments = [{ ".to_owned(),
                " }]",
            ),
            "command" | "replay" | "mcp" | "grants" | "agent" | "permission.presets"
            | "policy.rules" | "hooks.before" | "hooks.after" | "redaction.tool"
            | "redaction.pattern" => (format!("[[{name}]]\n"), ""),
            name => (format!("[{name}]\n"), ""),
        };
        place.write("toolfall.toml", format!("{before}odd = 1{after}\n"));
        let ran = place.run(&["run", "empty.jsonl"]);
        assert_eq!(ran.status, 2, "{name}: {}", ran.err);
        let line = before.matches('\n').count() + 1;
        let column = before.len() - before.rfind('\n').map_or(0, |end| end + 1) + 1;
        let wanted = format!("toolfall.toml:{line}:{column}: unknown field `odd`, expected ");
        let (_, known) = ran
            .err
            .split_once(&wanted)
            .unwrap_or_else(|| panic!("{wanted}\n{}", ran.err));
        let known: BTreeSet<&str> = known.split('`').skip(1).step_by(2).collect();
        let keys = table["properties"].as_object().expect("keys");
        let keys: BTreeSet<&str> = keys.keys().map(String::as_str).collect();
        assert_eq!(known, keys, "{name:?}");
        assert_eq!(table["additionalProperties"], false, "{name:?}");
        for key in keys {
            let told = table["properties"][key]["description"].as_str();
            assert!(told.is_some_and(|told| told.len() > 5), "{name:?} {key}");
        }
    }
    assert!(found.len() >= 24, "{:?}", found.keys());
}

/// The sections of the document by the table that they are about.
fn sections() -> BTreeMap<&'static str, &'static str> {
    let mut sections = BTreeMap::new();
    for section in DOCUMENT.split("\n## ").skip(1) {
        let (title, text) = section.split_once('\n').expect("a title");
        let name = title.trim_matches(['`', '[', ']']);
        sections.insert(if name == "At the top" { "" } else { name }, text);
    }
    sections
}

fn words(text: &str) -> BTreeSet<&str> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted
        .map(|word| word.split([' ', '=']).next().unwrap_or_default())
        .collect()
}

#[test]
fn every_key_is_documented_and_every_documented_key_is_there() {
    let schema = schema();
    let mut found = BTreeMap::new();
    tables("", &schema, &mut found);
    let sections = sections();
    for (name, text) in &sections {
        let mine = found.iter().filter(|(place, _)| match *name {
            "" => place.is_empty(),
            name => place.split('.').next() == Some(name),
        });
        let mut keys: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
        for (_, table) in mine {
            for (key, value) in table["properties"].as_object().expect("keys") {
                keys.entry(key).or_default().push(value);
            }
        }
        assert!(!keys.is_empty(), "the section {name:?} is about a table");
        let told = words(text);
        for key in keys.keys() {
            let section = sections.contains_key(key) && name.is_empty();
            assert!(section || told.contains(key), "{key} of {name:?} is told");
        }
        for row in text.lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> = row.split(" | ").collect();
            for key in words(cells[0]) {
                let values = keys.get(key);
                let values = values.unwrap_or_else(|| panic!("{key} of {name:?} is there"));
                // A default that is a plain value is told as it is.
                let defaults = values.iter().filter_map(|value| value.get("default"));
                let defaults: Vec<String> = defaults.map(Value::to_string).collect();
                let told = cells
                    .get(1)
                    .map_or("", |cell| cell.trim().trim_matches('`'));
                let plain = serde_json::from_str::<Value>(told).is_ok();
                assert!(
                    !plain || defaults.iter().any(|default| default == told),
                    "{key} of {name:?}: {told} and not one of {defaults:?}"
                );
            }
        }
    }
    for key in schema["properties"].as_object().expect("keys").keys() {
        let told =
            sections.contains_key(key.as_str()) || words(sections[""]).contains(key.as_str());
        assert!(told, "{key}");
    }
}
