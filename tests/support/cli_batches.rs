//! Runs of batches of a tool `echo` under a configuration.
#![allow(dead_code)] // Each test file uses its own part.

use serde_json::{Value, json};

use super::support::{Place, Ran, code};

pub(crate) const ECHO: &str = "[[replay]]\nname = \"echo\"\nunrecorded = \"show\"\n";
pub(crate) const ALLOW: &str = "[policy]\notherwise = \"allow\"\n";

/// Batches of calls of `echo`, by their arguments; a text is another name.
pub(crate) fn batches(batches: &[&[Value]]) -> String {
    let mut lines = String::new();
    for (number, calls) in batches.iter().enumerate() {
        let call = |(place, arguments): (usize, &Value)| {
            let id = format!("{number}.{place}");
            match arguments.as_str() {
                Some(name) => json!({"call_id": id, "name": name, "arguments": {}}),
                None => json!({"call_id": id, "name": "echo", "arguments": arguments}),
            }
        };
        let calls: Vec<Value> = calls.iter().enumerate().map(call).collect();
        lines += &json!({"id": number.to_string(), "calls": calls}).to_string();
        lines.push('\n');
    }
    lines
}

/// Runs batches under a configuration, and checks the log.
pub(crate) fn run(place: &Place, config: &str, input: &[&[Value]], more: &[&str]) -> Ran {
    place.write("toolfall.toml", format!("{ECHO}{config}"));
    place.write("b.jsonl", batches(input));
    let ran = place.run(&[&["run", "b.jsonl", "--json"], more].concat());
    let checked = place.run(&["check", "toolfall-session.jsonl"]);
    assert_eq!(
        checked.status, 0,
        "{}{}\n{}",
        checked.out, checked.err, ran.err
    );
    ran
}

pub(crate) fn codes(ran: &Ran) -> Vec<String> {
    ran.results().iter().map(|r| code(r).to_owned()).collect()
}

pub(crate) fn message(result: &Value) -> &str {
    result["error"]["message"].as_str().unwrap_or_default()
}
