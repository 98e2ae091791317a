//! `toolfall import`: clients' configurations become a `toolfall.toml`.

#[path = "support/cli.rs"]
mod support;

use serde_json::{Value, json};
use support::{Place, Ran};

fn table(text: &str) -> Value {
    let table: toml::Table = toml::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    serde_json::to_value(table).expect("JSON")
}

fn import(file: &str, text: &str) -> Ran {
    let place = Place::new();
    place.write(file, text);
    let ran = place.run(&["import", file]);
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    ran
}

/// The servers that a file comes to, and what was told.
fn servers(text: &str) -> (Value, String) {
    let ran = import("client.json", text);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let table = table(&ran.out);
    (table["mcp"].clone(), ran.err)
}

#[test]
fn claude_desktop() {
    let (mcp, told) = servers(
        r#"{ "mcpServers": {
            // comments and trailing commas are fine
            "filesystem": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/data // not a comment"], },
            "github": { "command": "docker", "args": ["run", "-i"], "env": { "GITHUB_TOKEN": "ghp_0123456789abcdefghijABCDEFGHIJ012345" } },
        } }"#,
    );
    assert_eq!(
        mcp,
        json!([
            {"name": "filesystem", "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/data // not a comment"]},
            {"name": "github", "command": "docker", "args": ["run", "-i"], "env": {"GITHUB_TOKEN": "ghp_0123456789abcdefghijABCDEFGHIJ012345"}},
        ])
    );
    assert!(
        told.contains("github: GITHUB_TOKEN may be a secret"),
        "{told}"
    );
    assert!(!told.contains("ghp_"), "no secret is told: {told}");
    let (_, lines) = told.split_once("servers:\n").expect("the client's lines");
    let lines: Value = serde_json::from_str(lines).expect("JSON");
    let args = &lines["mcpServers"]["toolfall"]["args"];
    assert_eq!(args[0], "serve");
    assert_eq!(args[1], "--stdio");
    assert!(
        args[3]
            .as_str()
            .is_some_and(|path| path.starts_with('/') && path.ends_with("/toolfall.toml"))
    );
}

#[test]
fn visual_studio_code_with_inputs() {
    let (mcp, told) = servers(
        r#"{ "inputs": [{"type": "promptString", "id": "api-key", "password": true}],
             "servers": {
               "search": { "type": "stdio", "command": "${workspaceFolder}/run", "env": {"API_KEY": "${input:api-key}", "HOST": "${env:HOST}"}, "envFile": ".env" },
               "remote": { "type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${input:api-key}"} },
               "old": { "type": "sse", "url": "https://example.com/sse" }
             } }"#,
    );
    assert_eq!(
        mcp,
        json!([
            {"name": "old", "url": "https://example.com/sse"},
            {"name": "remote", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${API_KEY}"}},
            {"name": "search", "command": "$${workspaceFolder}/run", "env": {"API_KEY": "${API_KEY}", "HOST": "${HOST}"}},
        ])
    );
    for wanted in [
        "old: is of the type \"sse\"",
        "search: ${workspaceFolder} has no counterpart",
        "search: \"envFile\" was not taken over",
    ] {
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
    assert!(
        !told.contains("may be a secret"),
        "references are none: {told}"
    );
    let (_, lines) = told.split_once("servers:\n").expect("the client's lines");
    let lines: Value = serde_json::from_str(lines).expect("JSON");
    let server = &lines["servers"]["toolfall"];
    assert_eq!(server["env"], json!({"API_KEY": "${input:api-key}"}));
    assert_eq!(server["type"], "stdio");
    assert_eq!(lines["inputs"][0]["id"], "api-key");
}

#[test]
fn other_clients() {
    for (text, wanted) in [
        (
            r#"{"context_servers": {"a": {"command": {"path": "x", "args": ["y"], "env": {"N": 1}}, "settings": {}}}}"#,
            json!([{"name": "a", "command": "x", "args": ["y"], "env": {"N": "1"}}]),
        ),
        (
            r#"{"context_servers": {"a": {"source": "custom", "enabled": false, "command": "x"}}}"#,
            json!([{"name": "a", "command": "x", "disabled": true}]),
        ),
        (
            r#"{"mcp": {"servers": {"a": {"command": "x"}}}, "editor.fontSize": 12}"#,
            json!([{"name": "a", "command": "x"}]),
        ),
        (
            r#"{"mcpServers": {"a": {"serverUrl": "http://h/mcp", "disabled": true}}}"#,
            json!([{"name": "a", "url": "http://h/mcp", "disabled": true}]),
        ),
        (
            r#"{"mcpServers": {"a": {"httpUrl": "http://h/mcp"}, "b": {"command": ["x", "y"], "args": ["z"], "cwd": "/w"}}}"#,
            json!([{"name": "a", "url": "http://h/mcp"}, {"name": "b", "command": "x", "args": ["y", "z"], "cwd": "/w"}]),
        ),
    ] {
        assert_eq!(servers(text).0, wanted, "{text}");
    }
}

#[test]
fn names_become_valid_and_stay_apart() {
    let (mcp, told) = servers(
        r#"{"mcpServers": {"My Server": {"command": "x"}, "My_Server": {"command": "y"}, "@a/b__c_": {"command": "z"}}}"#,
    );
    let names: Vec<&str> = mcp
        .as_array()
        .expect("servers")
        .iter()
        .filter_map(|s| s["name"].as_str())
        .collect();
    assert_eq!(names, ["a_b_c", "My_Server", "My_Server-2"]);
    assert!(
        told.contains("\"My Server\" is called \"My_Server\" from now on"),
        "{told}"
    );
    assert!(
        told.contains("\"My_Server\" is called \"My_Server-2\""),
        "{told}"
    );
}

#[test]
fn tools_that_the_client_allows_become_a_rule() {
    let ran = import(
        "c.json",
        r#"{"mcpServers": {"db": {"command": "x", "autoApprove": ["query", "list*"]}}}"#,
    );
    let table = table(&ran.out);
    let rule = &table["policy"]["rules"][0];
    assert_eq!(rule["verdict"], "allow");
    assert_eq!(rule["tools"][0], "mcp__db__query");
    assert_eq!(table["policy"]["otherwise"], "ask");
}

#[test]
fn what_cannot_be_taken_over_is_told() {
    let (mcp, told) = servers(
        r#"{"mcpServers": {
            "good": {"command": "x", "timeout": 5},
            "empty": {}, "list": [], "odd": {"command": 5}, "args": {"command": "x", "args": [[]]},
            "us": {"command": "/usr/bin/toolfall", "args": ["serve"]},
            "ws": {"type": "ws", "url": "ws://h"}
        }, "projects": {"/p": {"mcpServers": {"inner": {"command": "x"}}}}}"#,
    );
    assert_eq!(mcp, json!([{"name": "good", "command": "x"}]));
    for wanted in [
        "good: \"timeout\" was not taken over",
        "left out \"empty\": expected a command or a url",
        "left out \"list\": expected an object",
        "left out \"odd\": /command: expected",
        "left out \"args\": /args/0: expected a string",
        "left out \"us\": is toolfall itself",
        "left out \"ws\": /type: expected stdio or http",
        "left out: 1 server(s) of the project \"/p\"",
    ] {
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
}

#[test]
fn mistakes_name_the_file_and_the_line() {
    for (text, wanted) in [
        ("{\n \"mcpServers\": {1}\n}", "c.json:2: expected JSON"),
        ("[]", "c.json: expected an object of servers"),
        ("{\"mcpServer\": {}}", "found the keys [\"mcpServer\"]"),
        (
            "{\"mcpServers\": []}",
            "found another value under /mcpServers",
        ),
        (
            "{\"mcpServers\": {}}",
            "c.json: expected servers, found none",
        ),
    ] {
        let ran = import("c.json", text);
        assert_eq!(ran.status, 2, "{text}: {}", ran.err);
        assert!(ran.err.contains(wanted), "{text}: {}", ran.err);
        assert_eq!(ran.out, "");
    }
    let deep = format!(
        "{{\"mcpServers\": {}{}}}",
        "[".repeat(5000),
        "]".repeat(5000)
    );
    assert_eq!(import("c.json", &deep).status, 2);
    assert_eq!(Place::new().run(&["import", "nowhere.json"]).status, 2);
}

#[test]
fn nothing_is_overwritten_unless_told() {
    let place = Place::new();
    place.write("c.json", r#"{"mcpServers": {"a": {"command": "x"}}}"#);
    let args = ["import", "c.json", "--output", "toolfall.toml"];
    let ran = place.run(&args);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let lines: Value = serde_json::from_str(&ran.out).expect("the client's lines");
    assert_eq!(lines["mcpServers"]["toolfall"]["args"][0], "serve");
    let written = std::fs::read_to_string(place.path("toolfall.toml")).expect("a file");
    assert_eq!(table(&written)["mcp"][0]["name"], "a");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(place.path("toolfall.toml"))
            .expect("it")
            .permissions();
        assert_eq!(mode.mode() & 0o077, 0, "secrets may be in it");
    }
    place.write("toolfall.toml", "mine");
    let ran = place.run(&args);
    assert_eq!(ran.status, 2);
    assert!(
        ran.err.contains("toolfall.toml: expected no file there"),
        "{}",
        ran.err
    );
    assert_eq!(
        std::fs::read(place.path("toolfall.toml")).expect("it"),
        b"mine"
    );
    assert_eq!(place.run(&[&args[..], &["--force"]].concat()).status, 0);
    let written = std::fs::read_to_string(place.path("toolfall.toml")).expect("a file");
    assert_eq!(table(&written)["mcp"][0]["name"], "a");
}
