//! Which calls lack a result, and what is added for them.

#[path = "support/wire.rs"]
mod support;

use proptest::prelude::*;
use serde_json::{Value, json};
use support::DIALECTS;
use toolfall::{
    pairing::{self, Entry, Finding, SYNTHETIC_RESULT, check_log, repair_log},
    wire::{Dialect, RawArguments, WireCall, WireResult, write_assistant, write_results},
};
use toolfall_layers::ContentBlock;

/// One step of a conversation, for every dialect.
#[derive(Clone, Debug)]
enum Step {
    /// The assistant asks for calls with these ids.
    Ask(Vec<&'static str>),
    /// Results for these ids, in this order.
    Answer(Vec<&'static str>),
    Say,
    Think,
}
use Step::{Answer, Ask, Say, Think};

fn conversation(dialect: Dialect, steps: &[Step]) -> Vec<Value> {
    let mut messages = Vec::new();
    for step in steps {
        match step {
            Ask(ids) => {
                let calls: Vec<_> = ids
                    .iter()
                    .map(|id| WireCall::new(Some(id), "read", RawArguments::Absent))
                    .collect();
                messages.extend(write_assistant(dialect, &calls).messages);
            }
            Answer(ids) => {
                let content = [ContentBlock::text("42")];
                let calls: Vec<_> = ids
                    .iter()
                    .map(|id| WireCall::new(Some(id), "read", RawArguments::Absent))
                    .collect();
                let results: Vec<_> = calls
                    .iter()
                    .map(|call| WireResult::of(call, &content, false))
                    .collect();
                messages.extend(write_results(dialect, &results));
            }
            Say => messages.push(json!({"role": "user", "content": "go on"})),
            Think => messages.push(match dialect {
                Dialect::Responses => json!({"type": "reasoning", "summary": []}),
                _ => json!({"role": "assistant", "content": "hm"}),
            }),
        }
    }
    messages
}

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

/// The kinds of finding with their ids, `missing a`.
fn kinds(found: &[Finding]) -> Vec<String> {
    found
        .iter()
        .map(|finding| match finding {
            Finding::MissingResult { id, .. } => format!("missing {id}"),
            Finding::DuplicateResult { id, .. } => format!("duplicate {id}"),
            Finding::OrphanResult { id, .. } => format!("orphan {id}"),
            Finding::OutOfOrder { id, .. } => format!("order {id}"),
            other => panic!("{other}"),
        })
        .collect()
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

/// Whether `whole` holds all of `part`, in order.
fn is_within(part: &[Value], whole: &[Value]) -> bool {
    let mut whole = whole.iter();
    part.iter().all(|one| whole.any(|other| other == one))
}

/// Messages and, within Messages, each of their blocks, one by one.
fn atoms(messages: &[Value]) -> Vec<Value> {
    let mut atoms = Vec::new();
    for message in messages {
        match &message["content"] {
            Value::Array(blocks) => {
                atoms.extend(blocks.iter().map(|block| json!([message["role"], block])));
            }
            Value::String(text) => {
                atoms.push(json!([message["role"], {"type": "text", "text": text}]));
            }
            _ => atoms.push(message.clone()),
        }
    }
    atoms
}

fn step() -> impl Strategy<Value = Step> {
    let ids = || proptest::collection::vec(proptest::sample::select(vec!["a", "b", "c"]), 1..4);
    prop_oneof![
        ids().prop_map(Ask),
        ids().prop_map(Answer),
        Just(Say),
        Just(Think)
    ]
}

proptest! {
    /// Repair only adds, leaves no call without a result, and is done once.
    #[test]
    fn repair_only_adds_and_leaves_nothing_missing(
        steps in proptest::collection::vec(step(), 0..12),
    ) {
        for dialect in DIALECTS {
            let messages = conversation(dialect, &steps);
            let missing = |messages: &[Value]| {
                let found = pairing::check(dialect, messages);
                found.iter().filter(|found| matches!(found, Finding::MissingResult { .. })).count()
            };
            let whole = pairing::repair(dialect, &messages);
            prop_assert_eq!(missing(&whole), 0, "{} {:?}", dialect, &whole);
            prop_assert!(is_within(&atoms(&messages), &atoms(&whole)));
            prop_assert_eq!(atoms(&whole).len(), atoms(&messages).len() + missing(&messages));
            prop_assert_eq!(&pairing::repair(dialect, &whole), &whole);
            // What was wrong beside is neither hidden nor made more.
            let strays = |messages: &[Value]| {
                let mut found = kinds(&pairing::check(dialect, messages));
                found.retain(|kind| kind.starts_with("orphan") || kind.starts_with("duplicate"));
                found
            };
            prop_assert_eq!(strays(&messages), strays(&whole));
        }
    }
}
