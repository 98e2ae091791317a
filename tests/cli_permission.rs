//! `[permission]`: presets, the approval policy, and what the log says of it.
#![cfg(unix)]

#[path = "support/cli_batches.rs"]
mod batches;
#[path = "support/cli.rs"]
mod support;

use batches::message;
use serde_json::{Value, json};
use support::{Place, Ran, code};

/// A folder with file tools, a program that may do anything and one that may
/// not.
const TOOLS: &str = "[files]\nread_before_edit = false\n\
    [[command]]\nname = \"build\"\nprogram = [\"sh\", \"-c\", \"echo 1\"]\n\
    [[command]]\nname = \"count\"\nprogram = [\"sh\", \"-c\", \"echo 2\"]\nharmless = true\n";

/// Runs one call each of the four kinds of tools: reading, editing, dangerous,
/// harmless.
fn run(place: &Place, config: &str, more: &[&str]) -> Ran {
    place.write("toolfall.toml", format!("log = \"s.jsonl\"\n{config}"));
    let call = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    let calls = json!({"calls": [
        call("list_dir", json!({"path": "."})),
        call("write_file", json!({"path": "a", "content": "x"})),
        call("build", json!({})),
        call("count", json!({})),
    ]});
    place.write("b.jsonl", calls.to_string());
    let args = [&["run", "b.jsonl", "--json", "--approve", "never"], more];
    let ran = place.run(&args.concat());
    let checked = place.run(&["check", "s.jsonl"]);
    assert_eq!(checked.status, 0, "{}{}", checked.out, ran.err);
    ran
}

/// Which of the four calls were allowed.
fn allowed(ran: &Ran) -> Vec<bool> {
    ran.results().iter().map(|r| code(r) == "ok").collect()
}

/// The last record of a type.
fn last(place: &Place, kind: &str) -> Option<Value> {
    let log = std::fs::read_to_string(place.path("s.jsonl")).expect("a log");
    let found = |line: &Value| line["type"] == kind;
    support::lines(&log).into_iter().rfind(found)
}

#[test]
fn without_the_table_nothing_changes_and_nothing_is_recorded() {
    let place = Place::new();
    let ran = run(&place, TOOLS, &[]);
    assert_eq!(allowed(&ran), [true, false, false, false]);
    assert_eq!(last(&place, "permission/preset"), None);
    assert_eq!(last(&place, "permission/effective"), None);
}

#[test]
fn each_policy_asks_about_its_tools() {
    let own = |sandbox: &str, policy: &str| {
        format!(
            "{TOOLS}[permission]\npreset = \"mine\"\n[[permission.presets]]\nname = \"mine\"\n\
             sandbox = \"{sandbox}\"\n{policy}"
        )
    };
    let policy = |word: &str| format!("approval_policy = \"{word}\"\n");
    for (config, wanted) in [
        (format!("{TOOLS}[permission]\n"), [true, true, false, true]),
        (
            format!("{TOOLS}[permission]\npreset = \"danger-full-access\"\n"),
            [true, true, true, true],
        ),
        // The file's own word goes before the preset's.
        (
            format!("{TOOLS}[permission]\n{}", policy("ask-edits")),
            [true, false, false, true],
        ),
        (own("workspace-write", ""), [true, false, false, true]),
        (own("workspace-write", &policy("deny-all")), [false; 4]),
        (
            own("danger-full-access", &policy("ask-dangerous")),
            [true, true, false, true],
        ),
        // Nothing confines a program, whatever the policy allows.
        (
            own("workspace-write", &policy("allow-all")),
            [true, true, false, true],
        ),
        (
            own("read-only", &policy("allow-all")),
            [true, false, false, true],
        ),
    ] {
        let place = Place::new();
        let ran = run(&place, &config, &[]);
        assert_eq!(allowed(&ran), wanted, "{config}\n{}", ran.out);
    }
}

#[test]
fn a_person_is_told_why_and_a_read_only_run_has_no_exception() {
    let place = Place::new();
    let grants = "[[grants]]\nname = \"g\"\ntool = \"build\"\n\
                  [[grants]]\nname = \"h\"\ntool = \"write_file\"\n";
    let edits = format!("{TOOLS}{grants}[permission]\napproval_policy = \"ask-edits\"\n");
    let ran = run(&place, &edits, &[]);
    assert_eq!(allowed(&ran), [true; 4], "grants answer");
    assert_eq!(ran.results()[2]["granted_by"], json!(["g"]));

    let preset = "[[permission.presets]]\nname = \"look\"\nsandbox = \"read-only\"\n";
    let ran = run(&place, &format!("{edits}{preset}"), &["--preset", "look"]);
    assert_eq!(allowed(&ran), [true, false, false, true]);
    let refused = &ran.results()[2];
    assert_eq!(
        message(refused),
        "tool \"build\" changes files, and this session may only read"
    );
    assert_eq!(refused["decided_by"], "policy \"sandbox mode read-only\"");
    assert_eq!(refused.get("granted_by"), None, "it was denied after all");

    let ran = run(&place, &format!("{TOOLS}[permission]\n"), &[]);
    let refused = &ran.results()[2];
    assert_eq!(
        message(refused),
        "tool \"build\" is dangerous, and nobody is asked in this run"
    );
    assert_eq!(
        refused["decided_by"],
        "policy \"approval policy ask-dangerous (preset)\""
    );
}

#[test]
fn of_rules_and_the_approval_policy_the_strictest_counts() {
    let rules = "[policy]\notherwise = \"allow\"\n\
                 [[policy.rules]]\nname = \"no lists\"\nverdict = \"deny\"\ntools = [\"list_dir\"]\n\
                 [[policy.rules]]\nname = \"builds\"\nverdict = \"allow\"\ntools = [\"build\"]\n";
    let place = Place::new();
    let ran = run(&place, &format!("{TOOLS}{rules}"), &[]);
    assert_eq!(allowed(&ran), [false, true, true, true]);
    assert_eq!(ran.results()[2]["allowed_by"], json!(["builds"]));
    let ran = run(&place, &format!("{TOOLS}{rules}[permission]\n"), &[]);
    assert_eq!(allowed(&ran), [false, true, false, true]);
    assert_eq!(ran.results()[0]["decided_by"], "policy \"no lists\"");
    assert_eq!(ran.results()[1]["allowed_by"], json!(["otherwise"]));
    assert_eq!(ran.results()[2].get("allowed_by"), None);
    let recorded = last(&place, "tool/result").expect("a result");
    assert_eq!(recorded["allowed_by"], json!(["otherwise"]));
}

#[test]
fn each_run_has_the_preset_that_it_names_and_the_log_says_so() {
    let place = Place::new();
    let config = format!("{TOOLS}[permission]\n");
    let state = |place: &Place| {
        let word = |kind, field: &str| last(place, kind).map(|record| record[field].clone());
        [
            word("permission/preset", "preset"),
            word("sandbox/mode", "mode"),
            word("approval/policy", "policy"),
            word("permission/effective", "policy"),
        ]
        .map(|word| {
            word.and_then(|word| word.as_str().map(str::to_owned))
                .unwrap_or_default()
        })
    };
    for (config, more, wanted) in [
        (
            config.as_str(),
            &[][..],
            ["workspace-write", "workspace-write", "ask", "ask-dangerous"],
        ),
        // A word on the command line is enough.
        (
            TOOLS,
            &["--preset", "danger-full-access"][..],
            [
                "danger-full-access",
                "danger-full-access",
                "never",
                "allow-all",
            ],
        ),
        // The run before was another one's.
        (
            config.as_str(),
            &[][..],
            ["workspace-write", "workspace-write", "ask", "ask-dangerous"],
        ),
    ] {
        let ran = run(&place, config, more);
        assert_eq!(ran.status, 0, "{}", ran.err);
        assert_eq!(state(&place), wanted, "{more:?}");
    }
    let ran = place.run(&["run", "b.jsonl", "--preset", "none"]);
    assert_eq!(ran.status, 2);
    let wanted =
        "--preset: unknown preset \"none\" (available: workspace-write, danger-full-access)";
    assert!(ran.err.contains(wanted), "{}", ran.err);
}
