//! The line protocol between a host and a program's process.

#![cfg(feature = "code")]

use serde_json::{Value, json};
use toolfall::ArgumentsErrorKind;
use toolfall::code::protocol::{
    Boot, BootNamespace, Done, GuestFrame, HostFrame, Lines, Reply, encode, truncation_marker,
};
use toolfall::code::{ErrorClass, RunFailureKind};
use toolfall::layers::{check_json, discard_value};

fn read(frame: &Value) -> Option<GuestFrame> {
    GuestFrame::read(frame.to_string().as_bytes())
}

fn done(text: &str) -> Option<Done> {
    match GuestFrame::read(text.as_bytes())? {
        GuestFrame::Done(done) => Some(done),
        other => panic!("{other:?}"),
    }
}

/// conformance: RT-47
#[test]
fn junk_is_dropped() {
    for line in [
        "",
        "null",
        "1",
        "\"log\"",
        "[]",
        "[{\"type\":\"log\"}]",
        "{}",
        r#"{"type":"boot"}"#,
        r#"{"type":"exit"}"#,
        r#"{"type":1}"#,
        r#"{"type":"call"}"#,
        r#"{"type":"call","id":1,"global":"tools","name":"a"}"#,
        r#"{"type":"log"}"#,
        r#"{"type":"done","error":"boom"}"#,
        r#"{"type":"log","text":"a"} trailing"#,
        r#"{"type":"log","type":"log","text":"a"}"#,
        r#"{"type":"log","text":"a""#,
    ] {
        assert_eq!(GuestFrame::read(line.as_bytes()), None, "{line}");
    }
    assert_eq!(
        GuestFrame::read(b"{\"type\":\"log\",\"text\":\"\xff\"}"),
        None
    );
}

/// conformance: RT-48
#[test]
fn frames_are_rebuilt_and_an_error_outranks_a_value() {
    let frame = GuestFrame::read(
        br#"{"type":"done","value":1,"error":{"kind":"exception","message":"boom","more":[]},"x":0}"#,
    );
    let written = frame.unwrap().write();
    assert_eq!(
        written,
        "{\"type\":\"done\",\"error\":{\"kind\":\"exception\",\"message\":\"boom\"}}\n"
    );
    for kind in ["timeout", "abort", "worker-exit", "invented"] {
        let frame = json!({"type": "done", "error": {"kind": kind, "message": ""}});
        assert_eq!(read(&frame), None, "{kind}");
    }
    for kind in [
        RunFailureKind::Exception,
        RunFailureKind::InvalidOutput,
        RunFailureKind::OutputLimit,
    ] {
        let error = json!({"kind": kind.as_str(), "message": "said"});
        let frame = json!({"type": "done", "error": error}).to_string();
        let Some(Done::Failed(failure)) = done(&frame) else {
            panic!("{kind}");
        };
        assert_eq!((failure.kind, failure.message.as_str()), (kind, "said"));
    }
}

/// conformance: RT-51
#[test]
fn frames_have_the_members_of_the_roster() {
    let class = ErrorClass {
        name: "ToolCallError".to_owned(),
        member_property: "toolName".to_owned(),
    };
    let boot = HostFrame::Boot(Boot {
        cpu_seconds: 1,
        address_space_bytes: 2,
        max_log_bytes: 3,
        max_value_bytes: 4,
        namespaces: vec![
            BootNamespace {
                global: "tools".to_owned(),
                names: vec!["a\"\n".to_owned(), "__proto__".to_owned()],
                error_class: Some(class),
            },
            BootNamespace {
                global: "plain".to_owned(),
                names: vec![],
                error_class: None,
            },
        ],
    });
    let shown = json!({
        "type": "boot", "cpuSeconds": 1, "addressSpaceBytes": 2, "maxLogBytes": 3,
        "maxValueBytes": 4, "namespaces": [
            {"global": "tools", "names": ["a\"\n", "__proto__"],
             "errorClass": {"name": "ToolCallError", "memberNameProperty": "toolName"}},
            {"global": "plain", "names": []},
        ],
    });
    let program = "return 'ü\n'".to_owned();
    let run = HostFrame::Run {
        program: program.clone(),
    };
    let reply = |result| {
        HostFrame::Reply(Reply {
            id: 7.into(),
            result,
        })
    };
    let frames = [
        (boot, shown),
        (run, json!({"type": "run", "program": program})),
        (
            reply(Ok(json!({"a": [1.5]}))),
            json!({"type": "reply", "id": 7, "ok": true, "value": {"a": [1.5]}}),
        ),
        (
            reply(Err("no\u{1}".to_owned())),
            json!({"type": "reply", "id": 7, "ok": false, "message": "no\u{1}"}),
        ),
    ];
    for (frame, shown) in frames {
        let line = frame.write();
        assert!(line.ends_with('\n') && line.matches('\n').count() == 1);
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), shown);
        assert_eq!(HostFrame::read(line.as_bytes()), Some(frame));
    }
    for frame in [
        json!({"type": "boot-ack"}),
        json!({"type": "call", "id": 1, "global": "tools", "name": "a", "args": {"b": [1]}}),
        json!({"type": "log", "text": "a\n\u{1b}"}),
        json!({"type": "log", "text": "a", "truncated": true}),
        json!({"type": "done"}),
        json!({"type": "done", "value": null}),
        json!({"type": "done", "value": {"a": ["€"]}}),
        json!({"type": "done", "error": {"kind": "exception", "message": "m"}}),
    ] {
        let written = read(&frame).unwrap().write();
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), frame);
    }
}

/// conformance: RT-52
#[test]
fn cut_logs_are_marked() {
    for bytes in [65_536, 1] {
        let marker = format!("[dsh-code-runtime-python] log capture truncated at {bytes} bytes");
        assert_eq!(truncation_marker(bytes), marker);
    }
}

/// conformance: RT-53
#[test]
fn a_log_is_truncated_only_if_it_says_true() {
    for (said, truncated) in [
        (json!(true), true),
        (json!(1), false),
        (json!("yes"), false),
        (json!(false), false),
    ] {
        let frame = json!({"type": "log", "text": "t", "truncated": said});
        let Some(GuestFrame::Log(log)) = read(&frame) else {
            panic!("{frame}");
        };
        assert_eq!((log.text.as_str(), log.truncated), ("t", truncated));
    }
    for text in [json!(1), json!(null), json!(["t"])] {
        assert_eq!(read(&json!({"type": "log", "text": text})), None);
    }
}

/// conformance: RT-54
#[test]
fn a_call_names_itself_and_what_it_calls() {
    let call = |id: &str, global: &str, name: &str, args: &str| {
        let line =
            format!(r#"{{"type":"call","id":{id},"global":{global},"name":{name},"args":{args}}}"#);
        match GuestFrame::read(line.as_bytes())? {
            GuestFrame::Call(call) => Some(call),
            other => panic!("{other:?}"),
        }
    };
    for id in ["0", "1", "-3", "2.5", "1e300", "18446744073709551615"] {
        let call = call(id, r#""tools""#, r#""a""#, "{}").expect(id);
        assert_eq!(call.id.number().as_f64(), Some(id.parse().unwrap()), "{id}");
    }
    for id in ["-0", "-0.0", "1e400", "null", r#""1""#, "[]", "NaN"] {
        assert_eq!(call(id, r#""tools""#, r#""a""#, "{}"), None, "{id}");
    }
    assert_eq!(call("1", "1", r#""a""#, "{}"), None);
    assert_eq!(call("1", r#""tools""#, "null", "{}"), None);
    let null = call("1", r#""tools""#, r#""a""#, "null").unwrap();
    assert_eq!(null.args.unwrap().text(), "null");
    for args in ["-0", r#"{"a":[-0.0]}"#, "1e400", "[184467440737095516160]"] {
        assert_eq!(call("1", r#""tools""#, r#""a""#, args), None, "{args}");
    }
    assert!(call("1", r#""tools""#, r#""a""#, r#"{"a-0": "-0"}"#).is_some());
}

#[test]
fn arguments_that_cannot_be_kept_leave_the_call_its_name() {
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    for (args, kind) in [
        (r#"{"a":1,"a":2}"#, ArgumentsErrorKind::DuplicateName),
        (deep.as_str(), ArgumentsErrorKind::TooDeep),
    ] {
        let line = format!(r#"{{"type":"call","id":4,"global":"tools","name":"a","args":{args}}}"#);
        let Some(GuestFrame::Call(call)) = GuestFrame::read(line.as_bytes()) else {
            panic!("{kind:?}");
        };
        assert_eq!(call.args.unwrap_err().kind(), kind);
        assert_eq!((call.name.as_str(), call.id), ("a", 4.into()));
    }
}

/// conformance: RT-55
#[test]
fn a_value_passes_whole_and_an_error_must_be_one() {
    let value = json!("x".repeat(1_000_000));
    let frame = json!({"type": "done", "value": value}).to_string();
    assert_eq!(done(&frame), Some(Done::Completed(Some(value))));
    assert_eq!(done(r#"{"type":"done"}"#), Some(Done::Completed(None)));
    for error in [
        json!(null),
        json!("boom"),
        json!([]),
        json!({"kind": "exception"}),
        json!({"message": "m"}),
        json!({"kind": "exception", "message": 1}),
        json!({"kind": 1, "message": "m"}),
    ] {
        let frame = json!({"type": "done", "error": error}).to_string();
        assert_eq!(done(&frame), None, "{frame}");
    }
}

#[test]
fn a_value_that_cannot_be_kept_is_told_as_such() {
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    for value in ["1e400", r#"{"a":1,"a":1}"#, deep.as_str()] {
        let line = format!(r#"{{"type":"done","value":{value}}}"#);
        assert_eq!(done(&line), Some(Done::Lossy), "{value}");
    }
    // The deepest value that is kept anywhere passes inside a frame as well.
    let deepest = format!("{}{}", "[".repeat(128), "]".repeat(128));
    assert!(check_json(&deepest).is_ok());
    let line = format!(r#"{{"type":"done","value":{deepest}}}"#);
    assert!(matches!(done(&line), Some(Done::Completed(Some(_)))));
}

/// Integers of 64 bits are kept, see `tests/DEVIATIONS.md`.
///
/// conformance: RT-56
#[test]
fn integers_that_would_change_are_found_in_the_text() {
    let lossy = |number: &str| {
        let line = format!(r#"{{"type":"done","value":{{"a\"":"x","n":{number}}}}}"#);
        done(&line) == Some(Done::Lossy)
    };
    assert!(lossy(&"9".repeat(400)));
    assert!(lossy(&format!("-{}", "9".repeat(400))));
    for fine in [
        "9007199254740992",
        "9007199254740991",
        "9e99",
        r#""9007199254740993000000000""#,
        r#""a\"99999999999999999999999""#,
    ] {
        assert!(!lossy(fine), "{fine}");
    }
    let exact = done(r#"{"type":"done","value":9007199254740993}"#);
    assert_eq!(
        exact,
        Some(Done::Completed(Some(json!(9_007_199_254_740_993_u64))))
    );
}

/// conformance: RT-60
#[test]
fn values_are_written_without_recursion() {
    let mut text = String::new();
    encode(&json!(1_u64 << 60), &mut text);
    assert_eq!(text, "1152921504606846976");
    let lists = (0..100_000).fold(json!(0), |value, _| Value::Array(vec![value]));
    text.clear();
    encode(&lists, &mut text);
    assert_eq!(text.len(), 200_001);
    assert!(text.starts_with("[[[") && text.contains("[0]"));
    discard_value(lists);
    let value = json!({"a": [null, true, {"b": {}}, [], "q\"\\\u{8}\u{1f}é", -1.5e-7]});
    text.clear();
    encode(&value, &mut text);
    assert_eq!(text, value.to_string());
}

#[test]
fn a_line_without_end_fills_no_memory() {
    let mut lines = Lines::new(1 << 20);
    let chunk = vec![b'x'; 64 << 10];
    let mut taken = 0;
    while lines.line().is_ok() {
        lines.spare().extend_from_slice(&chunk);
        taken += chunk.len();
        assert!(taken <= (1 << 20) + 2 * chunk.len());
    }
    assert!(taken > 1 << 20);
}

#[test]
fn lines_are_the_same_however_they_come() {
    let text = b"\n{}\n\nabc\r\nlast";
    for size in 1..text.len() {
        let mut lines = Lines::new(5);
        let mut seen = Vec::new();
        for piece in text.chunks(size) {
            lines.spare().extend_from_slice(piece);
            while let Some(line) = lines.line().unwrap() {
                seen.push(line.to_vec());
            }
        }
        assert_eq!(seen, [&b""[..], b"{}", b"", b"abc\r"], "{size}");
    }
    let mut lines = Lines::new(4);
    lines.spare().extend_from_slice(b"1234\n12345\n");
    assert_eq!(lines.line(), Ok(Some(&b"1234"[..])));
    assert!(lines.line().is_err());
}
