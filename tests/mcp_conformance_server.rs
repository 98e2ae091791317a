//! The official conformance package against our server.
//!
//! Runs where `TOOLFALL_NODE` names a Node of version 22, and
//! `TOOLFALL_MCP_CONFORMANCE` and `TOOLFALL_MCP_CONFORMANCE_OLD` the
//! `dist/index.js` of versions 0.2 and 0.1, as `.ci/run` installs them; else
//! it says that it did not. What does not apply, with the reason, stands in
//! `tests/conformance/`: each of it must fail, and nothing else may.

#[path = "support/mcp_conformance.rs"]
mod support;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use support::{Suite, example};

const OLD: &str = "mcp-server-0.1.16.yml";
const NEW: &str = "mcp-server-0.2.0-alpha.12.yml";

/// The server of the example `mcp_fixture`, at a port of its own.
struct Fixture {
    child: Child,
    url: String,
}

impl Fixture {
    fn start() -> Self {
        let mut child = Command::new(example("mcp_fixture"))
            .arg("127.0.0.1:0")
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut url = String::new();
        let said = child.stdout.take().expect("piped");
        BufReader::new(said).read_line(&mut url).expect("it says");
        let url = url.trim().to_owned();
        Self { child, url }
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn plays(variable: &str, failures: &str, more: &[&str]) {
    let Some(suite) = Suite::named(variable) else {
        return;
    };
    let fixture = Fixture::start();
    let failures = format!(
        "{}/tests/conformance/{failures}",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut arguments = vec!["server", "--url", &fixture.url, "--suite", "all"];
    arguments.extend(["--expected-failures", &failures]);
    arguments.extend(more);
    let (is_as_expected, said) = suite.run(&arguments);
    assert!(is_as_expected, "{said}");
    assert!(said.contains("tools-call-simple-text"), "{said}");
}

#[test]
fn the_older_scenarios_pass() {
    plays("TOOLFALL_MCP_CONFORMANCE_OLD", OLD, &[]);
}

#[test]
fn the_newer_scenarios_pass_in_the_older_protocol() {
    plays(
        "TOOLFALL_MCP_CONFORMANCE",
        NEW,
        &["--spec-version", "2025-11-25"],
    );
}

#[test]
fn the_newer_scenarios_pass_in_the_newer_protocol() {
    plays(
        "TOOLFALL_MCP_CONFORMANCE",
        NEW,
        &["--spec-version", "2026-07-28"],
    );
}
