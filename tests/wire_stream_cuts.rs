//! Streams: cut, interleaved and broken off anywhere, by property.

#[path = "support/wire.rs"]
mod support;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use support::{DIALECTS, Sent, stream, whole};
use toolfall::wire::{
    Dialect, Incomplete, RawArguments, SseDecoder, StreamAssembler, WireCall, read_reply,
    write_assistant,
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
