//! `[[agent]]`: who makes calls, and what they have and may do.

#[path = "support/cli_batches.rs"]
mod batches;
#[path = "support/cli.rs"]
mod support;

use batches::ALLOW;
use serde_json::{Value, json};
use support::{Place, Ran, code};

const TOOLS: &str = "log = \"s.jsonl\"\n\
    [[replay]]\nname = \"read\"\nunrecorded = \"show\"\n\
    [[replay]]\nname = \"mail\"\nunrecorded = \"show\"\n\
    [[replay]]\nname = \"pay\"\nunrecorded = \"show\"\n";

/// Below `team`, which has no `pay`, `reader` may only read, and `clerk` may
/// only mail inside.
const AGENTS: &str = "[[agent]]\nname = \"team\"\ndeny = [\"pay\"]\n\
    [[agent]]\nname = \"reader\"\nparent = \"team\"\nallow = [\"read\", \"pay\"]\n\
    [[agent]]\nname = \"clerk\"\nparent = \"team\"\n\
    [agent.policy]\notherwise = \"allow\"\n\
    [[agent.policy.rules]]\nname = \"stay inside\"\nverdict = \"deny\"\ntools = [\"mail\"]\n\
    arguments = [{ at = \"/to\", glob = \"*@elsewhere\" }]\n";

/// Calls of every tool.
fn batch(agent: Option<&str>) -> String {
    let call = |name: &str| json!({"name": name, "arguments": {"to": "a@elsewhere"}});
    let mut row = json!({"calls": [call("read"), call("mail"), call("pay")]});
    if let Some(agent) = agent {
        row["agent"] = json!(agent);
    }
    format!("{row}\n")
}

fn run(place: &Place, config: &str, input: &str, more: &[&str]) -> Ran {
    place.write("toolfall.toml", config);
    place.write("b.jsonl", input);
    let ran = place.run(&[&["run", "b.jsonl", "--json"], more].concat());
    if ran.status == 0 {
        let checked = place.run(&["check", "s.jsonl"]);
        assert_eq!(checked.status, 0, "{}{}", checked.out, ran.err);
    }
    ran
}

fn codes(ran: &Ran) -> Vec<String> {
    ran.results().iter().map(|r| code(r).to_owned()).collect()
}

#[test]
fn an_agent_has_what_it_and_those_above_it_leave() {
    let config = format!("{TOOLS}{ALLOW}{AGENTS}");
    let none = "UNKNOWN_TOOL";
    for (agent, wanted) in [
        (None, ["ok", "ok", "ok"]),
        (Some("team"), ["ok", "ok", none]),
        (Some("reader"), ["ok", none, none]),
        (Some("clerk"), ["ok", "failed", none]),
    ] {
        let place = Place::new();
        let ran = run(&place, &config, &batch(agent), &[]);
        assert_eq!(codes(&ran), wanted, "{agent:?}: {}", ran.err);
        let whose = agent.map_or(Value::Null, Value::from);
        for line in ran.results().iter().chain(&ran.typed("batch")) {
            assert_eq!(line["agent"], whose, "{line}");
        }
        let log = std::fs::read_to_string(place.path("s.jsonl")).expect("a log");
        let call = &support::lines(&log)[0];
        assert_eq!(call["agent"], agent.unwrap_or("toolfall"));
        if agent == Some("clerk") {
            let (ok, denied) = (&ran.results()[0], &ran.results()[1]);
            assert_eq!(ok["allowed_by"], json!(["otherwise", "otherwise"]));
            assert_eq!(denied["decided_by"], "policy \"stay inside\"");
        }
    }
}

#[test]
fn an_agents_rules_relax_nothing() {
    let place = Place::new();
    let config = format!("{TOOLS}[policy]\notherwise = \"deny\"\n{AGENTS}");
    let ran = run(&place, &config, &batch(Some("clerk")), &[]);
    assert_eq!(codes(&ran), ["failed", "failed", "UNKNOWN_TOOL"]);
    assert_eq!(ran.results()[0]["decided_by"], "policy \"otherwise\"");
}

#[test]
fn the_command_line_names_the_agent_of_batches_that_name_none() {
    let place = Place::new();
    let config = format!("{TOOLS}{ALLOW}{AGENTS}");
    let reply = json!({"choices": [{"finish_reason": "tool_calls", "message": {"tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "mail", "arguments": "{}"}}
    ]}}]});
    let input = format!("{}{}{reply}\n", batch(None), batch(Some("team")));
    let ran = run(&place, &config, &input, &["--agent", "reader"]);
    let agents: Vec<Value> = ran
        .typed("batch")
        .iter()
        .map(|b| b["agent"].clone())
        .collect();
    assert_eq!(agents, ["reader", "team", "reader"]);
    assert_eq!(ran.results()[6]["error"]["code"], "UNKNOWN_TOOL");
}

#[test]
fn an_agent_that_is_not_there_is_told_before_anything_runs() {
    let place = Place::new();
    let config = format!("{TOOLS}{ALLOW}{AGENTS}");
    let input = format!("{}{}", batch(None), batch(Some("Team")));
    let ran = run(&place, &config, &input, &[]);
    assert_eq!((ran.status, ran.out.as_str()), (2, ""));
    let wanted = "b.jsonl:2: /agent: expected the agent team, reader, clerk, found \"Team\"";
    assert!(ran.err.contains(wanted), "{}", ran.err);
    assert!(!place.path("s.jsonl").exists());

    let ran = run(&place, &config, "", &["--agent", "nobody"]);
    assert_eq!(ran.status, 2);
    assert!(
        ran.err.contains("--agent: expected the agent team"),
        "{}",
        ran.err
    );
    let ran = run(
        &place,
        &format!("{TOOLS}{ALLOW}"),
        &batch(Some("team")),
        &[],
    );
    assert_eq!(ran.status, 2);
    assert!(ran.err.contains("expected no agent, since"), "{}", ran.err);
}

#[test]
fn tools_that_come_with_a_batch_are_hidden_as_they_come() {
    let place = Place::new();
    let tools: Vec<Value> = ["mail", "late"].map(|name| json!({"name": name})).into();
    let call = |name: &str| json!({"name": name, "arguments": {}});
    let row = |tools: &[Value]| {
        let calls = [call("mail"), call("late")];
        format!(
            "{}\n",
            json!({"agent": "a", "tools": tools, "calls": calls})
        )
    };
    let config = "log = \"s.jsonl\"\n[[agent]]\nname = \"a\"\ndeny = [\"late\", \"never seen\"]\n";
    let input = format!("{}{}", row(&tools[..1]), row(&tools));
    let ran = run(&place, config, &input, &["--replay"]);
    let none = "UNKNOWN_TOOL";
    assert_eq!(codes(&ran), ["ok", none, "ok", none], "{}", ran.err);
}

#[test]
fn a_budget_is_for_all_agents_together() {
    let place = Place::new();
    let config = format!("{TOOLS}{ALLOW}{AGENTS}[budget]\ncalls = 4\nends_run = true\n");
    let input = format!("{}{}{}", batch(Some("team")), batch(None), batch(None));
    let ran = run(&place, &config, &input, &[]);
    assert_eq!(ran.status, 3, "{}", ran.err);
    let spent = "BUDGET_EXCEEDED";
    assert_eq!(
        codes(&ran),
        ["ok", "ok", "UNKNOWN_TOOL", "ok", spent, spent]
    );
}
