//! The gateway in front of published servers: every tool is listed, and its
//! answers are those of the server itself. Published clients drive it.
//!
//! Skipped, with a message, unless `TOOLFALL_MCP_NPM` (a `node_modules`) and
//! `TOOLFALL_MCP_PYTHON` (the `bin` of a virtual environment) name where the
//! packages are.
#![cfg(target_os = "linux")]
// Processes are waited for by the clock on the wall.
#![allow(clippy::disallowed_methods)]

#[path = "support/gateway.rs"]
mod peer;
#[path = "support/cli.rs"]
mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use peer::Peer;
use serde_json::{Value, json};
use support::{Place, Ran};
use toolfall::mcp::tool::public_name;

/// A published server, and a call or more of each of its tools.
struct Published {
    name: &'static str,
    program: PathBuf,
    args: Vec<String>,
    env: Vec<(&'static str, String)>,
    calls: Vec<(&'static str, Value)>,
    /// Tools whose answers hold the time.
    timed: &'static [&'static str],
}

/// Where the packages are; none if they are not.
fn packages(variable: &str) -> Option<PathBuf> {
    let found = std::env::var_os(variable).map(PathBuf::from);
    if found.is_none() {
        eprintln!("skipped: {variable} does not say where the published servers are");
    }
    found
}

fn node(npm: &Path, package: &str, args: &[&str]) -> (PathBuf, Vec<String>) {
    let index = npm.join(format!("@modelcontextprotocol/{package}/dist/index.js"));
    let mut words = vec![index.to_string_lossy().into_owned()];
    words.extend(args.iter().map(|&arg| arg.to_owned()));
    (the_node(), words)
}

/// The Node that `.ci/run` installs, or the system's own.
fn the_node() -> PathBuf {
    std::env::var_os("TOOLFALL_NODE").map_or_else(|| PathBuf::from("node"), PathBuf::from)
}

fn everything(npm: &Path) -> Published {
    let (program, args) = node(npm, "server-everything", &["stdio"]);
    Published {
        name: "everything",
        program,
        args,
        env: Vec::new(),
        timed: &["get-resource-reference"],
        calls: vec![
            ("echo", json!({"message": "hello"})),
            (
                "get-annotated-message",
                json!({"messageType": "success", "includeImage": true}),
            ),
            ("get-env", json!({})),
            ("get-resource-links", json!({"count": 3})),
            (
                "get-resource-reference",
                json!({"resourceType": "Text", "resourceId": 1}),
            ),
            ("get-structured-content", json!({"location": "New York"})),
            ("get-sum", json!({"a": 1, "b": 2})),
            ("get-sum", json!({"a": "no number"})),
            ("get-tiny-image", json!({})),
            (
                "gzip-file-as-resource",
                json!({"name": "a.gz", "data": "data:text/plain,hello", "outputType": "resource"}),
            ),
            ("simulate-research-query", json!({"topic": "tests"})),
            ("toggle-simulated-logging", json!({})),
            ("toggle-subscriber-updates", json!({})),
            (
                "trigger-long-running-operation",
                json!({"duration": 1, "steps": 2}),
            ),
        ],
    }
}

fn filesystem(npm: &Path, folder: &Path) -> Published {
    let (program, args) = node(npm, "server-filesystem", &[&folder.to_string_lossy()]);
    let at = |name: &str| folder.join(name).to_string_lossy().into_owned();
    Published {
        name: "filesystem",
        program,
        args,
        env: Vec::new(),
        timed: &["get_file_info"],
        calls: vec![
            ("list_allowed_directories", json!({})),
            ("create_directory", json!({"path": at("sub")})),
            (
                "write_file",
                json!({"path": at("sub/a.txt"), "content": "one\ntwo\n"}),
            ),
            (
                "edit_file",
                json!({"path": at("sub/a.txt"), "edits": [{"oldText": "two", "newText": "three"}]}),
            ),
            ("read_file", json!({"path": at("sub/a.txt")})),
            (
                "read_text_file",
                json!({"path": at("sub/a.txt"), "head": 1}),
            ),
            ("read_text_file", json!({"path": "/etc/passwd"})),
            (
                "read_multiple_files",
                json!({"paths": [at("sub/a.txt"), at("none")]}),
            ),
            ("read_media_file", json!({"path": at("dot.png")})),
            ("list_directory", json!({"path": at("")})),
            ("list_directory_with_sizes", json!({"path": at("sub")})),
            ("directory_tree", json!({"path": at("")})),
            (
                "search_files",
                json!({"path": at(""), "pattern": "**/*.txt"}),
            ),
            ("get_file_info", json!({"path": at("sub/a.txt")})),
            (
                "move_file",
                json!({"source": at("sub/a.txt"), "destination": at("b.txt")}),
            ),
        ],
    }
}

fn memory(npm: &Path, folder: &Path) -> Published {
    let (program, args) = node(npm, "server-memory", &[]);
    let file = folder.join("memory.jsonl").to_string_lossy().into_owned();
    Published {
        name: "memory",
        program,
        args,
        env: vec![("MEMORY_FILE_PATH", file)],
        timed: &[],
        calls: vec![
            (
                "create_entities",
                json!({"entities": [
                {"name": "a", "entityType": "t", "observations": ["one"]},
                {"name": "b", "entityType": "t", "observations": []}]}),
            ),
            (
                "create_relations",
                json!({"relations": [{"from": "a", "to": "b", "relationType": "knows"}]}),
            ),
            (
                "add_observations",
                json!({"observations": [{"entityName": "a", "contents": ["two"]}]}),
            ),
            ("read_graph", json!({})),
            ("search_nodes", json!({"query": "two"})),
            ("open_nodes", json!({"names": ["a"]})),
            (
                "delete_observations",
                json!({"deletions": [{"entityName": "a", "observations": ["one"]}]}),
            ),
            (
                "delete_relations",
                json!({"relations": [{"from": "a", "to": "b", "relationType": "knows"}]}),
            ),
            ("delete_entities", json!({"entityNames": ["b"]})),
            (
                "add_observations",
                json!({"observations": [{"entityName": "nobody", "contents": ["x"]}]}),
            ),
        ],
    }
}

fn thinking(npm: &Path) -> Published {
    let (program, args) = node(npm, "server-sequential-thinking", &[]);
    Published {
        name: "thinking",
        program,
        args,
        env: Vec::new(),
        timed: &[],
        calls: vec![(
            "sequentialthinking",
            json!({
            "thought": "first", "nextThoughtNeeded": true, "thoughtNumber": 1, "totalThoughts": 2}),
        )],
    }
}

fn time(python: &Path) -> Published {
    Published {
        name: "time",
        program: python.join("mcp-server-time"),
        args: vec!["--local-timezone".to_owned(), "UTC".to_owned()],
        env: Vec::new(),
        timed: &["get_current_time", "convert_time"],
        calls: vec![
            ("get_current_time", json!({"timezone": "Asia/Tokyo"})),
            (
                "convert_time",
                json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}),
            ),
            (
                "convert_time",
                json!({"source_timezone": "Nowhere", "time": "12:00", "target_timezone": "UTC"}),
            ),
        ],
    }
}

fn git(python: &Path, folder: &Path) -> Published {
    let repo = folder.to_string_lossy().into_owned();
    let with = |more: Value| {
        let mut whole = json!({"repo_path": repo});
        let more = more.as_object().expect("an object").clone();
        whole.as_object_mut().expect("an object").extend(more);
        whole
    };
    Published {
        name: "git",
        program: python.join("mcp-server-git"),
        args: vec!["--repository".to_owned(), repo.clone()],
        env: dated(),
        timed: &[],
        calls: vec![
            ("git_status", with(json!({}))),
            ("git_diff_unstaged", with(json!({}))),
            ("git_add", with(json!({"files": ["a.txt"]}))),
            ("git_diff_staged", with(json!({}))),
            ("git_reset", with(json!({}))),
            ("git_add", with(json!({"files": ["a.txt"]}))),
            ("git_commit", with(json!({"message": "second"}))),
            ("git_log", with(json!({"max_count": 5}))),
            ("git_show", with(json!({"revision": "HEAD"}))),
            ("git_create_branch", with(json!({"branch_name": "side"}))),
            ("git_checkout", with(json!({"branch_name": "side"}))),
            ("git_branch", with(json!({"branch_type": "local"}))),
            ("git_diff", with(json!({"target": "HEAD~1"}))),
            ("git_show", with(json!({"revision": "nowhere"}))),
        ],
    }
}

/// Commits that are the same whenever they are made.
fn dated() -> Vec<(&'static str, String)> {
    let date = || "2026-01-02T03:04:05Z".to_owned();
    vec![
        ("GIT_AUTHOR_DATE", date()),
        ("GIT_COMMITTER_DATE", date()),
        ("GIT_AUTHOR_NAME", "t".to_owned()),
        ("GIT_AUTHOR_EMAIL", "t@example.test".to_owned()),
        ("GIT_COMMITTER_NAME", "t".to_owned()),
        ("GIT_COMMITTER_EMAIL", "t@example.test".to_owned()),
    ]
}

/// Makes the folder of the servers anew.
fn fresh(folder: &Path) {
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder.join("files")).expect("a folder");
    let png = [0x89, b'P', b'N', b'G', 13, 10, 26, 10];
    std::fs::write(folder.join("files/dot.png"), png).expect("a file");
    let repo = folder.join("repo");
    std::fs::create_dir_all(&repo).expect("a folder");
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        let ran = command
            .args(args)
            .current_dir(&repo)
            .envs(dated())
            .output()
            .expect("git");
        assert!(
            ran.status.success(),
            "{}",
            String::from_utf8_lossy(&ran.stderr)
        );
    };
    git(&["init", "-q", "-b", "main"]);
    std::fs::write(repo.join("a.txt"), "one\n").expect("a file");
    git(&["add", "a.txt"]);
    git(&["commit", "-qm", "first"]);
    std::fs::write(repo.join("a.txt"), "two\n").expect("a file");
}

fn servers(npm: &Path, python: &Path, folder: &Path) -> Vec<Published> {
    vec![
        everything(npm),
        filesystem(npm, &folder.join("files")),
        memory(npm, folder),
        thinking(npm),
        time(python),
        git(python, &folder.join("repo")),
    ]
}

fn config(servers: &[Published]) -> String {
    let mut text = "[policy]\notherwise = \"allow\"\n".to_owned();
    for server in servers {
        let env: Vec<String> = server
            .env
            .iter()
            .map(|(name, value)| format!("{name} = {value:?}"))
            .collect();
        let table = format!(
            "[[mcp]]\nname = {:?}\ncommand = {:?}\nargs = {:?}\nenv = {{ {} }}\ninherit_env = true\nstrict = true\nconnect_timeout_ms = 120000\n",
            server.name,
            server.program.to_string_lossy(),
            server.args,
            env.join(", ")
        );
        text.push_str(&table);
    }
    text
}

/// What a client makes of an answer: the content, the structured content and
/// whether it is an error. `timed` answers are compared without digits.
fn told(answer: &Value, timed: bool) -> Value {
    let result = &answer["result"];
    let mut text = json!([
        result["content"],
        result["structuredContent"],
        result["isError"].as_bool().unwrap_or(false),
    ])
    .to_string();
    if timed {
        text.retain(|letter| !letter.is_ascii_digit());
        // Days of the week, months and truth values come and go with it.
        text = text
            .split(['"', ' ', '\\'])
            .filter(|word| word.len() > 9)
            .collect();
    }
    Value::String(text)
}

fn failed(answer: &Value) -> bool {
    answer["error"].is_object() || answer["result"]["isError"] == true
}

/// What a failure says.
fn reason(answer: &Value) -> String {
    let message = answer["error"]["message"].as_str();
    let text = answer["result"]["content"][0]["text"].as_str();
    message.or(text).unwrap_or_default().to_owned()
}

#[test]
fn every_tool_of_published_servers_answers_as_it_does_directly() {
    let (Some(npm), Some(python)) = (
        packages("TOOLFALL_MCP_NPM"),
        packages("TOOLFALL_MCP_PYTHON"),
    ) else {
        return;
    };
    let place = Place::new();
    let folder = place.path("data");
    let servers = servers(&npm, &python, &folder);
    fresh(&folder);
    let mut direct: Vec<(Vec<Value>, Vec<Value>)> = Vec::new();
    for server in &servers {
        let mut command = Command::new(&server.program);
        command.args(&server.args).current_dir(place.0.path());
        for (name, value) in &server.env {
            command.env(name, value);
        }
        let mut peer = Peer::met(&mut command, None);
        let tools = peer.tools();
        let answers = server
            .calls
            .iter()
            .map(|(tool, arguments)| peer.call(tool, arguments.clone()));
        direct.push((tools, answers.collect()));
    }

    fresh(&folder);
    place.write("toolfall.toml", config(&servers));
    let mut gateway = Peer::met(&mut place.command(&["serve", "--stdio"]), None);
    let listed = gateway.tools();
    let (mut tools, mut calls) = (0, 0);
    for (server, (definitions, answers)) in servers.iter().zip(&direct) {
        let mut called = BTreeSet::new();
        for definition in definitions {
            let name = definition["name"].as_str().expect("a name");
            let public = public_name(server.name, name);
            let through = listed.iter().find(|tool| tool["name"] == *public);
            let through = through.unwrap_or_else(|| panic!("{public} is listed"));
            assert_eq!(
                through["description"], definition["description"],
                "{public}"
            );
            assert_eq!(
                through["inputSchema"]["properties"], definition["inputSchema"]["properties"],
                "{public}"
            );
            tools += 1;
        }
        for ((tool, arguments), answer) in server.calls.iter().zip(answers) {
            let name = format!("{} {tool} {arguments}", server.name);
            let through = gateway.call(&public_name(server.name, tool), arguments.clone());
            calls += 1;
            called.insert(*tool);
            assert_eq!(
                failed(&through),
                failed(answer),
                "{name}\n{through}\n{answer}"
            );
            if failed(answer) {
                // A failure says at least what the server said, or that the
                // arguments do not fit, which the server is not asked about.
                let (ours, theirs) = (reason(&through), reason(answer));
                let own = ours.contains("argument") || ours.contains("task");
                assert!(
                    ours.contains(theirs.trim()) || own,
                    "{name}\n{ours}\n{theirs}"
                );
                continue;
            }
            let timed = server.timed.contains(tool);
            assert_eq!(told(&through, timed), told(answer, timed), "{name}");
        }
        assert_eq!(
            called.len(),
            definitions.len(),
            "{}: every tool is called",
            server.name
        );
    }
    assert_eq!(listed.len(), tools, "nothing else is listed");
    println!(
        "{} servers, {tools} tools, {calls} calls with the same answers",
        servers.len()
    );
    let (status, err) = gateway.end();
    assert!(status.success(), "{err}");
    let checked = place.run(&["check", "toolfall-session.jsonl"]);
    assert_eq!(checked.status, 0, "{}", checked.out);
}

fn everything_alone(npm: &Path) -> Place {
    let place = Place::new();
    place.write("toolfall.toml", config(&[everything(npm)]));
    place
}

#[test]
fn the_inspector_drives_it() {
    let Some(npm) = packages("TOOLFALL_MCP_NPM") else {
        return;
    };
    let place = everything_alone(&npm);
    let inspect = |args: &[&str]| {
        let mut command = Command::new(the_node());
        command
            .arg(npm.join("@modelcontextprotocol/inspector/cli/build/cli.js"))
            .args(["--cli", env!("CARGO_BIN_EXE_toolfall"), "serve"])
            .args(args)
            .current_dir(place.0.path());
        Ran::of(command.output().expect("node"))
    };
    let ran = inspect(&["--method", "tools/list"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let listed: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(listed["tools"].as_array().map(Vec::len), Some(13));
    let sum = [
        "--method",
        "tools/call",
        "--tool-name",
        "mcp__everything__get-sum",
        "--tool-arg",
        "a=1",
        "--tool-arg",
        "b=2",
    ];
    let ran = inspect(&sum);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let answer: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(answer["content"][0]["text"], "The sum of 1 and 2 is 3.");
}

const CLIENT: &str = r#"
import asyncio, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main():
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = (await session.list_tools()).tools
        assert len(tools) == 13, tools
        answer = await session.call_tool("mcp__everything__get-sum", {"a": 1, "b": 2})
        assert answer.content[0].text == "The sum of 1 and 2 is 3.", answer
        answer = await session.call_tool("mcp__everything__get-structured-content", {"location": "Chicago"})
        assert "temperature" in answer.model_dump_json(), answer
        answer = await session.call_tool("mcp__everything__get-sum", {"a": "x"})
        assert "rror" in answer.content[0].text, answer
    print("done")

asyncio.run(main())
"#;

#[test]
fn the_official_python_client_drives_it() {
    let (Some(npm), Some(python)) = (
        packages("TOOLFALL_MCP_NPM"),
        packages("TOOLFALL_MCP_PYTHON"),
    ) else {
        return;
    };
    let place = everything_alone(&npm);
    place.write("client.py", CLIENT);
    let ran = Command::new(python.join("python"))
        .args([
            "client.py",
            env!("CARGO_BIN_EXE_toolfall"),
            "serve",
            "--stdio",
        ])
        .current_dir(place.0.path())
        .output();
    let ran = Ran::of(ran.expect("python"));
    assert_eq!((ran.status, ran.out.trim()), (0, "done"), "{}", ran.err);
}
