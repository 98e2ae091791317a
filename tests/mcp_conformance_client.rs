//! The official conformance package against our client.
//!
//! Runs where `TOOLFALL_NODE` names a Node of version 22 and
//! `TOOLFALL_MCP_CONFORMANCE` the `dist/index.js` of version 0.2, as `.ci/run`
//! installs them; else it says that it did not.
//!
//! Left out, with the reason:
//! - `auth/*`: no OAuth; credentials are headers of the configuration.
//! - `elicitation-sep1034-client-defaults`, `sep-2322-client-request-state`:
//!   we offer servers no way to ask a person back.
//! - `sep-2640-*`: skills, an extension, are not read.
//! - of `http-custom-headers` the check `sep-2243-client-omit-null`: it wants a
//!   `null` sent for a member that its own schema calls a boolean, which the
//!   pipeline refuses first.

#[path = "support/mcp_conformance.rs"]
mod support;

use support::{Suite, example};

const HEADERS: &str = r#"{"region":"us-west1","priority":42,"verbose":false,"debug":true,"empty_val":"","method_val":"test-method","float_val":3.14159,"non_ascii_val":"Hello, 世界","whitespace_val":" padded ","leading_space_val":" us-west1","trailing_space_val":"us-west1 ","internal_space_val":"us west 1","query":"SELECT 1"}"#;

struct Scenario {
    name: &'static str,
    arguments: &'static [&'static str],
    /// What the package says in the end.
    passed: &'static str,
}

const fn scenario(
    name: &'static str,
    arguments: &'static [&'static str],
    passed: &'static str,
) -> Scenario {
    Scenario {
        name,
        arguments,
        passed,
    }
}

const SCENARIOS: &[Scenario] = &[
    scenario("initialize", &["--legacy"], "1/1"),
    scenario(
        "tools_call",
        &["--call", "add_numbers", r#"{"a":2,"b":3}"#],
        "2/2",
    ),
    scenario(
        "sse-retry",
        &["--legacy", "--call", "test_reconnection", "{}"],
        "3/3",
    ),
    scenario("request-metadata", &[], "5/5"),
    scenario(
        "http-standard-headers",
        &["--call", "test_headers", "{}"],
        "3/3",
    ),
    scenario(
        "http-custom-headers",
        &["--call", "test_custom_headers", HEADERS],
        "14/15",
    ),
    scenario(
        "http-invalid-tool-headers",
        &["--call", "valid_tool", r#"{"region":"x"}"#],
        "12/12",
    ),
    scenario("json-schema-ref-no-deref", &[], "1/1"),
    scenario(
        "json-schema-2020-12-preservation",
        &[
            "--echo",
            "json_schema_echo",
            "schema",
            "json_schema_2020_12_tool",
        ],
        "9/9",
    ),
];

#[test]
fn the_scenarios_of_the_official_package_pass() {
    let Some(suite) = Suite::named("TOOLFALL_MCP_CONFORMANCE") else {
        return;
    };
    let failed: Vec<String> = SCENARIOS
        .iter()
        .filter_map(|scenario| played(scenario, &suite).err())
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

fn played(scenario: &Scenario, suite: &Suite) -> Result<(), String> {
    let quoted = scenario.arguments.iter().map(|it| format!("'{it}'"));
    let program = example("mcp_client").display().to_string();
    let command: Vec<String> = std::iter::once(program).chain(quoted).collect();
    let command = command.join(" ");
    let arguments = ["client", "--scenario", scenario.name, "--command", &command];
    let (_, said) = suite.run(&arguments);
    let passed = format!("Passed: {},", scenario.passed);
    println!("{}: {passed}", scenario.name);
    if said.contains(&passed) {
        Ok(())
    } else {
        Err(format!("{}: expected {passed:?}\n{said}", scenario.name))
    }
}
