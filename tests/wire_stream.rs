//! Streams: pieces in any cut, interleaved, broken off, too large.

#[path = "support/wire.rs"]
mod support;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use support::{DIALECTS, Sent, length, stream, whole};
use toolfall::wire::{
    Dialect, Incomplete, RawArguments, SseDecoder, StreamAssembler, WireBatch, WireCall, WireError,
    read_reply, write_assistant,
};

fn pushed(dialect: Dialect, events: &[String]) -> StreamAssembler {
    let mut assembler = StreamAssembler::new(dialect);
    for event in events {
        assembler
            .push(event)
            .unwrap_or_else(|error| panic!("{error}: {event}"));
    }
    assembler
}

fn texts(batch: &WireBatch) -> Vec<(Option<&str>, &str)> {
    batch
        .calls
        .iter()
        .map(|call| (call.id.as_deref(), call.arguments.as_text().unwrap()))
        .collect()
}

/// A chat stream of these pieces of calls, in this order, with its end.
fn chat(pieces: &[Value]) -> WireBatch {
    let mut assembler = StreamAssembler::new(Dialect::ChatCompletions);
    for piece in pieces {
        let event = json!({"choices": [{"delta": {"tool_calls": [piece]}}]});
        assembler.push(&event.to_string()).unwrap();
    }
    let end = json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]});
    assembler.push(&end.to_string()).unwrap();
    assembler.finish()
}

/// conformance: SCHED-45
#[test]
fn a_call_half_written_when_the_host_stops_reading_is_dropped_whole() {
    for dialect in DIALECTS {
        let mut half = Sent::new("c2", "write", "");
        half.pieces = vec![
            "{\"path\":\"a\"".to_owned(),
            ",\"content\":\"\"}".to_owned(),
        ];
        let calls = [Sent::new("c1", "read", "{\"a\":1}"), half];
        let all = stream(dialect, &calls, &[], whole(dialect));
        let until = all
            .iter()
            .position(|event| event.contains("\\\"content\\\""))
            .unwrap();
        let batch = pushed(dialect, &all[..until]).cancel();
        assert_eq!(batch.incomplete, Some(Incomplete::Cancelled), "{dialect}");
        assert!(
            batch
                .calls
                .iter()
                .all(|call| call.id.as_deref() != Some("c2")),
            "{dialect}"
        );
        assert!(!batch.may_run(0), "{dialect}");

        let batch = pushed(dialect, &all[..until]).finish();
        assert_eq!(batch.incomplete, Some(Incomplete::Unfinished), "{dialect}");
        assert!(batch.calls[1].cut && !batch.may_run(0), "{dialect}");
    }
}

#[test]
fn the_length_limit_cuts_the_last_call_even_if_it_was_closed() {
    for dialect in DIALECTS {
        let calls = [
            Sent::new("c1", "read", "{\"a\":1}"),
            Sent::new("c2", "read", "{\"a\":2}"),
        ];
        let batch = pushed(dialect, &stream(dialect, &calls, &[], length(dialect))).finish();
        assert_eq!(batch.incomplete, Some(Incomplete::Length), "{dialect}");
        let cut: Vec<_> = batch.calls.iter().map(|call| call.cut).collect();
        assert_eq!(cut, [false, true], "{dialect}");
    }
}

#[test]
fn servers_that_send_whole_calls_at_one_index_are_not_joined() {
    let whole = |id: Value, text: &str| json!({"index": 0, "id": id, "function": {"name": "search", "arguments": text}});
    let batch = chat(&[whole("a".into(), "{}"), whole("b".into(), "{\"x\":1}")]);
    assert_eq!(texts(&batch), [(Some("a"), "{}"), (Some("b"), "{\"x\":1}")]);
    let batch = chat(&[whole(Value::Null, "{}"), whole(Value::Null, "{}")]);
    assert_eq!(texts(&batch), [(None, "{}"), (None, "{}")]);
    // Id and name said again with every piece are one call.
    let batch = chat(&[whole("a".into(), "{\"x\""), whole("a".into(), ":1}")]);
    assert_eq!(texts(&batch), [(Some("a"), "{\"x\":1}")]);
    assert_eq!(batch.calls[0].name, "search");
    // The id comes late, the name too.
    let batch = chat(&[
        json!({"index": 0, "function": {"arguments": "{"}}),
        json!({"index": 0, "id": "a", "function": {"name": "search", "arguments": "}"}}),
    ]);
    assert_eq!(texts(&batch), [(Some("a"), "{}")]);
    assert_eq!(batch.calls[0].name, "search");
}

#[test]
fn calls_come_in_the_order_of_their_indexes() {
    let piece = |index: u64| json!({"index": index, "id": format!("c{index}"), "function": {"name": "a", "arguments": "{}"}});
    let batch = chat(&[piece(1), piece(0)]);
    assert_eq!(texts(&batch), [(Some("c0"), "{}"), (Some("c1"), "{}")]);
}

#[test]
fn the_halves_of_a_character_may_come_in_two_pieces() {
    let mut assembler = StreamAssembler::new(Dialect::Messages);
    for event in [
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"a","input":{}}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":\"\ud83d"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"\ude00\"}"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
    ] {
        assembler.push(event).unwrap();
    }
    let batch = assembler.finish();
    let text = batch.calls[0].arguments.as_text().unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(text).unwrap(),
        json!({"a": "😀"})
    );
}

#[test]
fn responses_told_only_at_their_end_are_read() {
    let item = json!({"type": "function_call", "call_id": "c1", "name": "a", "arguments": "{}"});
    let end = json!({"type": "response.completed",
        "response": {"status": "completed", "output": [item.clone()]}});
    let batch = pushed(Dialect::Responses, &[end.to_string()]).finish();
    assert_eq!(texts(&batch), [(Some("c1"), "{}")]);
    assert!(batch.may_run(0));

    let done = json!({"type": "response.output_item.done", "item": item});
    let empty = json!({"type": "response.completed", "response": {"status": "completed"}});
    let batch = pushed(Dialect::Responses, &[done.to_string(), empty.to_string()]).finish();
    assert_eq!(texts(&batch), [(Some("c1"), "{}")]);

    let failed = json!({"type": "response.failed", "response": {"status": "failed"}});
    let batch = pushed(Dialect::Responses, &[failed.to_string()]).finish();
    assert_eq!(batch.incomplete, Some(Incomplete::Failed));
}

#[test]
fn what_a_stream_may_hold_is_bounded() {
    for dialect in DIALECTS {
        let mut call = Sent::new("c1", "a", "");
        call.pieces = vec!["x".repeat(100); 20];
        let mut assembler = StreamAssembler::with_limit(dialect, 1_000);
        let events = stream(dialect, &[call], &[], whole(dialect));
        let first = events.iter().find_map(|event| assembler.push(event).err());
        assert_eq!(
            first,
            Some(WireError::TooLarge { limit: 1_000 }),
            "{dialect}"
        );
        assert_eq!(assembler.push("{}"), Err(WireError::Broken));
        let batch = assembler.finish();
        assert_eq!(batch.incomplete, Some(Incomplete::Failed), "{dialect}");
        assert!(!batch.may_run(0));

        // Calls without any text are bounded too.
        let calls = vec![Sent::new("", "", ""); 100];
        let mut assembler = StreamAssembler::with_limit(dialect, 1_000);
        let events = stream(dialect, &calls, &[], whole(dialect));
        assert!(
            events.iter().any(|event| assembler.push(event).is_err()),
            "{dialect}"
        );
    }
    let mut decoder = SseDecoder::new(10);
    assert_eq!(
        decoder.push(b"data: 12345678"),
        Err(WireError::TooLarge { limit: 10 })
    );
    assert_eq!(decoder.push(b"\n\n"), Err(WireError::Broken));
}

#[test]
fn an_event_that_cannot_be_read_fails_the_batch_and_says_where() {
    let mut assembler = StreamAssembler::new(Dialect::Messages);
    let error = assembler
        .push(r#"{"type":"content_block_start","index":"x"}"#)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "at \"/index\": expected a whole number from 0, found a string"
    );
    assert_eq!(assembler.finish().incomplete, Some(Incomplete::Failed));

    let mut assembler = StreamAssembler::new(Dialect::Messages);
    let error = assembler
        .push(r#"{"type":"error","error":{"message":"overloaded"}}"#)
        .unwrap_err();
    assert!(matches!(error, WireError::Provider { .. }));
}

fn object_text() -> impl Strategy<Value = String> {
    proptest::collection::btree_map("[a-c\"é\\\\]{0,3}", any::<(i64, String)>(), 0..4).prop_map(
        |members| {
            let object: Map<String, Value> = members
                .into_iter()
                .map(|(name, value)| (name, json!(value)))
                .collect();
            Value::Object(object).to_string()
        },
    )
}

/// Cuts a text at random characters.
fn pieces(text: &str, cuts: &[usize]) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut cuts: Vec<_> = cuts.iter().map(|cut| cut % (chars.len() + 1)).collect();
    cuts.extend([0, chars.len()]);
    cuts.sort_unstable();
    cuts.windows(2)
        .map(|cut| chars[cut[0]..cut[1]].iter().collect())
        .collect()
}

fn sent() -> impl Strategy<Value = Sent> {
    let id = proptest::option::of("[a-b]{0,1}");
    let cuts = proptest::collection::vec(any::<usize>(), 0..5);
    (id, "[a-z.é]{1,5}", object_text(), cuts).prop_map(|(id, name, text, cuts)| Sent {
        id,
        name,
        pieces: pieces(&text, &cuts),
        ..Sent::default()
    })
}

proptest! {
    /// Wherever the bytes are cut, and however pieces take turns, the calls
    /// are those that were sent.
    #[test]
    fn any_cut_gives_the_same_calls(
        calls in proptest::collection::vec(sent(), 0..4),
        order in proptest::collection::vec(0..4_usize, 0..20),
        bytes in proptest::collection::vec(1..40_usize, 1..20),
    ) {
        for dialect in DIALECTS {
            let events = stream(dialect, &calls, &order, whole(dialect));
            let mut all = Vec::new();
            for event in &events {
                all.extend_from_slice(format!("event: x\r\ndata: {event}\r\n\r\n").as_bytes());
            }
            let mut decoder = SseDecoder::new(1 << 20);
            let mut assembler = StreamAssembler::new(dialect);
            let mut rest = &all[..];
            for size in bytes.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, left) = rest.split_at((*size).min(rest.len()));
                rest = left;
                for payload in decoder.push(piece).unwrap() {
                    assembler.push(&payload).unwrap();
                }
            }
            let batch = assembler.finish();
            prop_assert_eq!(batch.incomplete, None);
            prop_assert_eq!(batch.calls.len(), calls.len());
            for (call, sent) in batch.calls.iter().zip(&calls) {
                prop_assert_eq!(&call.id, &sent.id);
                prop_assert_eq!(&call.name, &sent.name);
                let text = sent.text();
                prop_assert_eq!(call.arguments.as_text(), Some(text.as_str()));
                prop_assert!(!call.cut);
            }
        }
    }

    /// Wherever a stream breaks off, nothing of it may run, and a call that
    /// is not marked as cut is whole.
    #[test]
    fn a_stream_broken_off_anywhere_is_incomplete(
        calls in proptest::collection::vec(sent(), 1..4),
        order in proptest::collection::vec(0..4_usize, 0..20),
    ) {
        for dialect in DIALECTS {
            let events = stream(dialect, &calls, &order, whole(dialect));
            let end = events.iter().position(|event| {
                event.contains("\"finish_reason\":\"") || event.contains("\"stop_reason\":\"")
                    || event.contains("\"response.completed\"")
            }).unwrap();
            for cut in 0..=end {
                let batch = pushed(dialect, &events[..cut]).finish();
                prop_assert_eq!(batch.incomplete, Some(Incomplete::Unfinished));
                let dropped = pushed(dialect, &events[..cut]).cancel();
                for (place, call) in batch.calls.iter().enumerate() {
                    prop_assert!(!batch.may_run(place));
                    let text = calls[place].text();
                    prop_assert!(call.cut || call.arguments.as_text() == Some(text.as_str()));
                }
                let whole = batch.calls.iter().filter(|call| !call.cut).count();
                prop_assert_eq!(dropped.calls.len(), whole);
            }
        }
    }

    /// What is written is read again as the same calls.
    #[test]
    fn written_turns_are_read_again(calls in proptest::collection::vec(sent(), 1..5)) {
        for dialect in DIALECTS {
            let calls: Vec<_> = calls
                .iter()
                .map(|sent| {
                    WireCall::new(sent.id.as_deref(), &sent.name, RawArguments::Text(sent.text()))
                })
                .collect();
            let turn = write_assistant(dialect, &calls);
            let text = match dialect {
                Dialect::Responses => Value::Array(turn.messages).to_string(),
                _ => turn.messages[0].to_string(),
            };
            let again = read_reply(Some(dialect), &text).unwrap();
            prop_assert_eq!(again.calls.len(), calls.len());
            for (again, call) in again.calls.iter().zip(&calls) {
                prop_assert_eq!(&again.name, &call.name);
                prop_assert_eq!(&again.arguments, &call.arguments);
                match call.id.as_deref() {
                    None | Some("") => prop_assert!(!again.id.as_deref().unwrap().is_empty()),
                    id => prop_assert_eq!(again.id.as_deref(), id),
                }
            }
        }
    }

    /// No text makes a reader panic.
    #[test]
    fn any_text_is_read_or_refused(text in "[\\[\\]{}\",:a-c0\\\\ud8 é]{0,40}") {
        for dialect in DIALECTS {
            let _ = read_reply(Some(dialect), &text);
            let frame = format!("{{\"content\":[{{\"type\":\"tool_use\",\"input\":{text}}}]}}");
            let _ = read_reply(Some(dialect), &frame);
            let _ = StreamAssembler::new(dialect).push(&text);
        }
        let _ = read_reply(None, &text);
    }
}
