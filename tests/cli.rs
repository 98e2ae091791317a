//! The `toolfall` binary as its users run it.

#[path = "support/cli.rs"]
mod support;

use std::path::Path;

use serde_json::json;
use support::{Place, code, copy};

const REPLAY: &str = r#"
[[replay]]
name = "echo"
unrecorded = "show"
[policy]
otherwise = "allow"
"#;

#[test]
fn the_quickstart_shows_every_kind_of_result() {
    let place = Place::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quickstart");
    copy(&source, &place.path("quickstart"));
    let ran = place.run(&["run", "quickstart/batch.jsonl"]);
    assert_eq!(ran.status, 0, "{}{}", ran.out, ran.err);
    let results = ran.results();
    let codes: Vec<&str> = results.iter().map(code).collect();
    assert_eq!(
        codes,
        [
            "ok",
            "ok",
            "failed",
            "UNKNOWN_TOOL",
            "INVALID_ARGS",
            "ok",
            "ok",
            "ok",
            "ok",
            "UNKNOWN_TOOL",
            "ok"
        ]
    );
    assert_eq!(results[0]["allowed_by"], json!(["looking is free"]));
    assert_eq!(results[10]["agent"], "reader");
    assert_eq!(results[2]["kind"], "denied");
    assert_eq!(results[2]["decided_by"], "policy \"secrets stay closed\"");
    assert_eq!(
        results[3]["content"][1]["text"],
        "Did you mean \"read_file\"?"
    );
    assert_eq!(results[5]["value"], json!({"words": 5}));
    assert!(place.path("quickstart/workspace/notes/done.md").exists());
    let summary = &ran.typed("summary")[0];
    assert_eq!(
        (&summary["calls"], &summary["failed"]),
        (&json!(11), &json!(4))
    );

    let checked = place.run(&["check", "quickstart/session.jsonl"]);
    assert_eq!(checked.status, 0, "{}{}", checked.out, checked.err);
    assert!(
        checked.out.contains("11 calls, 11 results"),
        "{}",
        checked.out
    );
}

#[test]
fn people_get_a_form_of_their_own_without_control_characters() {
    let place = Place::new();
    place.write("toolfall.toml", REPLAY);
    let batch = r#"{"id":"one\u001b[31m","calls":[{"call_id":"1","name":"echo","arguments":{"a":"\u001b[2J\u202e"}},{"name":"echoo"}]}"#;
    let ran = place.fed(&["run", "--human"], batch);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(ran.out.contains("  ✓ echo "), "{}", ran.out);
    assert!(ran.out.contains("✗ echoo   [UNKNOWN_TOOL]"), "{}", ran.out);
    assert!(ran.out.contains("Did you mean \"echo\"?"), "{}", ran.out);
    assert!(!ran.out.contains(['\u{1b}', '\u{202e}']), "{:?}", ran.out);
    assert_eq!(ran.err, "2 calls: 1 succeeded, 1 failed\n");
    let quiet = place.fed(&["run", "--human", "-q"], batch);
    assert_eq!(quiet.err, "");
}

#[test]
fn provider_replies_are_batches_too() {
    let place = Place::new();
    place.write("toolfall.toml", REPLAY);
    let chat = r#"{"choices":[{"finish_reason":"tool_calls","message":{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"echo","arguments":"{\"n\": 1.0}"}}]}}]}"#;
    let messages = "{\n  \"type\": \"message\", \"role\": \"assistant\",\n  \"stop_reason\": \
                    \"tool_use\",\n  \"content\": [\n    {\"type\": \"server_tool_use\", \"id\": \
                    \"s\", \"name\": \"web_search\", \"input\": {}},\n    {\"type\": \"tool_use\", \
                    \"id\": \"t1\", \"name\": \"echo\", \"input\": {\"b\": [1]}}\n  ]\n}\n";
    let cut = r#"{"type":"message","role":"assistant","stop_reason":"max_tokens","content":[{"type":"tool_use","id":"t2","name":"echo","input":{}}]}"#;
    place.write("chat.jsonl", format!("{chat}\n\n{chat}\n"));
    place.write("messages.json", messages);
    place.write("cut.json", cut);
    let ran = place.run(&["run", "chat.jsonl", "messages.json", "cut.json"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let results = ran.results();
    let told: Vec<(&str, &str)> = results
        .iter()
        .map(|result| (result["call_id"].as_str().unwrap_or("none"), code(result)))
        .collect();
    assert_eq!(
        told,
        [
            ("c1", "ok"),
            ("c1", "ok"),
            ("t1", "ok"),
            ("t2", "TRUNCATED")
        ]
    );
    assert_eq!(results[0]["arguments_json"], "{\"n\": 1.0}");
    assert_eq!(ran.typed("not_ours")[0]["name"], "web_search");
    assert_eq!(place.run(&["check", "toolfall-session.jsonl"]).status, 0);
}

#[test]
fn arguments_reach_the_log_exactly_as_sent() {
    let place = Place::new();
    place.write("toolfall.toml", REPLAY);
    let text = r#"{ "z":1.50, "a" : "\u00e4" }"#;
    let row = json!({"calls": [
        {"call_id": null, "name": "echo", "arguments_json": text},
        {"name": "echo", "arguments_json": "{cut"},
        {"name": "echo"},
    ]});
    let ran = place.fed(&["run"], &row.to_string());
    let results = ran.results();
    assert_eq!(results[0]["arguments_json"], text);
    assert_eq!(results[0]["call_id"], json!(null));
    assert_eq!(code(&results[1]), "INVALID_ARGS");
    assert_eq!(code(&results[2]), "ok");
    let log = std::fs::read_to_string(place.path("toolfall-session.jsonl")).unwrap();
    let first = &support::lines(&log)[0];
    assert_eq!(
        (&first["type"], &first["arguments"]),
        (&json!("tool/call"), &json!(text))
    );
}

#[test]
fn recorded_answers_are_given_again() {
    let place = Place::new();
    place.write(
        "answers.jsonl",
        "{\"name\":\"other\",\"value\":1}\n\n{\"name\":\"look\",\"call_id\":\"b\",\"error\":\"gone\",\"code\":\"GONE\"}\n",
    );
    place.write(
        "toolfall.toml",
        r#"
[[replay]]
name = "look"
answers = [{ arguments_json = '{"q":1}', value = [1, 2] }]
answers_file = "answers.jsonl"
[policy]
otherwise = "allow"
"#,
    );
    let row = json!({"calls": [
        {"call_id": "a", "name": "look", "arguments_json": "{\"q\":1}"},
        {"call_id": "b", "name": "look", "arguments_json": "{\"q\":2}"},
        {"call_id": "c", "name": "look", "arguments_json": "{\"q\": 1}"},
    ]});
    let results = place.fed(&["run"], &row.to_string()).results();
    assert_eq!(results[0]["value"], json!([1, 2]));
    assert_eq!(code(&results[1]), "GONE");
    assert_eq!(code(&results[2]), "NOT_RECORDED");

    // With --replay the answers may stand beside the calls.
    let row = json!({"tools": [{"name": "t", "parameters": {"type": "object", "required": ["x"]}}],
        "calls": [
        {"call_id": "a", "name": "t", "arguments_json": "{\"x\":1}", "result": null},
        {"call_id": "b", "name": "t", "arguments_json": "{\"x\":2}", "error": "boom"},
        {"call_id": "c", "name": "t", "arguments_json": "{\"x\":3}"},
        {"call_id": "d", "name": "t", "arguments_json": "{}", "result": 4},
    ]});
    let results = place.fed(&["run", "--replay"], &row.to_string()).results();
    assert_eq!(results[0]["value"], json!(null));
    assert_eq!(results[1]["error"]["message"], "boom");
    assert_eq!(
        results[2]["value"],
        json!({"recorded": false, "arguments": {"x": 3}})
    );
    assert_eq!(code(&results[3]), "INVALID_ARGS", "the schema still counts");
}

#[test]
fn replaying_runs_nothing_real() {
    let place = Place::new();
    place.write(
        "toolfall.toml",
        "[files]\n[[command]]\nname = \"touch\"\nprogram = [\"touch\", \"made\"]\n[policy]\n\
         otherwise = \"allow\"\n",
    );
    let row = json!({"calls": [
        {"name": "touch"},
        {"name": "write_file", "arguments": {"path": "written", "content": ""}},
    ]});
    let ran = place.fed(&["run", "--replay"], &row.to_string());
    let codes: Vec<String> = ran.results().iter().map(|r| code(r).to_owned()).collect();
    assert_eq!(codes, ["UNKNOWN_TOOL", "UNKNOWN_TOOL"]);
    assert!(!place.path("made").exists() && !place.path("written").exists());
    let ran = place.fed(&["run"], &row.to_string());
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(place.path("made").exists() && place.path("written").exists());
}

#[test]
fn files_are_read_before_they_are_changed_unless_the_table_says_no() {
    let place = Place::new();
    place.write("a", "one");
    let write =
        json!({"calls": [{"name": "write_file", "arguments": {"path": "a", "content": "x"}}]});
    let read = json!({"calls": [{"name": "read_file", "arguments": {"path": "a"}}]});
    let row = [&write, &read, &write].map(ToString::to_string).join("\n");
    for (key, codes) in [
        ("", ["FS_NOT_OBSERVED", "ok", "ok"]),
        ("read_before_edit = true\n", ["FS_NOT_OBSERVED", "ok", "ok"]),
        ("read_before_edit = false\n", ["ok", "ok", "ok"]),
    ] {
        let config = format!("[files]\n{key}[policy]\notherwise = \"allow\"\n");
        place.write("toolfall.toml", config);
        let ran = place.fed(&["run"], &row);
        let found: Vec<String> = ran.results().iter().map(|r| code(r).to_owned()).collect();
        assert_eq!(found, codes, "{key}{}", ran.err);
    }
}

#[test]
fn without_a_person_a_question_is_a_denial_that_says_so() {
    let place = Place::new();
    place.write("toolfall.toml", "[files]\n");
    let row = json!({"calls": [
        {"name": "write_file", "arguments": {"path": "a", "content": ""}},
        {"name": "list_dir"},
    ]});
    for (args, wanted) in [
        (&["run"][..], "no approval channel is available"),
        (
            &["run", "--approve", "never"],
            "no rule covers tool \"write_file\", and nobody is asked in this run",
        ),
    ] {
        let ran = place.fed(args, &row.to_string());
        assert_eq!(ran.status, 0, "{}", ran.err);
        let results = ran.results();
        let message = results[0]["error"]["message"].as_str().unwrap();
        assert!(message.contains(wanted), "{message}");
        assert_eq!(results[0]["kind"], "denied");
        assert_eq!(code(&results[1]), "ok", "reading is allowed by default");
    }
    assert!(!place.path("a").exists());
    assert_eq!(place.run(&["check", "toolfall-session.jsonl"]).status, 0);
}

#[test]
fn check_tells_what_is_wrong_and_where() {
    let place = Place::new();
    let call = |seq: u32, call: u32| {
        format!(
            "{{\"seq\":{seq},\"type\":\"tool/call\",\"call\":{call},\"id\":\"\",\"name\":\"a\",\"arguments\":\"\"}}\n"
        )
    };
    let result = |seq: u32, call: u32| {
        format!(
            "{{\"seq\":{seq},\"type\":\"tool/result\",\"call\":{call},\"id\":\"\",\"is_error\":false,\"content\":[]}}\n"
        )
    };
    let check = |text: String| {
        place.write("log", text);
        let ran = place.run(&["check", "log"]);
        (ran.status, ran.out + &ran.err)
    };
    let (status, told) = check(call(1, 1) + &result(2, 1));
    assert_eq!(status, 0, "{told}");
    for (log, wanted) in [
        (call(1, 1), "log:1: call 1 has no result"),
        (
            call(1, 1) + &result(2, 1) + &result(3, 1),
            "log:3: call 1 already has its result",
        ),
        (
            call(1, 1) + &call(2, 2) + &result(3, 2) + &result(4, 1),
            "log:3: the result of call 2 comes before that of call 1",
        ),
        (call(1, 1) + &result(2, 1) + "{\"seq\":3,\"ty", "log:3: "),
    ] {
        let (status, told) = check(log);
        assert_eq!(status, 1, "{told}");
        assert!(told.contains(wanted), "{told}");
    }
    let (status, told) = check(call(1, 1) + "not json\n" + &result(3, 1));
    assert_eq!(status, 2, "{told}");
    assert!(told.contains("log:2: expected a JSON object"), "{told}");
    assert_eq!(place.run(&["check", "none"]).status, 2);
    let ran = place.run(&["check", "--json", "log"]);
    assert_eq!(ran.status, 2);
}

#[test]
fn a_log_in_use_is_refused() {
    let place = Place::new();
    place.write("toolfall.toml", REPLAY);
    let (log, _) = toolfall::session::SessionLog::open(
        place.path("s.jsonl"),
        toolfall::session::Options::new(),
    )
    .expect("a log");
    let ran = place.fed(&["run", "--log", "s.jsonl"], "");
    assert_eq!(ran.status, 2);
    assert!(ran.err.contains("already has a writer"), "{}", ran.err);
    drop(log);
    assert_eq!(place.fed(&["run", "--log", "s.jsonl"], "").status, 0);
}
