//! Calls as providers really sent them, and odd ones, through the readers.

#[path = "support/wire.rs"]
mod support;

use serde_json::{Value, json};
use support::{DIALECTS, Sent, body, rows, stream, whole};
use toolfall::wire::{
    CallKind, Dialect, Incomplete, StreamAssembler, WireBatch, WireResult, read_reply,
    write_assistant, write_results,
};
use toolfall_layers::ContentBlock;

fn sent(call: &Value) -> Sent {
    let text = |name: &str| call[name].as_str().map(str::to_owned);
    let pieces = match call["fragments"].as_array() {
        Some(pieces) => pieces
            .iter()
            .map(|piece| piece.as_str().unwrap().to_owned())
            .collect(),
        None => vec![text("arguments_json").unwrap()],
    };
    let mut more = Vec::new();
    if let Some(caller) = text("caller") {
        more.push(("caller".to_owned(), json!({"type": caller})));
    }
    if let Some(namespace) = text("namespace") {
        more.push(("namespace".to_owned(), namespace.into()));
    }
    Sent {
        id: text("call_id"),
        name: text("name").unwrap(),
        pieces,
        block: text("block"),
        custom: call["free_text"] == true,
        start: text("input_at_start"),
        last: text("final"),
        more,
    }
}

fn assemble(dialect: Dialect, events: &[String]) -> WireBatch {
    let mut assembler = StreamAssembler::new(dialect);
    for event in events {
        assembler
            .push(event)
            .unwrap_or_else(|error| panic!("{error}: {event}"));
    }
    assembler.finish()
}

/// The batch holds exactly the calls that were sent for the host to run.
fn assert_read(batch: &WireBatch, calls: &[Sent], row: &str) {
    let (apart, ours): (Vec<_>, Vec<_>) = calls.iter().partition(|call| call.block.is_some());
    assert_eq!(batch.calls.len(), ours.len(), "{row}");
    for (call, sent) in batch.calls.iter().zip(ours) {
        assert_eq!(call.id, sent.id, "{row}");
        assert_eq!(call.name, sent.name, "{row}");
        assert_eq!(
            call.arguments.as_text(),
            Some(sent.text().as_str()),
            "{row}"
        );
        let kind = if sent.custom {
            CallKind::Custom
        } else {
            CallKind::Function
        };
        assert_eq!(call.kind, kind, "{row}");
        assert!(!call.cut, "{row}");
        for (name, value) in &sent.more {
            assert_eq!(call.extras.get(name), Some(value), "{row}");
        }
    }
    assert_eq!(batch.provider_ran.len(), apart.len(), "{row}");
    for (call, sent) in batch.provider_ran.iter().zip(apart) {
        assert_eq!(
            (&call.id, &call.name),
            (&sent.id, &Some(sent.name.clone())),
            "{row}"
        );
    }
    assert_eq!(batch.incomplete, None, "{row}");
    assert!(
        (0..batch.calls.len()).all(|place| batch.may_run(place)),
        "{row}"
    );
}

#[test]
fn every_recorded_call_comes_through_as_it_was_sent() {
    let (mut bodies, mut streams) = (0, 0);
    for row in rows("wire/recorded_calls.jsonl") {
        let Ok(dialect) = row["dialect"].as_str().unwrap().parse::<Dialect>() else {
            continue;
        };
        let name = row["id"].as_str().unwrap();
        let calls: Vec<_> = row["calls"].as_array().unwrap().iter().map(sent).collect();
        // Pieces of several calls took turns in some.
        let order: Vec<_> = match row.get("fragments_interleaved") {
            Some(_) => (0..40).collect(),
            None => Vec::new(),
        };
        let events = stream(dialect, &calls, &order, whole(dialect));
        assert_read(&assemble(dialect, &events), &calls, name);
        streams += 1;
        // What is not even bracketed cannot stand in a body.
        let in_body = |call: &Sent| {
            dialect != Dialect::Messages || serde_json::from_str::<Value>(&call.text()).is_ok()
        };
        if calls.iter().all(in_body) {
            let text = body(dialect, &calls, whole(dialect));
            assert_read(&read_reply(None, &text).unwrap(), &calls, name);
            assert_read(&read_reply(Some(dialect), &text).unwrap(), &calls, name);
            bodies += 1;
        }
    }
    assert_eq!((bodies, streams), (198, 201));
}

fn odd_calls(row: &Value) -> Option<Vec<Sent>> {
    match &row["calls"] {
        Value::Array(calls) => Some(calls.iter().map(sent).collect()),
        Value::String(_) => Some(vec![Sent::new("c1", "read", "{\"path\":\"a\"}"); 200]),
        _ => None,
    }
}

#[test]
fn odd_names_ids_and_batches_are_kept_and_each_call_gets_one_result() {
    let mut seen = 0;
    for row in rows("odd/calls.jsonl") {
        let name = row["id"].as_str().unwrap();
        let Some(calls) = odd_calls(&row) else {
            continue;
        };
        for dialect in DIALECTS {
            let only_messages = calls.iter().any(|call| call.block.is_some());
            let free = calls.iter().any(|call| call.custom);
            if (only_messages && dialect != Dialect::Messages)
                || (free && dialect == Dialect::Messages)
            {
                continue;
            }
            seen += 1;
            let events = stream(dialect, &calls, &[], whole(dialect));
            let batch = assemble(dialect, &events);
            assert_read(&batch, &calls, name);
            let content = [ContentBlock::text("done")];
            let results: Vec<_> = batch
                .calls
                .iter()
                .map(|call| WireResult::of(call, &content, false))
                .collect();
            let mut messages = write_assistant(dialect, &batch.calls).messages;
            messages.extend(write_results(dialect, &results));
            assert_eq!(toolfall::pairing::check(dialect, &messages), [], "{name}");
            // The provider reads the same calls again, with ids throughout.
            let turn = Value::Array(match dialect {
                Dialect::Responses => messages[..batch.calls.len()].to_vec(),
                _ if messages.is_empty() => continue,
                Dialect::Messages => messages[0]["content"].as_array().unwrap().clone(),
                _ => {
                    let again = read_reply(Some(dialect), &messages[0].to_string()).unwrap();
                    assert!(
                        again
                            .calls
                            .iter()
                            .all(|call| call.id.as_deref() != Some(""))
                    );
                    continue;
                }
            });
            let again = read_reply(Some(dialect), &turn.to_string()).unwrap();
            assert_eq!(again.calls.len(), batch.calls.len(), "{name}");
            assert!(
                again
                    .calls
                    .iter()
                    .all(|call| call.id.as_deref() != Some(""))
            );
        }
    }
    assert!(seen > 80, "{seen}");
}

#[test]
fn no_call_of_a_reply_that_was_cut_off_or_filtered_may_run() {
    let mut seen = 0;
    for row in rows("odd/calls.jsonl") {
        let Some(reason) = row["finish_reason"].as_str() else {
            continue;
        };
        let calls = odd_calls(&row).unwrap();
        let batch = assemble(
            Dialect::ChatCompletions,
            &stream(Dialect::ChatCompletions, &calls, &[], reason),
        );
        let why = match reason {
            "length" => Incomplete::Length,
            _ => Incomplete::Filtered,
        };
        assert_eq!(batch.incomplete, Some(why));
        assert_eq!(batch.calls.len(), calls.len());
        assert!((0..calls.len()).all(|place| !batch.may_run(place)));
        assert!(batch.calls.last().unwrap().cut);
        seen += 1;
    }
    assert_eq!(seen, 3);
}
