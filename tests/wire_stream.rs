//! Streams: pieces in any cut, interleaved, broken off, too large.

#[path = "support/wire.rs"]
mod support;

use serde_json::{Value, json};
use support::{DIALECTS, Sent, length, stream, whole};
use toolfall::wire::{Dialect, Incomplete, SseDecoder, StreamAssembler, WireBatch, WireError};

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

fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut held, mut bytes) = (0_u32, 0, Vec::new());
    for digit in text.chars().filter_map(|char| DIGITS.find(char)) {
        bits = (bits << 6 | u32::try_from(digit).unwrap()) & 0xFFFF;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from(bits >> held & 0xFF).unwrap());
        }
    }
    bytes
}

#[test]
fn bytes_that_are_no_text_are_replaced_wherever_they_are_cut() {
    let mut seen = 0;
    for row in support::rows("odd/utf8.jsonl") {
        let bytes = base64(row["bytes_base64"].as_str().unwrap());
        if bytes.iter().any(|byte| matches!(byte, b'\r' | b'\n')) {
            continue;
        }
        let all = [b"data: ", &bytes[..], b"\n\n"].concat();
        for cut in 0..all.len() {
            let mut decoder = SseDecoder::new(1024);
            let mut payloads = decoder.push(&all[..cut]).unwrap();
            payloads.extend(decoder.push(&all[cut..]).unwrap());
            assert_eq!(
                payloads,
                [row["replaced"].as_str().unwrap()],
                "{}",
                row["id"]
            );
        }
        seen += 1;
    }
    assert_eq!(seen, 35);
}

#[test]
fn lines_end_and_events_join_as_the_format_says() {
    let mut decoder = SseDecoder::new(1024);
    let text = b"\xEF\xBB\xBFdata: 1\r\rdata:2\ndata\ndata:  3\n: comment\nid: 4\ndatas: 5\n\n\n\n";
    assert_eq!(decoder.push(text).unwrap(), ["1", "2\n\n 3"]);
}
