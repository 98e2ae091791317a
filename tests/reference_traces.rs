//! What a reference implementation of the same contract did in 594 scenarios,
//! played here on the paused clock and compared: results, batches, every
//! call's events, the order between calls, and the times.
//!
//! Every difference is in the list of deviations with its reason, or a test
//! fails; and so it does if a deviation is none any more.

#[path = "support/reference/mod.rs"]
mod reference;

use reference::compare::{Difference, differences};
use reference::play;
use reference::scenario::{Line, Run};

/// A scenario that ends otherwise here, where it does, and why.
struct Deviation {
    id: &'static str,
    places: &'static [&'static str],
    why: &'static str,
}

const REPEATABLE: &str =
    "only a tool that is known to be repeatable is dispatched again, and an unknown tool is not";
const FINER: &str = "a slow post-execute policy does not hold back the next start, so a \
                     cancellation meanwhile finds that call begun";

const DEVIATIONS: &[Deviation] = &[
    Deviation {
        id: "hand-disp-retry-of-unknown",
        places: &["events of c1"],
        why: REPEATABLE,
    },
    Deviation {
        id: "random-0389",
        places: &["events of c4"],
        why: REPEATABLE,
    },
    Deviation {
        id: "random-0182",
        places: &["events of c1"],
        why: REPEATABLE,
    },
    Deviation {
        id: "random-0022",
        places: &["events of c2"],
        why: REPEATABLE,
    },
    Deviation {
        id: "random-0452",
        places: &[
            "events of c1",
            "events of c2",
            "events of c3",
            "events of c4",
            "events of c5",
            "events of c6",
            "lane",
        ],
        why: REPEATABLE,
    },
    Deviation {
        id: "hand-p-approval-service-fails-and-cancelled",
        places: &["results", "events of c1", "lane"],
        why: "the caller's cancellation settles an open question at once, whoever was asked",
    },
    Deviation {
        id: "hand-sched-cancel-during-post",
        places: &["results", "events of c2"],
        why: FINER,
    },
    Deviation {
        id: "random-0511",
        places: &["results", "events of c2", "events of c3", "events of c4"],
        why: FINER,
    },
];

fn lines() -> Vec<Line> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/data/reference/scenarios.jsonl"
    );
    let text = std::fs::read_to_string(path).expect("the traces are there");
    let lines = text.lines().enumerate();
    lines
        .map(|(number, line)| {
            serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("line {}: {error}", number + 1))
        })
        .collect()
}

#[derive(Default)]
struct Tally {
    equal: usize,
    finer: usize,
    deviating: usize,
    wrong: Vec<String>,
}

impl Tally {
    fn play(&mut self, line: &Line) {
        let played = play::play(&line.scenario);
        let found = differences(line, &played, line.lane_wait);
        let places: Vec<&str> = found.iter().map(|found| found.place.as_str()).collect();
        match DEVIATIONS.iter().find(|known| known.id == line.id) {
            Some(known) if known.places == places => self.deviating += 1,
            Some(known) => self.wrong.push(format!(
                "{}: expected to differ in {:?} ({}), differs in {places:?}",
                line.id, known.places, known.why
            )),
            None if found.is_empty() => {
                self.equal += 1;
                let exactly = !line.lane_wait || differences(line, &played, false).is_empty();
                self.finer += usize::from(!exactly);
            }
            None => self.wrong.push(told(&line.id, &found)),
        }
    }
}

fn told(id: &str, found: &[Difference]) -> String {
    let found: Vec<String> = found
        .iter()
        .map(|found| format!("\n  {}{}", found.place, found.detail))
        .collect();
    format!("{id}:{}", found.concat())
}

/// Plays what `run` says; returns how many scenarios were played.
fn all(run: Run) -> usize {
    let mut tally = Tally::default();
    let lines = lines();
    let lines = lines.iter().filter(|line| line.scenario.run == run);
    lines.for_each(|line| tally.play(line));
    let Tally {
        equal,
        finer,
        deviating,
        wrong,
    } = tally;
    let played = equal + deviating + wrong.len();
    println!(
        "played {played}: {equal} equal ({finer} of them but for the times of a finer lane), \
         {deviating} deviating as listed, {} wrong",
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    played
}

/// conformance: EXEC-34, EXEC-36, EXEC-38, EXEC-39, EXEC-44,
/// PRE-01, PRE-02, PRE-04, PRE-05, PRE-07, PRE-09, PRE-11, PRE-12, PRE-13, PRE-14, PRE-15,
/// PRE-16, PRE-17, PRE-18, PRE-20, PRE-22,
/// ASK-01, ASK-02, ASK-04, ASK-05, ASK-06, ASK-07, ASK-08, ASK-12, ASK-13, ASK-44,
/// GUARD-01, GUARD-02, GUARD-04, GUARD-05, GUARD-10, GUARD-13, GUARD-14, GUARD-16,
/// DISP-01, DISP-02, DISP-03, DISP-05, DISP-06, DISP-07, DISP-08, DISP-10, DISP-12, DISP-13,
/// DISP-14, DISP-18, DISP-22, DISP-23, DISP-24, DISP-27, DISP-28, DISP-30, DISP-33,
/// CANCEL-01, CANCEL-03, CANCEL-04, CANCEL-05, CANCEL-06, CANCEL-07, CANCEL-08, CANCEL-09,
/// CANCEL-11, CANCEL-12, CANCEL-13, CANCEL-14, CANCEL-15,
/// POST-01, POST-02, POST-03, POST-04, POST-07, POST-08, POST-10, POST-12, POST-13, POST-14,
/// POST-15, POST-16, POST-17, POST-18, POST-21, POST-22, POST-24,
/// FINAL-10, FINAL-12, FINAL-13, FINAL-14, FINAL-15, FINAL-16, FINAL-17, FINAL-18, FINAL-19,
/// FINAL-23, FINAL-26,
/// CTX-01, CTX-02, CTX-03, CTX-04, CTX-05, CTX-06, CTX-15, CTX-20, CTX-21,
/// TIME-02, TIME-05, TIME-06, TIME-08, TIME-09, TIME-10, TIME-11, TIME-12, TIME-13, TIME-16,
/// EXEC-37, GUARD-06, GUARD-07, GUARD-08, GUARD-09, REG-11, REG-12, REG-16, REG-18, REG-21,
/// REG-22, REG-24, REG-25, REG-26, REG-28, REG-29, REG-37, REG-38, REG-40, REG-45
#[test]
fn calls_by_themselves_fall_as_in_the_reference() {
    assert_eq!(all(Run::Each), 317);
}

/// conformance: SCHED-01, SCHED-02, SCHED-03, SCHED-04, SCHED-11, SCHED-12, SCHED-13, SCHED-15, SCHED-17,
/// SCHED-19, SCHED-20, SCHED-21, SCHED-23, SCHED-24, SCHED-25, SCHED-26, SCHED-27, SCHED-28,
/// SCHED-30, SCHED-31, SCHED-32, SCHED-33, SCHED-34, SCHED-35, SCHED-36, SCHED-37, SCHED-38,
/// SCHED-40, SCHED-43, CTX-09, CTX-16, CTX-22
#[test]
fn batches_fall_as_in_the_reference() {
    assert_eq!(all(Run::Batch), 277);
}

#[test]
fn deviations_name_scenarios_that_are_there() {
    let lines = lines();
    for known in DEVIATIONS {
        let line = lines.iter().find(|line| line.id == known.id);
        assert!(line.is_some(), "no scenario {}", known.id);
    }
}

/// A comparison that notices nothing would let everything pass.
#[test]
fn the_comparison_notices_every_change() {
    let lines = lines();
    let line = |id: &str| lines.iter().position(|line| line.id == id).unwrap();
    let batch = line("hand-sched-contexts-after-results");
    let (mut lines, mut changed) = (lines, 0);
    let played = play::play(&lines[batch].scenario);
    assert!(differences(&lines[batch], &played, false).is_empty());

    for place in 0..lines[batch].expected.events.len() {
        let events = &mut lines[batch].expected.events;
        let event = events[place].clone();
        events[place]["t"] = serde_json::json!(999);
        assert!(!differences(&lines[batch], &played, false).is_empty());
        lines[batch].expected.events.remove(place);
        assert!(!differences(&lines[batch], &played, false).is_empty());
        lines[batch].expected.events.insert(place, event);
        changed += 1;
    }
    assert!(changed > 10);
    lines[batch].expected.calls[0]["is_error"] = serde_json::json!("changed");
    lines[batch].expected.batch = None;
    let found = differences(&lines[batch], &played, true);
    let places: Vec<&str> = found.iter().map(|found| found.place.as_str()).collect();
    assert_eq!(places, ["results", "batch"]);
}
