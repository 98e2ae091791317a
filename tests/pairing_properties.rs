//! Repair, on any conversation.

#[path = "support/pairing.rs"]
mod support;

use proptest::prelude::*;
use serde_json::{Value, json};
use support::{
    DIALECTS,
    Step::{self, Answer, Ask, Say, Think},
    conversation, is_within, kinds,
};
use toolfall::pairing::{self, Finding};

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
