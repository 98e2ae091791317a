//! Provider wire formats: what is read, what is written, what is refused.

#[path = "support/wire.rs"]
mod support;

use serde_json::json;
use support::{DIALECTS, Sent, body, length, whole};
use toolfall::wire::{Dialect, Incomplete, RawArguments, WireCall, WireError, read_reply};

fn call(id: Option<&str>, text: &str) -> WireCall {
    WireCall::new(id, "read", RawArguments::from(text))
}

/// The input member's text is what the check has to see: layout, a repeated
/// name, a number past 64 bits, depth past any parser's.
#[test]
fn the_text_of_an_input_object_is_not_changed() {
    let deep = format!("{}1{}", "[".repeat(20_000), "]".repeat(20_000));
    for input in [
        r#"{ "a" : 1,"a":2 }"#,
        r#"{"n":18446744073709551616,"z":-0,"f":1.0}"#,
        "{\"text\":\"\\u00e9\\ud800 } ] \\\" \"\n}",
        "null",
        "\"{}\"",
        "{tru}",
        &deep,
    ] {
        let sent = Sent::new("t1", "read", input);
        let text = body(Dialect::Messages, &[sent], "tool_use");
        let batch = read_reply(None, &text).unwrap();
        assert_eq!(batch.calls[0].arguments.as_text(), Some(input));
    }
}

#[test]
fn an_argument_string_is_decoded_and_no_more() {
    let text = r#"{"choices":[{"message":{"tool_calls":[
        {"id":"c1","function":{"name":"a","arguments":"{\"x\":\"\u00e9\ud83d\ude00\\n\/\"}"}},
        {"id":"c2","function":{"name":"b","arguments":"\"\ud83d\""}},
        {"id":"c3","function":{"name":"c","arguments":{"x" : 1}}},
        {"id":"c4","function":{"name":"d","arguments":null}},
        {"id":"c5","function":{"name":"e"}},
        {"id":"c6","type":"function","function":{"arguments":""}}
    ]}}]}"#;
    let batch = read_reply(None, text).unwrap();
    let texts: Vec<_> = batch
        .calls
        .iter()
        .map(|call| call.arguments.as_text())
        .collect();
    assert_eq!(
        texts,
        [
            Some("{\"x\":\"é😀\\n/\"}"),
            // Half a pair stays an escape, for the check to refuse.
            Some("\"\\ud83d\""),
            Some("{\"x\" : 1}"),
            Some("null"),
            None,
            Some(""),
        ]
    );
    let parsed: Vec<_> = batch.calls[3..]
        .iter()
        .map(|call| call.arguments.or_empty_object())
        .collect();
    assert_eq!(parsed, ["{}", "{}", "{}"]);
    assert_eq!(batch.calls[5].name, "");
}

#[test]
fn a_reply_cut_off_says_so_and_so_does_its_last_call() {
    for dialect in DIALECTS {
        let calls = [
            Sent::new("c1", "read", "{\"a\":1}"),
            Sent::new("c2", "read", "{\"a\":2}"),
        ];
        let batch = read_reply(None, &body(dialect, &calls, length(dialect))).unwrap();
        assert_eq!(batch.incomplete, Some(Incomplete::Length), "{dialect}");
        let cut: Vec<_> = batch.calls.iter().map(|call| call.cut).collect();
        assert_eq!(cut, [false, true], "{dialect}");
        assert!(!batch.may_run(0) && !batch.may_run(1), "{dialect}");

        let batch = read_reply(None, &body(dialect, &calls, whole(dialect))).unwrap();
        assert_eq!(batch.incomplete, None);
        assert!(
            batch.may_run(0) && batch.may_run(1) && !batch.may_run(2),
            "{dialect}"
        );
    }
}

#[test]
fn parts_of_a_body_are_read_alone() {
    let cases = [
        (
            Dialect::ChatCompletions,
            json!({"role": "assistant", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}]}),
        ),
        (
            Dialect::Responses,
            json!([{"type": "function_call", "call_id": "c1", "name": "read",
            "arguments": "{}"}]),
        ),
        (
            Dialect::Responses,
            json!({"type": "function_call", "call_id": "c1", "name": "read",
            "arguments": "{}"}),
        ),
        (
            Dialect::Messages,
            json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": "c1", "name": "read", "input": {}}]}),
        ),
        (
            Dialect::Messages,
            json!([{"type": "tool_use", "id": "c1", "name": "read", "input": {}}]),
        ),
    ];
    for (dialect, value) in cases {
        assert_eq!(Dialect::detect(&value), Some(dialect), "{value}");
        let batch = read_reply(None, &value.to_string()).unwrap();
        assert_eq!(batch.dialect, dialect);
        assert_eq!(batch.calls, [call(Some("c1"), "{}")]);
    }
    let plain = json!({"role": "assistant", "content": "Done."}).to_string();
    assert_eq!(read_reply(None, &plain), Err(WireError::UnknownDialect));
    for dialect in [Dialect::ChatCompletions, Dialect::Messages] {
        assert_eq!(read_reply(Some(dialect), &plain).unwrap().calls, []);
    }
}

#[test]
fn calls_that_are_not_ours_are_listed_apart() {
    let output = json!({"status": "completed", "output": [
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "mcp_call", "id": "mcp_1", "name": "ask", "arguments": "{}"},
        {"type": "computer_call", "id": "cu_1", "call_id": "call_c", "action": {}},
        {"type": "tool_search_call", "call_id": "ts", "execution": "client"},
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"},
        {"type": "message", "role": "assistant", "content": []},
    ]});
    let batch = read_reply(None, &output.to_string()).unwrap();
    assert_eq!(batch.calls.len(), 1);
    let kinds = |calls: &[toolfall::wire::ApartCall]| -> Vec<String> {
        calls.iter().map(|call| call.kind.clone()).collect()
    };
    assert_eq!(kinds(&batch.provider_ran), ["web_search_call", "mcp_call"]);
    assert_eq!(
        kinds(&batch.unsupported),
        ["computer_call", "tool_search_call"]
    );
    assert_eq!(batch.unsupported[0].id.as_deref(), Some("call_c"));
}

#[test]
fn what_is_wrong_with_a_frame_is_said_with_its_place() {
    let chat = |text: &str| read_reply(Some(Dialect::ChatCompletions), text).unwrap_err();
    assert_eq!(
        chat(r#"{"choices":[{"message":{"tool_calls":[{"function":{"name":5}}]}}]}"#).to_string(),
        "at \"/choices/0/message/tool_calls/0/function/name\": expected a string, found a number",
    );
    assert_eq!(
        chat(r#"{"choices":[]}"#).to_string(),
        "at \"/choices\": expected an array with a choice in it, found an empty array",
    );
    assert_eq!(
        chat(r#"{"tool_calls":[],"tool_calls":[]}"#).to_string(),
        "at \"/tool_calls\": expected one member of this name, found several",
    );
    assert_eq!(
        chat(r#"{"error":{"message":"over\nloaded"}}"#).to_string(),
        "at \"/error\": the provider answered with an error: over\\nloaded",
    );
    assert_eq!(
        read_reply(Some(Dialect::Messages), "{}")
            .unwrap_err()
            .to_string(),
        "at \"\": expected a member \"content\", found none",
    );
    for text in [
        "",
        "{",
        "[1",
        "{]",
        "\"a",
        "{\"a\" 1}",
        "{\"a\":}",
        "x",
        "{} {}",
        "{\"a\":tru}",
    ] {
        assert!(matches!(chat(text), WireError::NotJson { .. }), "{text}");
    }
    let deep = "[".repeat(100_000);
    assert!(matches!(chat(&deep), WireError::NotJson { .. }));
}
