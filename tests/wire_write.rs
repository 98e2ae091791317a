//! Provider wire formats: what is written back.

#[path = "support/wire.rs"]
mod support;

use serde_json::{Value, json};
use support::DIALECTS;
use toolfall::wire::{
    CallKind, Dialect, Note, RawArguments, WireCall, WireResult, read_reply, safe_history,
    write_assistant, write_results,
};
use toolfall_layers::{ContentBlock, EmbeddedResource, ResourceContents};

fn call(id: Option<&str>, text: &str) -> WireCall {
    WireCall::new(id, "read", RawArguments::from(text))
}

#[test]
fn a_malformed_call_is_sent_again_as_an_object_that_shows_its_beginning() {
    let long = format!("not\u{7} json\n{}", "x".repeat(5_000));
    let calls = [
        call(Some("c1"), "{\"path\": \"a\"}"),
        call(Some("c2"), &long),
        call(Some("c3"), ""),
        call(Some("c4"), "[1]"),
    ];
    for dialect in DIALECTS {
        let turn = write_assistant(dialect, &calls);
        assert_eq!(
            turn.notes,
            [
                Note::ArgumentsReplaced { place: 1 },
                Note::ArgumentsReplaced { place: 3 }
            ]
        );
        let text = match dialect {
            Dialect::Responses => Value::Array(turn.messages).to_string(),
            _ => turn.messages[0].to_string(),
        };
        let again = read_reply(Some(dialect), &text).unwrap();
        let values: Vec<Value> = again
            .calls
            .iter()
            .map(|call| serde_json::from_str(call.arguments.as_text().unwrap()).unwrap())
            .collect();
        assert_eq!(values[0], json!({"path": "a"}));
        let echo = values[1]["malformed_arguments"].as_str().unwrap();
        assert!(
            echo.starts_with(r"not\u{7} json\nxxx") && echo.chars().count() <= 230,
            "{echo}"
        );
        assert_eq!(values[2], json!({}));
        assert_eq!(values[3], json!({"malformed_arguments": "[1]"}));
    }
}

/// An object in memory would change these; they were refused as arguments.
#[test]
fn messages_sends_no_input_that_was_changed_on_the_way() {
    for text in [
        "{\"a\":1,\"a\":2}",
        "{\"a\":[{\"b\":1,\"b\":1}]}",
        "{\"n\":-9223372036854775809}",
    ] {
        let turn = write_assistant(Dialect::Messages, &[call(Some("t"), text)]);
        assert_eq!(
            turn.messages[0]["content"][0]["input"],
            json!({"malformed_arguments": text})
        );
    }
    let fits = "{\"d\":1e3,\"n\":18446744073709551615,\"s\":\"99999999999999999999\"}";
    let turn = write_assistant(Dialect::Messages, &[call(Some("t"), fits)]);
    assert_eq!(turn.notes, []);
    assert_eq!(
        turn.messages[0]["content"][0]["input"]["n"],
        json!(u64::MAX)
    );
}

#[test]
fn the_shapes_of_a_turn() {
    let mut free = WireCall::new(Some("c2"), "sql", RawArguments::from("SELECT 1"));
    free.kind = CallKind::Custom;
    let mut first = call(Some("c1"), "{\"a\": 1}");
    first
        .extras
        .insert("caller".to_owned(), json!({"type": "direct"}));
    let calls = [first, free];
    let pixel = ContentBlock::Image {
        data: "AAAA".into(),
        mime_type: "image/png".into(),
    };
    let content = [ContentBlock::text("42"), pixel];
    let failed = [ContentBlock::text("Error: no")];
    let results = [
        WireResult::of(&calls[0], &content, false),
        WireResult::of(&calls[1], &failed, true),
    ];
    let turn = |dialect| {
        let mut messages = write_assistant(dialect, &calls).messages;
        messages.extend(write_results(dialect, &results));
        Value::Array(messages)
    };
    assert_eq!(
        turn(Dialect::ChatCompletions),
        json!([
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "caller": {"type": "direct"},
                    "function": {"name": "read", "arguments": "{\"a\": 1}"}},
                {"id": "c2", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}},
            ]},
            {"role": "tool", "tool_call_id": "c1",
                "content": "42\n[a picture of type image/png, which cannot be shown here]"},
            {"role": "tool", "tool_call_id": "c2", "content": "Error: no"},
        ])
    );
    assert_eq!(
        turn(Dialect::Responses),
        json!([
            {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{\"a\": 1}",
                "caller": {"type": "direct"}},
            {"type": "custom_tool_call", "call_id": "c2", "name": "sql", "input": "SELECT 1"},
            {"type": "function_call_output", "call_id": "c1", "output": [
                {"type": "input_text", "text": "42"},
                {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AAAA"},
            ]},
            {"type": "custom_tool_call_output", "call_id": "c2", "output": "Error: no"},
        ])
    );
    assert_eq!(
        turn(Dialect::Messages),
        json!([
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "c1", "name": "read", "input": {"a": 1},
                    "caller": {"type": "direct"}},
                {"type": "tool_use", "id": "c2", "name": "sql", "input": {"input": "SELECT 1"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [
                    {"type": "text", "text": "42"},
                    {"type": "image", "source":
                        {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                ]},
                {"type": "tool_result", "tool_use_id": "c2", "is_error": true,
                    "content": [{"type": "text", "text": "Error: no"}]},
            ]},
        ])
    );
    for dialect in DIALECTS {
        assert!(write_assistant(dialect, &[]).messages.is_empty());
        assert!(write_results(dialect, &[]).is_empty());
    }
}

#[test]
fn content_that_an_interface_cannot_carry_becomes_text_that_says_so() {
    let only = call(Some("c1"), "{}");
    let content = [
        ContentBlock::Audio {
            data: "AAAA".into(),
            mime_type: "audio/wav".into(),
        },
        ContentBlock::Image {
            data: "AAAA".into(),
            mime_type: "image/tiff".into(),
        },
        ContentBlock::ResourceLink {
            uri: "file:///a".into(),
            name: "a".into(),
            mime_type: None,
        },
        ContentBlock::Resource {
            resource: EmbeddedResource {
                uri: "file:///notes.md".into(),
                mime_type: Some("text/markdown".into()),
                contents: ResourceContents::Text("what the notes say".into()),
            },
        },
        ContentBlock::Resource {
            resource: EmbeddedResource {
                uri: "file:///a.bin".into(),
                mime_type: None,
                contents: ResourceContents::Blob("AAAA".into()),
            },
        },
        ContentBlock::Reasoning {
            text: "secret".into(),
        },
        ContentBlock::text(""),
    ];
    for dialect in DIALECTS {
        let text = Value::Array(write_results(
            dialect,
            &[WireResult::of(&only, &content, false)],
        ))
        .to_string();
        for part in [
            "audio/wav",
            "image/tiff",
            "file:///a",
            "reasoning",
            "text/markdown",
            "what the notes say",
            "file:///a.bin",
        ] {
            assert!(text.contains(part), "{dialect}: {part}");
        }
        assert!(
            !text.contains("AAAA") && !text.contains("secret"),
            "{dialect}: {text}"
        );
        assert!(!text.contains("\"text\":\"\""), "{dialect}: {text}");
    }
    let nothing = [
        WireResult::of(&only, &[], true),
        WireResult::of(&only, &[], false),
    ];
    let message = &write_results(Dialect::Messages, &nothing)[0];
    assert_eq!(message["content"][0]["content"][0]["text"], "Error");
    assert_eq!(message["content"][1].get("content"), None);
}

#[test]
fn stand_in_ids_agree_and_clash_with_none() {
    let calls = [
        call(None, "{}"),
        call(Some("call_0"), "{}"),
        call(Some(""), "{}"),
        call(Some("call_0_"), "{}"),
    ];
    let results: Vec<_> = calls
        .iter()
        .map(|call| WireResult::of(call, &[], false))
        .collect();
    for dialect in DIALECTS {
        let turn = write_assistant(dialect, &calls);
        assert_eq!(
            turn.notes,
            [Note::IdMade { place: 0 }, Note::IdMade { place: 2 }]
        );
        let mut messages = turn.messages;
        messages.extend(write_results(dialect, &results));
        assert_eq!(
            toolfall::pairing::check(dialect, &messages),
            [],
            "{dialect}"
        );
        let text = Value::Array(messages).to_string();
        for id in ["\"call_0\"", "\"call_0_\"", "\"call_0__\"", "\"call_2\""] {
            assert_eq!(text.matches(id).count(), 2, "{dialect}: {id} in {text}");
        }
    }
}

#[test]
fn ids_and_names_that_may_be_refused_are_kept_and_reported() {
    let odd_name = WireCall::new(Some("c"), "functions.read", RawArguments::Absent);
    let calls = [call(Some("a/b"), "{}"), call(Some("c"), "{}"), odd_name];
    let turn = write_assistant(Dialect::Messages, &calls);
    assert_eq!(
        turn.notes,
        [
            Note::IdOdd { place: 0 },
            Note::IdRepeated { place: 2 },
            Note::NameOdd { place: 2 }
        ]
    );
    assert_eq!(turn.messages[0]["content"][2]["name"], "functions.read");
    assert_eq!(turn.messages[0]["content"][0]["id"], "a/b");
}

#[test]
fn a_history_is_made_safe_and_keeps_all_else() {
    let chat = [
        json!({"role": "user", "content": "hi"}),
        json!({"role": "assistant", "content": "thinking", "tool_calls": [
            {"id": "c1", "function": {"name": "a", "arguments": "{\"x\" : 1}"}},
            {"id": "c2", "function": {"name": "a", "arguments": "{\"x"}},
            {"id": "c3", "function": {"name": "a", "arguments": ""}},
        ]}),
    ];
    let safe = safe_history(Dialect::ChatCompletions, &chat);
    assert_eq!(safe.replaced, ["/1/tool_calls/1/function/arguments"]);
    assert_eq!(safe.messages[0], chat[0]);
    assert_eq!(safe.messages[1]["content"], "thinking");
    let arguments =
        |place: usize| safe.messages[1]["tool_calls"][place]["function"]["arguments"].clone();
    assert_eq!(arguments(0), "{\"x\" : 1}");
    assert_eq!(arguments(1), "{\"malformed_arguments\":\"{\\\"x\"}");
    assert_eq!(arguments(2), "{}");

    let messages = [json!({"role": "assistant", "content": [
        {"type": "thinking", "thinking": "t", "signature": "s"},
        {"type": "tool_use", "id": "t1", "name": "a", "input": "{\"x"},
        {"type": "tool_use", "id": "t2", "name": "a"},
    ]})];
    let safe = safe_history(Dialect::Messages, &messages);
    assert_eq!(safe.replaced, ["/0/content/1/input"]);
    assert_eq!(safe.messages[0]["content"][0], messages[0]["content"][0]);
    assert_eq!(
        safe.messages[0]["content"][1]["input"],
        json!({"malformed_arguments": "{\"x"})
    );
    assert_eq!(safe.messages[0]["content"][2]["input"], json!({}));
    assert_eq!(
        safe_history(Dialect::Messages, &safe.messages).replaced,
        [""; 0]
    );
}
