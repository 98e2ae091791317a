//! `[bash]`: a shell under the rules of the file.

#[path = "support/cli.rs"]
mod support;

use serde_json::json;
use support::{Place, Ran, code};

fn run(place: &Place, config: &str, lines: &[&str]) -> Ran {
    place.write("toolfall.toml", config);
    let calls: Vec<_> = lines
        .iter()
        .map(|line| json!({"name": "bash", "arguments": {"command": line}}))
        .collect();
    place.write("b.jsonl", format!("{}\n", json!({ "calls": calls })));
    place.run(&["run", "b.jsonl", "--json", "--approve", "never"])
}

#[test]
fn command_lines_run_as_far_as_the_rules_allow() {
    let place = Place::new();
    let config = "[bash]\nenv = { GREETING = \"hello\" }\ntimeout_ms = 300\n\
        [policy]\notherwise = \"deny\"\n\
        [[policy.rules]]\nname = \"harmless programs\"\nverdict = \"allow\"\ntools = [\"bash\"]\n\
        arguments = [{ at = \"/command\", argv = [\"{printenv,sleep,pwd}\", \"**\"] }]\n";
    let lines = [
        "printenv GREETING",
        "sleep 30",
        "printenv GREETING; rm -rf x",
        "rm -rf x",
    ];
    let ran = run(&place, config, &lines);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let results = ran.results();
    let texts: Vec<String> = results
        .iter()
        .map(|result| result["content"].to_string())
        .collect();
    assert!(texts[0].contains("hello"), "{texts:?}");
    assert!(texts[1].contains("timed out after 300ms"), "{texts:?}");
    assert!(texts[2].contains("no rule allows tool"), "{texts:?}");
    assert!(texts[3].contains("no rule allows tool"), "{texts:?}");
    assert_eq!(
        results
            .iter()
            .map(code)
            .filter(|code| *code == "ok")
            .count(),
        2
    );
}

#[test]
fn a_shell_is_asked_about_unless_a_rule_says_otherwise() {
    let place = Place::new();
    let ran = run(&place, "[bash]\n", &["touch ran"]);
    assert_eq!(code(&ran.results()[0]), "failed", "{}", ran.err);
    assert!(!place.path("ran").exists());
    place.write("toolfall.toml", "[bash]\nroot = \"nowhere\"\n");
    let ran = place.run(&["run", "b.jsonl"]);
    assert!(
        ran.err.contains("toolfall.toml:2:8") && ran.err.contains("expected a folder at"),
        "{}",
        ran.err
    );
}

#[test]
fn people_see_a_terminal_and_no_markup() {
    let place = Place::new();
    place.write("toolfall.toml", "[bash]\n[policy]\notherwise = \"allow\"\n");
    place.write(
        "b.jsonl",
        "{\"calls\":[{\"name\":\"bash\",\"arguments\":{\"command\":\"echo one; exit 3\"}},\
         {\"name\":\"bash\",\"arguments\":{\"command\":\"pwd\",\"cwd\":\"..\"}}]}\n",
    );
    let ran = place.run(&["run", "b.jsonl", "--human"]);
    let wanted = "  ✓ bash $ echo one; exit 3\n      one\n      exit 3\n";
    assert!(ran.out.contains(wanted), "{}", ran.out);
    let refused = "[BASH_FOLDER]\n      Error: expected a folder below the root";
    assert!(ran.out.contains(refused), "{}", ran.out);
    assert!(!ran.out.contains("```"), "{}", ran.out);
}
