//! Writing a session log.

use std::fs;

use serde_json::{Value, json};
use toolfall::ApprovalOutcome;
use toolfall::session::{
    AskedRecord, Body, CallRecord, ContextRecord, DecidedRecord, ErrorRecord, LogError, LogReader,
    MAX_NUMBER, MemorySink, Options, OtherRecord, Record, ResultRecord, SessionLog, StartedRecord,
    read_log,
};
use toolfall_layers::ContentBlock;

fn undated() -> Options {
    Options::new().clock(|| None)
}

/// The line that `body` becomes, first in an undated log.
fn line(body: impl Into<Body>) -> String {
    let sink = MemorySink::default();
    let (log, _) = SessionLog::with_sink(sink.clone(), undated()).unwrap();
    log.append(body).unwrap();
    String::from_utf8(sink.bytes()).unwrap()
}

#[test]
fn a_line_is_one_object_with_its_place_and_time_first() {
    let sink = MemorySink::default();
    let options = Options::new().clock(|| Some(1_700_000_000_123));
    let (log, _) = SessionLog::with_sink(sink.clone(), options).unwrap();
    assert_eq!(log.append(StartedRecord { call: 1 }).unwrap().seq(), 1);
    assert_eq!(log.append(StartedRecord { call: 2 }).unwrap().seq(), 2);
    assert_eq!(
        String::from_utf8(sink.bytes()).unwrap(),
        "{\"seq\":1,\"at\":1700000000123,\"type\":\"tool/started\",\"call\":1}\n\
         {\"seq\":2,\"at\":1700000000123,\"type\":\"tool/started\",\"call\":2}\n"
    );
}

#[test]
fn every_record_reads_back_as_it_was_written() {
    let bodies: Vec<Body> = vec![
        CallRecord {
            call: 1,
            id: String::new(),
            name: "weird \u{7}\n name".into(),
            arguments: "{ \"a\" : 1.0e5,\"a\":2 ".into(),
            root: Some(1),
            parent: None,
            agent: Some("lead".into()),
            synthetic: true,
            unordered: true,
            redacted: true,
        }
        .into(),
        StartedRecord { call: MAX_NUMBER }.into(),
        ResultRecord {
            call: 1,
            id: "x".into(),
            is_error: true,
            content: vec![ContentBlock::text("Error: no"), ContentBlock::text("\u{0}")],
            error: Some(ErrorRecord {
                message: "no".into(),
                name: None,
                code: Some("NO".into()),
            }),
            kind: Some("denied".into()),
            effect: Some("not_started".into()),
            decided_by: Some("guard".into()),
            allowed_by: vec!["reads".to_owned()],
            granted_by: vec!["for today".to_owned()],
            meta: Some(json!({"f": 0.1, "n": -0.0, "u": u64::MAX, "null": null})),
            synthetic: true,
            interrupted: true,
            concludes_turn: true,
        }
        .into(),
        DecidedRecord::new("q", ApprovalOutcome::Rejected).into(),
        ContextRecord {
            call: Some(1),
            id: Some("m".into()),
            source: Some(json!({"kind": "plugin"})),
            metadata: Some(json!([1, 2])),
            ..ContextRecord::text("mind the gap")
        }
        .into(),
        OtherRecord {
            kind: "future/thing".into(),
            fields: serde_json::Map::from_iter([("x".to_owned(), json!([{"y": null}]))]),
        }
        .into(),
    ];
    let log = SessionLog::in_memory();
    for body in &bodies {
        log.append(body.clone()).unwrap();
    }
    let records = log.records().unwrap();
    let read: Vec<_> = records.iter().map(|record| record.body.clone()).collect();
    assert_eq!(read, bodies);
    for record in &records {
        let text = serde_json::to_string(record).unwrap();
        assert_eq!(&serde_json::from_str::<Record>(&text).unwrap(), record);
    }
}

#[test]
fn absent_fields_are_left_out() {
    let asked = AskedRecord {
        id: "q".into(),
        tool: "echo".into(),
        ..AskedRecord::default()
    };
    assert_eq!(
        line(asked),
        "{\"seq\":1,\"type\":\"approval/asked\",\"id\":\"q\",\"tool\":\"echo\"}\n"
    );
    let result = ResultRecord {
        meta: Some(json!({"lines": 2})),
        ..ResultRecord::default()
    };
    assert_eq!(
        line(result),
        "{\"seq\":1,\"type\":\"tool/result\",\"call\":0,\"id\":\"\",\"is_error\":false,\
         \"content\":[],\"meta\":{\"lines\":2}}\n"
    );
}

#[test]
fn contexts_keep_what_is_theirs_and_are_never_merged() {
    let log = SessionLog::in_memory();
    for id in ["a", "b"] {
        let context = ContextRecord {
            call: Some(1),
            id: Some(id.into()),
            source: Some(json!(format!("plugin {id}"))),
            metadata: Some(json!({"of": id})),
            ..ContextRecord::text("same text")
        };
        log.append(context).unwrap();
    }
    let records = log.records().unwrap();
    let lines: Vec<Value> = records
        .iter()
        .map(|r| serde_json::to_value(r).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    for (line, id) in lines.iter().zip(["a", "b"]) {
        assert_eq!(line["id"], id);
        assert_eq!(line["role"], "user");
        assert_eq!(line["source"], format!("plugin {id}"));
        assert_eq!(line["metadata"]["of"], id);
    }
}

#[test]
fn an_unknown_outcome_reads_as_unavailable() {
    let text = r#"{"seq":1,"type":"approval/decided","id":"q","outcome":"allowed-always"}"#;
    let record: Record = serde_json::from_str(text).unwrap();
    let Body::Decided(decided) = record.body else {
        panic!("{record:?}");
    };
    assert_eq!(decided.outcome, ApprovalOutcome::Unavailable);
    assert_eq!(decided.unknown.as_deref(), Some("allowed-always"));
    assert!(line(decided).contains("\"outcome\":\"unavailable\"}"));
}

#[test]
fn a_second_writer_is_refused_until_the_first_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let (first, _) = SessionLog::open(&path, Options::new()).unwrap();
    first.append(StartedRecord { call: 1 }).unwrap();
    let clone = first.clone();
    drop(first);
    let error = SessionLog::open(&path, Options::new()).unwrap_err();
    assert!(matches!(&error, LogError::Locked { file } if *file == path));
    assert_eq!(
        error.to_string(),
        format!("the log {} already has a writer", path.display())
    );
    clone.append(StartedRecord { call: 2 }).unwrap();
    drop(clone);
    let (_, recovery) = SessionLog::open(&path, Options::new()).unwrap();
    assert_eq!(recovery.records, 2);
}

#[test]
fn a_record_is_in_the_file_when_append_returns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let (log, recovery) = SessionLog::open(&path, Options::new()).unwrap();
    assert!(recovery.is_clean());
    log.append(StartedRecord { call: 7 }).unwrap();
    let records = read_log(&path).unwrap().records;
    assert_eq!(records[0].body, Body::Started(StartedRecord { call: 7 }));
    assert!(records[0].at.is_some());
    assert_eq!(log.records().unwrap(), records);
}

#[cfg(unix)]
#[test]
fn a_new_log_is_private_and_must_be_a_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let _log = SessionLog::open(&path, Options::new()).unwrap();
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let error = SessionLog::open("/dev/null", Options::new()).unwrap_err();
    assert!(matches!(error, LogError::NotAFile { .. }), "{error:?}");
    let error = SessionLog::open(folder.path(), Options::new()).unwrap_err();
    assert!(matches!(error, LogError::Open { .. }), "{error:?}");
    let missing = folder.path().join("no").join("log");
    let error = SessionLog::open(&missing, Options::new()).unwrap_err();
    assert!(error.to_string().contains("no/log"), "{error}");
}

#[test]
fn threads_share_one_log_without_gaps_or_mixed_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let (log, _) = SessionLog::open(&path, Options::new()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let call = log.new_call();
                    log.append(StartedRecord { call }).unwrap();
                }
            });
        }
    });
    let records = read_log(&path).unwrap().records;
    let places: Vec<_> = records.iter().map(|record| record.seq).collect();
    assert_eq!(places, (1..=400).collect::<Vec<_>>());
    let mut calls: Vec<_> = records
        .iter()
        .map(|record| match record.body {
            Body::Started(started) => started.call,
            _ => 0,
        })
        .collect();
    calls.sort_unstable();
    assert_eq!(calls, (1..=400).collect::<Vec<_>>());
}

#[test]
fn what_could_not_be_read_back_is_refused_and_leaves_the_log_alone() {
    let sink = MemorySink::default();
    let (log, _) = SessionLog::with_sink(sink.clone(), undated().max_line(1)).unwrap();
    let lengthy = CallRecord {
        arguments: "x".repeat(65 << 10),
        ..CallRecord::default()
    };
    let mut deep = json!(0);
    for _ in 0..101 {
        deep = json!([deep]);
    }
    let nested = ResultRecord {
        meta: Some(deep),
        ..ResultRecord::default()
    };
    let number = StartedRecord {
        call: MAX_NUMBER + 1,
    };
    for (body, word) in [
        (Body::from(lengthy), "bytes"),
        (Body::from(nested), "deep"),
        (Body::from(number), "numbers"),
    ] {
        let error = log.append(body).unwrap_err();
        assert!(matches!(error, LogError::Unrecordable { .. }), "{error:?}");
        assert!(error.to_string().contains(word), "{error}");
    }
    assert_eq!(sink.bytes(), b"");
    assert_eq!(log.append(StartedRecord { call: 1 }).unwrap().seq(), 1);
}

/// The deepest value that is accepted also reads back.
#[test]
fn what_is_accepted_reads_back() {
    let mut meta = json!(0);
    for _ in 0..100 {
        meta = json!([meta]);
    }
    let log = SessionLog::in_memory();
    let result = ResultRecord {
        meta: Some(meta),
        ..ResultRecord::default()
    };
    log.append(result).unwrap();
    assert_eq!(log.records().unwrap().len(), 1);
}

#[test]
fn a_bad_line_names_file_line_and_what_was_expected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let good = "{\"seq\":1,\"type\":\"tool/started\",\"call\":1}\n";
    let number = format!("expected `seq` to be a whole number from 1 to {MAX_NUMBER}");
    for (bad, message) in [
        ("", "expected a JSON object, found an empty line".to_owned()),
        (
            "nope",
            "expected a JSON object, found expected ident at column 2".to_owned(),
        ),
        ("{}", format!("{number}, found none")),
        (r#"{"seq":0,"type":"x"}"#, format!("{number}, found 0")),
        (r#"{"seq":1.5,"type":"x"}"#, format!("{number}, found 1.5")),
        (
            r#"{"seq":"1","type":"x"}"#,
            format!("{number}, found a string"),
        ),
        (
            r#"{"seq":2}"#,
            "expected `type` to be a string, found none".to_owned(),
        ),
        (
            r#"{"seq":2,"type":"tool/started"}"#,
            "expected the fields of a `tool/started` record, found missing field `call`".to_owned(),
        ),
        (
            r#"{"seq":2,"seq":3,"type":"x"}"#,
            "expected a JSON object, found the field \"seq\" twice at column 16".to_owned(),
        ),
    ] {
        fs::write(&path, format!("{good}{bad}\n{good}")).unwrap();
        let error = read_log(&path).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{}:2: {message}", path.display())
        );
        assert!(matches!(
            SessionLog::open(&path, Options::new()),
            Err(LogError::Read(error)) if error.line() == 2
        ));
    }
    let long = format!(
        "{{\"seq\":1,\"type\":\"tool/started\",\"call\":\"{}\"}}\n",
        "x".repeat(5000)
    );
    let error = LogReader::new(long.as_bytes()).next().unwrap().unwrap_err();
    assert!(error.found().len() < 300, "{error}");
    let error = read_log(folder.path().join("missing")).unwrap_err();
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn the_reader_tells_places_keeps_unknown_types_and_bounds_lines() {
    let text = "{\"seq\":1,\"type\":\"new/thing\",\"a\":{\"b\":1}}\n{\"seq\":2,\"type\":\"tool/st";
    let mut reader = LogReader::new(text.as_bytes());
    let first = reader.next().unwrap().unwrap();
    assert_eq!((first.number, first.offset), (1, 0));
    let Body::Other(other) = &first.record.body else {
        panic!("{first:?}");
    };
    assert_eq!(
        (other.kind.as_str(), &other.fields["a"]["b"]),
        ("new/thing", &json!(1))
    );
    assert!(reader.next().is_none());
    let torn = reader.torn().unwrap();
    assert_eq!((torn.line, torn.offset), (2, 41));

    let mut reader = LogReader::new(text.as_bytes()).max_line(40);
    let error = reader.next().unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "(no file):1: expected a line of at most 40 bytes, found a longer one"
    );
    assert!(reader.next().is_none());
}

#[test]
fn a_closed_log_takes_nothing_from_any_clone() {
    let log = SessionLog::in_memory();
    let clone = log.clone();
    drop(log.close());
    let error = clone.append(StartedRecord { call: 1 }).unwrap_err();
    assert!(matches!(error, LogError::Closed { .. }));
}

#[test]
fn handles_are_send_and_sync() {
    fn check<T: Send + Sync>() {}
    check::<SessionLog>();
    check::<toolfall::session::Appended>();
    check::<toolfall::session::Synced>();
    check::<LogError>();
}
