//! `toolfall wrap`: one server behind rules, without any file.
#![cfg(target_os = "linux")]
// Processes are waited for by the clock on the wall.
#![allow(clippy::disallowed_methods)]

#[path = "support/gateway.rs"]
mod peer;
#[path = "support/cli.rs"]
mod support;

use peer::{Peer, SERVER};
use serde_json::{Value, json};
use support::Place;

fn wrapped(place: &Place, args: &[&str], answers: Option<Value>) -> Peer {
    let server = ["--", "python3", "server.py"];
    let args = [&["wrap"], args, &server].concat();
    let mut command = place.command(&args);
    command
        .env("XDG_STATE_HOME", place.path("state"))
        .env("GIVEN", "yes");
    Peer::met(&mut command, answers)
}

fn place() -> Place {
    let place = Place::new();
    place.write("server.py", SERVER);
    place
}

/// Names, variables and answers are those of the server itself.
#[test]
fn it_drops_in() {
    let place = place();
    let mut direct = Peer::met(
        std::process::Command::new("python3")
            .arg(place.path("server.py"))
            .env("GIVEN", "yes"),
        None,
    );
    let mut client = wrapped(&place, &["--allow", "*"], None);
    let mut names = direct.names();
    names.sort();
    assert_eq!(client.names(), names);
    let direct = direct.call("env", json!({"name": "GIVEN"}));
    let through = client.call("env", json!({"name": "GIVEN"}));
    assert_eq!(through["result"]["content"], direct["result"]["content"]);
    assert_eq!(through["result"]["content"][0]["text"], "yes");
    let (status, err) = client.end();
    assert!(status.success(), "{err}");
    let checked = place.run(&["check", "state/toolfall/wrap-server.jsonl"]);
    assert_eq!(checked.status, 0, "{}", checked.err);
    assert!(!place.path("toolfall-session.jsonl").exists());
}

#[test]
fn what_is_not_allowed_is_asked_about_or_refused() {
    let place = place();
    let args = ["--allow", "e*", "--deny", "env"];
    let approve = json!({"action": "accept", "content": {"decision": "approve"}});
    let mut client = wrapped(&place, &args, Some(approve));
    assert_eq!(client.text("echo", json!({})), "{}");
    assert_eq!(client.asked.len(), 0, "what is allowed is not asked about");
    assert_eq!(client.call("env", json!({}))["result"]["isError"], true);
    assert_eq!(client.asked.len(), 0, "what is denied neither");
    client.text("pid", json!({}));
    assert_eq!(client.asked.len(), 1);
    drop(client);

    let mut client = wrapped(&place, &args, None);
    let text = client.text("pid", json!({}));
    assert!(
        text.contains("put \"--allow\", \"pid\" before the \"--\""),
        "{text}"
    );
}

#[test]
fn rules_come_from_a_file() {
    let place = place();
    place.write(
        "rules.toml",
        "otherwise = \"deny\"\n[[rules]]\nname = \"r\"\nverdict = \"allow\"\ntools = [\"e*\"]\n",
    );
    let mut client = wrapped(&place, &["--rules", "rules.toml", "--deny", "env"], None);
    assert_eq!(client.text("echo", json!({})), "{}");
    for name in ["env", "pid"] {
        assert_eq!(
            client.call(name, json!({}))["result"]["isError"],
            true,
            "{name}"
        );
    }
    drop(client);
    place.write("rules.toml", "otherwise = \"maybe\"\n");
    let ran = place.run(&["wrap", "--rules", "rules.toml", "--", "true"]);
    assert_eq!(ran.status, 2);
    assert!(ran.err.contains("rules.toml"), "{}", ran.err);
}

#[test]
fn a_server_that_does_not_start_is_told() {
    let place = place();
    let ran = place.run(&["wrap", "--log", "l.jsonl", "--", "./nowhere"]);
    assert_eq!(ran.status, 1, "{}", ran.err);
    assert!(ran.err.contains("nowhere"), "{}", ran.err);
    assert_eq!(place.run(&["wrap"]).status, 2);
    let odd = place.run(&["wrap", "--name", "a b", "--log", "l.jsonl", "--", "true"]);
    assert_eq!(odd.status, 2, "{}", odd.err);
}
