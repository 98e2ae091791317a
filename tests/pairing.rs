//! Which calls lack a result, and what is added for them.

#[path = "support/pairing.rs"]
mod support;

use serde_json::{Value, json};
use support::{
    DIALECTS,
    Step::{self, Answer, Ask, Say},
    conversation, is_within, kinds,
};
use toolfall::{
    pairing::{self, Entry, Finding, SYNTHETIC_RESULT, check_log, repair_log},
    wire::Dialect,
};

/// The ids of results, in order, with `*` behind those that were added.
fn results(dialect: Dialect, messages: &[Value]) -> Vec<String> {
    let one = |id: &Value, content: &Value| {
        let added = content.to_string().contains(SYNTHETIC_RESULT);
        format!("{}{}", id.as_str().unwrap(), if added { "*" } else { "" })
    };
    let mut found = Vec::new();
    for message in messages {
        match dialect {
            Dialect::ChatCompletions if message["role"] == "tool" => {
                found.push(one(&message["tool_call_id"], &message["content"]));
            }
            Dialect::Responses if message["type"] == "function_call_output" => {
                found.push(one(&message["call_id"], &message["output"]));
            }
            Dialect::Messages => {
                for block in message["content"].as_array().into_iter().flatten() {
                    if block["type"] == "tool_result" {
                        found.push(one(&block["tool_use_id"], &block["content"]));
                    }
                }
            }
            _ => {}
        }
    }
    found
}

#[test]
fn findings_name_what_is_wrong() {
    let cases: [(&[Step], &[&str]); 12] = [
        (&[Ask(vec!["a", "b"]), Answer(vec!["a", "b"]), Say], &[]),
        (&[Ask(vec!["a", "b"]), Answer(vec!["b"])], &["missing a"]),
        (&[Ask(vec!["a"])], &["missing a"]),
        (&[Ask(vec!["a", "b"]), Answer(vec!["b", "a"])], &["order a"]),
        (&[Ask(vec!["a"]), Answer(vec!["a", "a"])], &["duplicate a"]),
        (
            &[Ask(vec!["a"]), Answer(vec!["a"]), Say, Answer(vec!["a"])],
            &["duplicate a"],
        ),
        (&[Ask(vec!["a"]), Answer(vec!["a", "x"])], &["orphan x"]),
        (&[Ask(vec!["a"]), Say, Answer(vec!["a"])], &["order a"]),
        (&[Answer(vec!["a"]), Ask(vec!["a"])], &["order a"]),
        // One id twice in a turn: two results are wanted.
        (&[Ask(vec!["a", "a"]), Answer(vec!["a", "a"])], &[]),
        (&[Ask(vec!["a", "a"]), Answer(vec!["a"])], &["missing a"]),
        // One id in two turns.
        (
            &[
                Ask(vec!["a"]),
                Answer(vec!["a"]),
                Ask(vec!["a"]),
                Answer(vec!["a"]),
            ],
            &[],
        ),
    ];
    for dialect in DIALECTS {
        for (steps, expected) in &cases {
            let messages = conversation(dialect, steps);
            let found = pairing::check(dialect, &messages);
            assert_eq!(kinds(&found), *expected, "{dialect}: {steps:?}");
        }
    }
}

#[test]
fn findings_point_into_the_messages() {
    let messages = conversation(
        Dialect::Messages,
        &[Say, Ask(vec!["a", "b"]), Answer(vec!["a", "x"])],
    );
    let found = pairing::check(Dialect::Messages, &messages);
    assert_eq!(
        found,
        [
            Finding::MissingResult {
                id: "b".into(),
                call: "/1/content/1".into()
            },
            Finding::OrphanResult {
                id: "x".into(),
                result: "/2/content/1".into()
            },
        ]
    );
    let text: Vec<_> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        text,
        [
            "at \"/1/content/1\": call \"b\" has no result",
            "at \"/2/content/1\": there is no call \"x\"",
        ]
    );
    let messages = conversation(
        Dialect::Responses,
        &[Ask(vec!["a", "b"]), Answer(vec!["b", "a"])],
    );
    assert_eq!(
        pairing::check(Dialect::Responses, &messages),
        [Finding::OutOfOrder {
            id: "a".into(),
            result: "/3".into(),
            call: "/0".into()
        }],
    );
}

/// conformance: SCHED-41
#[test]
fn a_missing_result_is_added_where_the_provider_looks_for_it() {
    for dialect in DIALECTS {
        let steps = [
            Ask(vec!["a", "b", "c"]),
            Answer(vec!["b"]),
            Say,
            Ask(vec!["d"]),
            Say,
            Ask(vec!["e"]),
        ];
        let messages = conversation(dialect, &steps);
        let whole = pairing::repair(dialect, &messages);
        assert_eq!(
            results(dialect, &whole),
            ["a*", "b", "c*", "d*", "e*"],
            "{dialect}"
        );
        assert_eq!(pairing::check(dialect, &whole), [], "{dialect}");
        assert_eq!(pairing::repair(dialect, &whole), whole, "{dialect}");
    }
}

#[test]
fn messages_gets_results_in_front_of_what_the_user_says() {
    let messages = [
        json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": "a", "name": "read", "input": {}}]}),
        json!({"role": "assistant", "content": "hm"}),
        json!({"role": "user", "content": "go on"}),
    ];
    let whole = pairing::repair(Dialect::Messages, &messages);
    assert_eq!(whole[..2], messages[..2]);
    assert_eq!(
        whole[2..],
        [json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "is_error": true,
                "content": [{"type": "text", "text": SYNTHETIC_RESULT}]},
            {"type": "text", "text": "go on"},
        ]})]
    );
    // A result behind text is late there, though in the right message.
    let late = [
        messages[0].clone(),
        json!({"role": "user", "content": [
            {"type": "text", "text": "go on"},
            {"type": "tool_result", "tool_use_id": "a"},
        ]}),
    ];
    assert_eq!(
        kinds(&pairing::check(Dialect::Messages, &late)),
        ["order a"]
    );
    assert_eq!(pairing::repair(Dialect::Messages, &late), late);
}

#[test]
fn free_text_calls_get_their_own_kind_of_result() {
    let items = [
        json!({"type": "custom_tool_call", "call_id": "a", "name": "sql", "input": "SELECT 1"}),
        json!({"type": "reasoning", "summary": []}),
        json!({"role": "user", "content": "go on"}),
    ];
    let whole = pairing::repair(Dialect::Responses, &items);
    assert_eq!(
        whole[2],
        json!({"type": "custom_tool_call_output", "call_id": "a", "output": SYNTHETIC_RESULT})
    );
    assert_eq!(whole.len(), 4);
}

#[test]
fn messages_of_no_known_shape_are_passed_over() {
    let odd = [
        json!(null),
        json!([1]),
        json!("x"),
        json!({"role": 5}),
        json!({"role": "assistant", "tool_calls": 3, "content": 4}),
        json!({"role": "assistant", "tool_calls": [null, {"id": 5}], "content": [null]}),
        json!({"role": "user", "content": null}),
        json!({"type": "function_call"}),
    ];
    for dialect in DIALECTS {
        let whole = pairing::repair(dialect, &odd);
        assert!(pairing::check(dialect, &whole).is_empty(), "{dialect}");
        assert!(is_within(&odd, &whole));
    }
}

#[test]
fn a_log_is_checked_and_repaired_too() {
    let log = [
        Entry::Call("a"),
        Entry::Result("a"),
        Entry::Call("b"),
        Entry::Call("a"),
        Entry::Result("a"),
        Entry::Turn,
        Entry::Result("x"),
    ];
    assert_eq!(kinds(&check_log(&log)), ["missing b", "orphan x"]);
    let whole = repair_log(&log);
    assert_eq!(
        whole[..4],
        [
            Entry::Call("a"),
            Entry::Result("a"),
            Entry::Call("b"),
            Entry::Result("b")
        ]
    );
    assert_eq!(kinds(&check_log(&whole)), ["orphan x"]);
}
