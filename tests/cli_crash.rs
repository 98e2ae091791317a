//! The binary is killed in the middle of its work, again and again; what it
//! leaves can be opened, and every call was finished exactly once.
#![cfg(unix)]
// Real processes keep real time.
#![allow(clippy::disallowed_methods)]

#[path = "support/cli.rs"]
mod support;

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::time::Duration;

use serde_json::json;
use support::Place;
use toolfall::session::{Body, Options, SessionLog, check};

const CALLS: usize = 1_000;
const KILLS: usize = 24;

const TOOLS: &str = r#"
log = "session.jsonl"
max_parallel = 8
[files]
read_before_edit = false
[[replay]]
name = "echo"
unrecorded = "show"
[policy]
otherwise = "allow"
"#;

/// Small steps, so that each kill meets another state.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

#[test]
fn every_recorded_call_is_finished_exactly_once_after_any_kill() {
    let place = Place::new();
    place.write("toolfall.toml", TOOLS);
    let rows: Vec<String> = (0..CALLS / 10)
        .map(|row| {
            let calls: Vec<_> = (0..10)
                .map(|place| {
                    let id = format!("call_{}", row * 10 + place);
                    match place % 5 {
                        0 => json!({"call_id": id, "name": "write_file",
                            "arguments": {"path": "out.txt", "content": id}}),
                        1 => json!({"call_id": id, "name": "list_dir"}),
                        2 => json!({"call_id": id, "name": "nope"}),
                        _ => json!({"call_id": id, "name": "echo", "arguments": {"n": place}}),
                    }
                })
                .collect();
            json!({"id": row.to_string(), "calls": calls}).to_string()
        })
        .collect();
    place.write("b.jsonl", rows.join("\n"));
    let mut random = Random(0x5eed);
    let (mut killed, mut interrupted, mut torn) = (0, 0, 0);
    for kill in 0..KILLS {
        let mut child = place
            .command(&["run", "--json", "b.jsonl"])
            .spawn()
            .expect("it starts");
        let out = BufReader::new(child.stdout.take().expect("a pipe"));
        // By results, so that a slow machine is killed at random places too.
        let after = random.below(CALLS as u64);
        let mut lines = out.lines();
        for _ in 0..after {
            if lines.next().is_none() {
                break;
            }
        }
        std::thread::sleep(Duration::from_micros(random.below(3_000)));
        child.kill().expect("it can be killed");
        let status = child.wait().expect("it ends");
        killed += usize::from(status.code().is_none());
        for line in lines {
            if line.is_err() {
                break;
            }
        }
        // Every third time the library closes the log, else the next run.
        if kill % 3 == 0 {
            let (log, recovery) = SessionLog::open(place.path("session.jsonl"), Options::new())
                .expect("it can be opened");
            interrupted += recovery.interrupted.len();
            torn += usize::from(recovery.torn.is_some());
            finished_once(&log);
        }
    }
    let last = place.fed(&["run"], "");
    assert_eq!(last.status, 0, "{}", last.err);
    let checked = place.run(&["check", "session.jsonl"]);
    assert_eq!(checked.status, 0, "{}", checked.out);
    let (log, recovery) =
        SessionLog::open(place.path("session.jsonl"), Options::new()).expect("it opens");
    assert!(recovery.is_clean());
    let calls = finished_once(&log);
    println!(
        "{killed} of {KILLS} runs killed, {calls} calls recorded and finished once; of those \
         closed by the library {interrupted} were open, {torn} lines torn"
    );
    assert!(killed >= 20, "{killed} runs were killed");
}

/// Checks the log and counts its calls.
fn finished_once(log: &SessionLog) -> usize {
    let records = log.records().expect("it can be read");
    let findings = check::check(&records);
    assert!(findings.is_empty(), "{findings:?}");
    let mut results: BTreeMap<u64, usize> = BTreeMap::new();
    for record in &records {
        match &record.body {
            Body::Call(call) => {
                results.insert(call.call, 0);
            }
            Body::Result(result) => *results.entry(result.call).or_default() += 1,
            _ => {}
        }
    }
    assert!(results.values().all(|count| *count == 1));
    results.len()
}
