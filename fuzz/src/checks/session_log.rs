//! A session log of any bytes: read, opened, cut short and opened again.

use std::io::BufReader;

use serde_json::json;
use toolfall::session::check::{Audit, Problem, check as audit};
use toolfall::session::{
    Body, Line, LogError, LogReader, MAX_NUMBER, MemorySink, Options, ReadError, Record,
    SessionLog, Torn,
};

use super::input::Input;

/// Takes `data` as the bytes of a log or, if it begins with 1, as the choices
/// that records are made by.
pub fn check(data: &[u8]) {
    match data {
        [1, choices @ ..] => check_log(&records(choices)),
        bytes => check_log(bytes),
    }
}

fn check_log(log: &[u8]) {
    let (lines, torn) = match read(log) {
        Ok(read) => read,
        Err(error) => {
            refused(log, &error);
            return;
        }
    };
    let Some(opened) = opened(log, &lines, torn.as_ref()) else {
        return;
    };
    let mut whole = Vec::new();
    for record in &opened {
        let line = serde_json::to_string(record).expect("a record is written");
        let back: Record = serde_json::from_str(&line).expect("and read again");
        // A word that is no outcome is told by its reader and never written.
        let mut wanted = record.clone();
        if let Body::Decided(decided) = &mut wanted.body {
            decided.unknown = None;
        }
        assert_eq!(back, wanted);
        whole.push((line, wanted));
    }
    // Where a log may be cut is anywhere; the bytes choose three places.
    let (written, opened): (Vec<String>, Vec<Record>) = whole.into_iter().unzip();
    let whole_log = (written.join("\n") + "\n").into_bytes();
    let sum: usize = log.iter().map(|byte| usize::from(*byte)).sum();
    for cut in [sum, sum * 31 + log.len(), whole_log.len().saturating_sub(2)] {
        let cut = cut % (whole_log.len() + 1);
        let zeros = if sum.is_multiple_of(3) { 5 } else { 0 };
        cut_short(&whole_log[..cut], &opened, zeros);
    }
}

type Contents = (Vec<Line>, Option<Torn>);

/// Reads all of `log`, in large and in small pieces.
fn read(log: &[u8]) -> Result<Contents, ReadError> {
    let mut reader = LogReader::new(log);
    let mut pieces = LogReader::new(BufReader::with_capacity(3, log));
    let mut lines = Vec::new();
    let mut failed = None;
    for line in &mut reader {
        let again = pieces.next().expect("as many lines");
        match line {
            Err(error) => {
                let again = again.expect_err("a bad line is bad in pieces, too");
                assert_eq!(again.to_string(), error.to_string());
                assert_eq!(error.line(), lines.len() as u64 + 1);
                failed = Some(error);
            }
            Ok(line) => {
                assert_eq!(again.expect("in pieces, too"), line);
                assert_eq!(line.number, lines.len() as u64 + 1);
                lines.push(line);
            }
        }
    }
    assert!(pieces.next().is_none() && reader.next().is_none());
    assert_eq!(reader.torn(), pieces.torn());
    if let Some(error) = failed {
        return Err(error);
    }
    let end = reader.torn().map_or(0, |torn| torn.bytes.len() as u64);
    assert_eq!(
        reader.offset() + end,
        log.len() as u64,
        "nothing is skipped"
    );
    Ok((lines, reader.torn().cloned()))
}

/// A log that cannot be read is refused with the place, and left alone.
fn refused(log: &[u8], error: &ReadError) {
    let told = error.to_string();
    assert!(told.starts_with(&format!("(no file):{}: expected ", error.line())));
    assert!(error.found().chars().count() <= 201 && !error.found().is_empty());
    let sink = MemorySink::new(log);
    match SessionLog::with_sink(sink.clone(), undated()) {
        Err(LogError::Read(again)) => assert_eq!(again.to_string(), told),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("opened what cannot be read: {told}"),
    }
    assert_eq!(sink.bytes(), log);
}

fn undated() -> Options {
    Options::new().clock(|| None)
}

/// Opens a log that can be read; gives its records when everything is closed.
fn opened(log: &[u8], lines: &[Line], torn: Option<&Torn>) -> Option<Vec<Record>> {
    let sink = MemorySink::new(log);
    let (opened, recovery) = match SessionLog::with_sink(sink.clone(), undated()) {
        Ok(opened) => opened,
        // The places of a log are as many as its numbers.
        Err(LogError::Broken { .. }) if last_place(lines) > MAX_NUMBER - 10_000 => return None,
        Err(error) => panic!("{error} in {}", String::from_utf8_lossy(log)),
    };
    assert_eq!(recovery.records, lines.len() as u64);
    assert_eq!(recovery.torn.as_ref(), torn);
    let records = opened.records().expect("what was opened is read");
    assert!(records.len() >= lines.len(), "a record is lost");
    for (line, record) in lines.iter().zip(&records) {
        assert_eq!(line.record, *record);
    }
    let cited = records.iter().filter_map(|record| match &record.body {
        Body::Call(call) => Some(call.call),
        Body::Started(started) => Some(started.call),
        Body::Result(result) => Some(result.call),
        _ => None,
    });
    let next = opened.new_call();
    assert!(cited.into_iter().all(|call| call < next), "{next} was used");
    for finding in audit(&records) {
        let open = matches!(
            finding.problem,
            Problem::CallWithoutResult { .. } | Problem::Undecided { .. }
        );
        assert!(!open, "{finding}");
    }
    let _ = Audit::after(&records).finish();
    drop(opened);
    let once = sink.bytes();
    let (again, recovery) =
        SessionLog::with_sink(sink.clone(), undated()).expect("opens once more");
    assert!(recovery.is_clean(), "{recovery:?}");
    drop(again);
    assert_eq!(sink.bytes(), once, "opening again adds nothing");
    Some(records)
}

fn last_place(lines: &[Line]) -> u64 {
    let places = lines.iter().map(|line| line.record.seq);
    places.max().unwrap_or(0)
}

/// A log that is cut anywhere opens with every record before the cut.
fn cut_short(cut: &[u8], all: &[Record], zeros: usize) {
    let last = all.iter().map(|record| record.seq).max().unwrap_or(0);
    if last > MAX_NUMBER - 10_000 {
        return;
    }
    let ends = cut.split(|byte| *byte == b'\n').count() - 1;
    let mut log = cut.to_vec();
    let open = !log.is_empty() && !log.ends_with(b"\n");
    if open {
        log.resize(log.len() + zeros, 0);
    }
    let sink = MemorySink::new(log.clone());
    let (opened, recovery) = SessionLog::with_sink(sink, undated())
        .unwrap_or_else(|error| panic!("{error} in {}", String::from_utf8_lossy(&log)));
    let records = opened.records().expect("what was opened is read");
    assert!(records.len() >= ends);
    assert_eq!(records[..ends], all[..ends], "a record is lost");
    let whole = usize::from(recovery.terminated);
    assert_eq!(recovery.records, (ends + whole) as u64);
    assert_eq!(recovery.torn.is_some() || recovery.terminated, open);
}

/// Lines of records, in any order and citing anything.
fn records(choices: &[u8]) -> Vec<u8> {
    let mut input = Input::new(choices);
    let mut lines = Vec::new();
    let mut seq = 0;
    while !input.is_empty() && lines.len() < 4_000 {
        seq = match input.byte() {
            255 => MAX_NUMBER,
            254 => seq,
            253 => MAX_NUMBER - 2,
            _ => seq + 1,
        };
        let line = record(&mut input, seq);
        lines.extend_from_slice(line.to_string().as_bytes());
        lines.push(b'\n');
    }
    lines
}

fn record(input: &mut Input<'_>, seq: u64) -> serde_json::Value {
    let number = |input: &mut Input<'_>| match input.byte() {
        255 => u64::MAX,
        254 => MAX_NUMBER,
        253 => MAX_NUMBER + 1,
        small => u64::from(small % 4),
    };
    let id = |input: &mut Input<'_>| input.one_of(&["a", "b", "", "\u{0}é"]);
    let kind = input.below(14);
    let call = number(input);
    match kind {
        0 | 1 => json!({"seq": seq, "type": "tool/call", "call": call, "id": id(input),
            "name": id(input), "arguments": "{}"}),
        2 => json!({"seq": seq, "type": "tool/call", "call": call, "id": id(input), "name": "n",
            "arguments": "", "parent": number(input), "root": number(input),
            "agent": id(input), "synthetic": input.below(2) == 0,
            "unordered": input.below(2) == 0}),
        3 => json!({"seq": seq, "type": "tool/started", "call": call}),
        4 | 5 => json!({"seq": seq, "type": "tool/result", "call": call, "id": id(input),
            "is_error": input.below(2) == 0, "content": [{"type": "text", "text": id(input)}],
            "kind": id(input), "effect": "not_started"}),
        6 => json!({"seq": seq, "type": "approval/asked", "id": id(input), "call": call,
            "tool": id(input)}),
        7 => json!({"seq": seq, "type": "approval/decided", "id": id(input),
            "outcome": input.one_of(&["allowed-once", "rejected", "cancelled", "odd"])}),
        8 => json!({"seq": seq, "type": "turn/start", "turn": id(input)}),
        9 => json!({"seq": seq, "type": "turn/end", "turn": id(input)}),
        10 => json!({"seq": seq, "type": "context/message", "call": call, "role": "user",
            "text": id(input), "source": {"a": [call]}}),
        11 => json!({"seq": seq, "type": "approval/policy", "policy": id(input)}),
        12 => json!({"seq": seq, "type": "sandbox/mode", "mode": id(input)}),
        _ => json!({"seq": seq, "type": id(input), "at": call, "more": 1.5}),
    }
}
