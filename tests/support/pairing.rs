//! Conversations of calls and results, for every dialect.
#![allow(dead_code, reason = "each test binary uses a part")]

use serde_json::{Value, json};
use toolfall::{
    pairing::Finding,
    wire::{Dialect, RawArguments, WireCall, WireResult, write_assistant, write_results},
};
use toolfall_layers::ContentBlock;

pub(crate) const DIALECTS: [Dialect; 3] = [
    Dialect::ChatCompletions,
    Dialect::Responses,
    Dialect::Messages,
];

use Step::{Answer, Ask, Say, Think};

/// One step of a conversation, for every dialect.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// The assistant asks for calls with these ids.
    Ask(Vec<&'static str>),
    /// Results for these ids, in this order.
    Answer(Vec<&'static str>),
    Say,
    Think,
}

pub(crate) fn conversation(dialect: Dialect, steps: &[Step]) -> Vec<Value> {
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

/// The kinds of finding with their ids, `missing a`.
pub(crate) fn kinds(found: &[Finding]) -> Vec<String> {
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

/// Whether `whole` holds all of `part`, in order.
pub(crate) fn is_within(part: &[Value], whole: &[Value]) -> bool {
    let mut whole = whole.iter();
    part.iter().all(|one| whole.any(|other| other == one))
}
