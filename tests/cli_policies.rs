//! The budgets, reminders and grants that `toolfall.toml` sets.

#[path = "support/cli_batches.rs"]
mod batches;
#[path = "support/cli.rs"]
mod support;

use batches::{ALLOW, ECHO, codes, message, run};
use serde_json::{Value, json};
use support::{Place, Ran};

#[test]
fn a_spent_budget_refuses_and_every_batch_is_answered() {
    let place = Place::new();
    let (one, two) = (json!({"n": 1}), json!({"n": 2}));
    let calls: &[&[Value]] = &[
        &[one.clone(), two.clone(), one.clone()],
        std::slice::from_ref(&two),
    ];
    let ran = run(&place, &format!("{ALLOW}[budget]\ncalls = 2\n"), calls, &[]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert_eq!(
        codes(&ran),
        ["ok", "ok", "BUDGET_EXCEEDED", "BUDGET_EXCEEDED"]
    );
    let refused = &ran.results()[2];
    assert_eq!(
        message(refused),
        "the budget of calls of this run is spent (limit 2)"
    );
    assert_eq!(refused["kind"], "denied");
    assert_eq!(refused["decided_by"], "policy \"budget/calls\"");
    assert_eq!(refused["effect"], "not_started");
    assert_eq!(ran.typed("summary")[0].get("ended_by"), None);

    // The limit of a tool leaves the others alone, and an unknown name is one.
    let config = format!("{ALLOW}[budget]\neach_tool = 1\n[budget.tools]\necho = 2\n");
    let ran = run(
        &place,
        &config,
        &[&[one.clone(), two, one, json!("a"), json!("a")]],
        &[],
    );
    assert_eq!(
        codes(&ran),
        [
            "ok",
            "ok",
            "BUDGET_EXCEEDED",
            "UNKNOWN_TOOL",
            "BUDGET_EXCEEDED"
        ]
    );
}

#[test]
fn a_budget_that_ends_the_run_leaves_further_batches_alone() {
    let place = Place::new();
    let config = format!("{ALLOW}[budget]\nconsecutive_unknown_names = 2\nends_run = true\n");
    let calls: &[&[Value]] = &[
        &[json!("a"), json!("b"), json!({})],
        &[json!({})],
        &[json!({})],
    ];
    let ran = run(&place, &config, calls, &[]);
    assert_eq!(ran.status, 3, "{}", ran.err);
    assert_eq!(
        codes(&ran),
        ["UNKNOWN_TOOL", "UNKNOWN_TOOL", "BUDGET_EXCEEDED"],
        "the batch itself is answered to its end"
    );
    assert_eq!(
        ran.typed("summary")[0]["ended_by"],
        json!({
            "by": "budget",
            "budget": "budget/consecutive-unknown-names",
            "message": "the budget of calls in a row of unknown tools is spent (limit 2)",
            "limit": 2,
            "not_begun": 2,
        })
    );
    assert!(
        ran.err.contains("2 more batches were not begun"),
        "{}",
        ran.err
    );
    let quiet = run(&place, &config, calls, &["-q"]);
    assert_eq!((quiet.status, quiet.err.as_str()), (3, ""));

    // Standard input is read no further, however long it stays open.
    let mut child = place
        .command(&["run", "--json", "--log", "other.jsonl"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    let first = r#"{"calls":[{"name":"a"},{"name":"b"}]}"#;
    std::io::Write::write_all(&mut input, format!("{first}\n").as_bytes()).expect("it reads");
    let ran = Ran::of(child.wait_with_output().expect("it ends"));
    drop(input);
    assert_eq!(ran.status, 3, "{}", ran.err);
    assert!(
        ran.err.ends_with("unknown tools is spent (limit 2)\n"),
        "{}",
        ran.err
    );

    // Denials are failures in a row; a run that stays within ends as ever.
    let config =
        "[policy]\notherwise = \"deny\"\n[budget]\nconsecutive_failures = 4\nends_run = true\n";
    let ran = run(&place, config, calls, &[]);
    assert_eq!(ran.status, 3, "{}", ran.err);
    assert_eq!(ran.results().len(), 4);
    let ran = run(&place, config, &calls[..1], &[]);
    assert_eq!(ran.status, 0, "{}", ran.err);
}

#[test]
fn a_model_that_repeats_itself_is_told() {
    let place = Place::new();
    let config = format!(
        "{ALLOW}[repeat]\nthresholds = [3, 2]\nexclude = [\"poll*\"]\narguments_preview_chars = 4\n"
    );
    let (one, two) = (json!({"n": 1}), json!({"n": 2}));
    let calls: &[&[Value]] = &[
        &[one.clone(), json!("poll_it")],
        std::slice::from_ref(&one),
        &[json!({"n": 1.0})],
        std::slice::from_ref(&one),
        &[two, one.clone()],
    ];
    let ran = run(&place, &config, calls, &[]);
    let told: Vec<usize> = ran
        .typed("batch")
        .iter()
        .map(|end| end["contexts"].as_array().map_or(0, Vec::len))
        .collect();
    assert_eq!(told, [0, 1, 1, 0, 0], "{}", ran.out);
    let detailed = &ran.typed("batch")[2]["contexts"][0];
    assert_eq!(detailed["source"]["summary"], "echo × 3");
    let text = detailed["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("- arguments: {\"n\""), "{text}");

    // The table alone has the default thresholds; without it nobody speaks.
    let thrice = [json!({}), json!({}), json!({})];
    for (config, told) in [("[repeat]\n", 1), ("", 0)] {
        let ran = run(&place, &format!("{ALLOW}{config}"), &[&thrice], &[]);
        let contexts = ran.typed("batch")[0]["contexts"]
            .as_array()
            .map_or(0, Vec::len);
        assert_eq!(contexts, told, "{}", ran.out);
    }

    // In a recorded conversation a turn begins when the user has spoken.
    let call = |turn: u64| json!({"name": "echo", "turn": turn, "arguments": {}});
    let rows = json!({"calls": [call(1), call(1), call(2), call(2)]});
    place.write("toolfall.toml", format!("{ECHO}{ALLOW}[repeat]\n"));
    let ran = place.fed(&["run", "--json"], &rows.to_string());
    assert!(
        ran.typed("batch")
            .iter()
            .all(|end| end.get("contexts").is_none())
    );
}

#[test]
fn a_grant_answers_questions_and_never_a_denial() {
    let place = Place::new();
    let never = ["--approve", "never"];
    let calls = [
        json!({"path": "docs/a"}),
        json!({"path": "docs/b"}),
        json!({"path": "src/a"}),
        json!({"path": "docs/secret"}),
    ];
    let rule = "[[policy.rules]]\nname = \"closed\"\nverdict = \"deny\"\n\
                arguments = [{ at = \"/path\", glob = \"*secret\" }]\n";
    for (grant, wanted) in [
        ("", ["failed", "failed", "failed", "failed"]),
        (
            "[[grants]]\nname = \"g\"\ntool = \"echo\"\n",
            ["ok", "ok", "ok", "failed"],
        ),
        (
            "[[grants]]\nname = \"g\"\ntool = \"echo\"\nuses = 1\n\
             [[grants]]\nname = \"h\"\ntool = \"echo\"\narguments_json = '{\"path\":\"src/a\"}'\n",
            ["ok", "failed", "ok", "failed"],
        ),
        (
            "[[grants]]\nname = \"g\"\ntool = \"echo\"\n\
             arguments = [{ at = \"/path\", path = \"docs/*\" }]\n",
            ["ok", "ok", "failed", "failed"],
        ),
        (
            "[[grants]]\nname = \"g\"\ntool = \"echo\"\n\
             arguments = [{ at = \"\", equals = { path = \"docs/b\" } }]\n",
            ["failed", "ok", "failed", "failed"],
        ),
        (
            // Every test that a rule may have.
            "[[grants]]\nname = \"g\"\ntool = \"echo\"\n\
             arguments = [{ at = \"/path\", below = \".\", path = \"docs/b\" }, { at = \"/x\", present = false }]\n",
            ["failed", "ok", "failed", "failed"],
        ),
        ("[[grants]]\nname = \"g\"\ntool = \"ech?\"\n", ["failed"; 4]),
        (
            "[[grants]]\nname = \"g\"\ntool = \"e*\"\narguments = [{ at = \"\", present = true }]\n",
            ["failed"; 4],
        ),
    ] {
        let ran = run(&place, &format!("{rule}{grant}"), &[&calls], &never);
        assert_eq!(codes(&ran), wanted, "{grant}");
        let denied = &ran.results()[3];
        assert_eq!(denied["decided_by"], "policy \"closed\"", "{grant}");
    }
}

#[test]
fn a_grant_ends_with_its_time() {
    let place = Place::new();
    let slow = "[[hooks.before]]\nshell = \"sleep 0.3\"\n\
                [[grants]]\nname = \"g\"\ntool = \"echo\"\nttl_ms = 1\n";
    let ran = run(&place, slow, &[&[json!({})]], &["--approve", "never"]);
    assert_eq!(codes(&ran), ["failed"], "{}", ran.err);
    let long = slow.replace("ttl_ms = 1", "ttl_ms = 600000");
    let ran = run(&place, &long, &[&[json!({})]], &["--approve", "never"]);
    assert_eq!(codes(&ran), ["ok"], "{}", ran.err);
}
