//! What opening a session log does with a log that was cut short.

use std::collections::HashMap;
use std::fs;

use proptest::prelude::*;
use toolfall::session::{
    AskedRecord, Body, CallRecord, LogError, MemorySink, Options, Record, ResultRecord, SessionLog,
    StartedRecord, check::check, read_log,
};
use toolfall_layers::ContentBlock;

fn undated() -> Options {
    Options::new().clock(|| None)
}

fn call(call: u64, name: &str) -> CallRecord {
    CallRecord {
        call,
        id: format!("id-{call}"),
        name: name.to_owned(),
        arguments: r#"{"text":"zwölf Bücher 📚 \u0000"}"#.to_owned(),
        ..CallRecord::default()
    }
}

fn answer(call: u64) -> ResultRecord {
    ResultRecord {
        call,
        id: format!("id-{call}"),
        content: vec![ContentBlock::text("done ✓")],
        ..ResultRecord::default()
    }
}

fn asked(id: &str, call: u64) -> AskedRecord {
    AskedRecord {
        id: id.to_owned(),
        call: Some(call),
        tool: "remove".to_owned(),
        ..AskedRecord::default()
    }
}

/// A small log with a finished call, a nested one, and open questions.
fn sample() -> Vec<u8> {
    let sink = MemorySink::default();
    let (log, _) = SessionLog::with_sink(sink.clone(), undated()).unwrap();
    log.append(call(1, "first")).unwrap();
    log.append(StartedRecord { call: 1 }).unwrap();
    log.append(call(2, "second")).unwrap();
    log.append(asked("q", 2)).unwrap();
    log.append(answer(1)).unwrap();
    log.append(StartedRecord { call: 2 }).unwrap();
    let nested = CallRecord {
        root: Some(2),
        parent: Some(2),
        ..call(3, "nested")
    };
    log.append(nested).unwrap();
    sink.bytes()
}

/// Every whole line of `bytes`, and a last one that lacks only its line break.
fn whole(bytes: &[u8]) -> Vec<Record> {
    bytes
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect()
}

fn results(records: &[Record]) -> HashMap<u64, Vec<&ResultRecord>> {
    let mut results: HashMap<u64, Vec<&ResultRecord>> = HashMap::new();
    for record in records {
        if let Body::Result(result) = &record.body {
            results.entry(result.call).or_default().push(result);
        }
    }
    results
}

/// Opens `bytes` and checks what must hold whatever they were cut from.
fn opens_and_closes_everything(bytes: &[u8]) -> MemorySink {
    let before = whole(bytes);
    let sink = MemorySink::new(bytes);
    let (log, recovery) = SessionLog::with_sink(sink.clone(), undated()).unwrap();
    let records = log.records().unwrap();
    assert_eq!(recovery.records, before.len() as u64);
    assert_eq!(records[..before.len()], before, "no whole record is lost");
    assert_eq!(check(&records), [], "{}", String::from_utf8_lossy(bytes));
    for (at, record) in records.iter().enumerate() {
        assert_eq!(record.seq, at as u64 + 1);
    }
    let results = results(&records);
    for record in &before {
        let Body::Call(call) = &record.body else {
            continue;
        };
        let [result] = results[&call.call][..] else {
            panic!("call {} has {:?}", call.call, results[&call.call]);
        };
        let started = before
            .iter()
            .any(|r| matches!(&r.body, Body::Started(s) if s.call == call.call));
        if result.interrupted {
            let code = result.error.as_ref().unwrap().code.as_deref();
            let (expected, effect) = if started {
                ("INTERRUPTED", "unknown")
            } else {
                ("ABORTED_BEFORE_DISPATCH", "not_started")
            };
            assert_eq!(code, Some(expected));
            assert_eq!(result.effect.as_deref(), Some(effect));
        }
    }
    let calls = before.iter().filter(|r| matches!(r.body, Body::Call(_)));
    assert_eq!(calls.count(), results.len(), "no result without a call");
    drop(log);

    let once = sink.bytes();
    let (_, again) = SessionLog::with_sink(sink.clone(), undated()).unwrap();
    assert!(again.is_clean(), "{again:?}");
    assert_eq!(sink.bytes(), once, "opening again adds nothing");
    sink
}

#[test]
fn a_log_cut_at_any_byte_opens_with_every_call_finished_once() {
    let log = sample();
    for end in 0..=log.len() {
        opens_and_closes_everything(&log[..end]);
    }
}

/// The process may end again while the log is being repaired.
#[test]
fn a_repair_cut_at_any_byte_is_finished_by_the_next_opening() {
    let log = sample();
    let repaired = opens_and_closes_everything(&log[..log.len() - 9]).bytes();
    let cut = log.iter().rposition(|b| *b == b'\n').unwrap();
    let kept = log[..cut].iter().rposition(|b| *b == b'\n').unwrap() + 1;
    for end in kept..=repaired.len() {
        opens_and_closes_everything(&repaired[..end]);
    }
}

/// Some file systems leave zeros where data had not arrived.
#[test]
fn a_tail_of_zeros_is_torn() {
    let mut log = sample();
    let whole = log.len();
    log.extend_from_slice(b"{\"seq\":8,\"type\":\"tool/ca\0\0\0\0");
    opens_and_closes_everything(&log);
    log.truncate(whole);
    log.extend_from_slice(&[0; 4096]);
    opens_and_closes_everything(&log);
}

#[test]
fn torn_bytes_are_handed_back_and_their_place_is_recorded() {
    let mut log = sample();
    let offset = log.len() as u64;
    log.extend_from_slice(b"{\"seq\":8,\"type\":\"tool/re");
    let sink = MemorySink::new(log);
    let (log, recovery) = SessionLog::with_sink(sink, undated()).unwrap();
    let torn = recovery.torn.unwrap();
    assert_eq!((torn.line, torn.offset), (8, offset));
    assert_eq!(torn.bytes, b"{\"seq\":8,\"type\":\"tool/re");
    let records = log.records().unwrap();
    let Body::Torn(record) = &records[7].body else {
        panic!("{:?}", records[7]);
    };
    assert_eq!((record.offset, record.bytes), (offset, 24));
    assert_eq!(record.text, "{\"seq\":8,\"type\":\"tool/re");
}

/// A record that is whole is kept, even if its line break is missing.
#[test]
fn a_missing_line_break_costs_no_record() {
    let sink = MemorySink::default();
    let (log, _) = SessionLog::with_sink(sink.clone(), undated()).unwrap();
    log.append(call(1, "first")).unwrap();
    log.append(answer(1)).unwrap();
    let mut bytes = sink.bytes();
    bytes.pop();
    let sink = MemorySink::new(bytes);
    let (log, recovery) = SessionLog::with_sink(sink.clone(), undated()).unwrap();
    assert!(recovery.terminated && recovery.interrupted.is_empty());
    assert_eq!(log.records().unwrap().len(), 2);
    assert!(sink.bytes().ends_with(b"\n"));
}

#[test]
fn nested_calls_close_before_the_call_that_made_them() {
    let sink = MemorySink::new(sample());
    let (log, recovery) = SessionLog::with_sink(sink, undated()).unwrap();
    let records = log.records().unwrap();
    let closing: Vec<_> = records[7..]
        .iter()
        .map(|record| match &record.body {
            Body::Decided(decided) => format!("{} {}", decided.id, decided.outcome),
            Body::Result(result) => format!("{} {:?}", result.call, result.content[0].as_text()),
            other => panic!("{other:?}"),
        })
        .collect();
    let unknown = "Error: tool call was interrupted: the process ended while it ran; \
                   its effect is unknown";
    assert_eq!(
        closing,
        [
            "q cancelled".to_owned(),
            "3 Some(\"Error: tool call aborted before dispatch\")".to_owned(),
            format!("2 Some({unknown:?})"),
        ]
    );
    assert_eq!(recovery.cancelled, ["q"]);
    let open: Vec<_> = recovery
        .interrupted
        .iter()
        .map(|c| (c.call, c.started))
        .collect();
    assert_eq!(open, [(2, true), (3, false)]);
    assert_eq!(log.new_call(), 4, "ordinals go on");
}

/// Whoever names the wrong file must not lose it.
#[test]
fn a_file_that_is_no_log_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other");
    for other in [
        "hello",
        "hello\n",
        "{\"name\":\"package\"}",
        "{\n",
        "{\"seq\":1,\"type\":\"tool/call\"}",
        "\n",
        "[1]\n",
        "{\"seq\":1,\"type\":\"tool/started\",\"call\":9007199254740992}\n",
        "\u{feff}{}\n",
    ] {
        fs::write(&path, other).unwrap();
        let error = SessionLog::open(&path, Options::new()).unwrap_err();
        let LogError::Read(error) = error else {
            panic!("{other:?}: {error:?}");
        };
        assert_eq!(error.line(), 1);
        assert_eq!(error.file(), Some(path.as_path()));
        assert_eq!(fs::read_to_string(&path).unwrap(), other);
    }
}

#[test]
fn a_torn_line_on_disk_is_cut_off_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let log = sample();
    fs::write(&path, &log[..log.len() - 1 - 20]).unwrap();
    assert!(read_log(&path).unwrap().torn.is_some());
    let (log, recovery) = SessionLog::open(&path, Options::new()).unwrap();
    assert!(recovery.torn.is_some());
    drop(log);
    let contents = read_log(&path).unwrap();
    assert_eq!(contents.torn, None);
    assert_eq!(check(&contents.records), []);
    let (_, again) = SessionLog::open(&path, Options::new()).unwrap();
    assert!(again.is_clean());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any bytes at all are opened or refused with a place, never a panic.
    #[test]
    fn damaged_logs_never_panic(at in 0usize..400, byte: u8, end in 0usize..900) {
        let mut log = sample();
        let end = end.min(log.len());
        log.truncate(end);
        if let Some(hit) = log.get_mut(at) {
            *hit = byte;
        }
        let sink = MemorySink::new(log.clone());
        match SessionLog::with_sink(sink.clone(), undated()) {
            Ok((log, _)) => {
                log.records().unwrap();
            }
            Err(LogError::Read(error)) => {
                prop_assert!(error.line() >= 1);
                prop_assert_eq!(sink.bytes(), log);
            }
            Err(error) => return Err(TestCaseError::fail(format!("{error:?}"))),
        }
    }
}
