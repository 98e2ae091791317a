//! The reference traces, played.

#[path = "support/reference/mod.rs"]
mod reference;

use std::collections::BTreeMap;

use reference::scenario::Line;
use reference::{compare, play};

#[test]
fn scenarios_end_as_the_reference_ended_them() {
    let text = std::fs::read_to_string("tests/data/reference/scenarios.jsonl").unwrap();
    let mut skipped: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut equal, mut bad) = (0, 0);
    let only = std::env::var("ONLY").ok();
    for (number, line) in text.lines().enumerate() {
        let line: Line = serde_json::from_str(line).unwrap_or_else(|e| panic!("{number}: {e}"));
        if only.as_ref().is_some_and(|only| *only != line.id) {
            continue;
        }
        if let Some(why) = play::unplayable(&line.scenario) {
            *skipped.entry(why).or_default() += 1;
            continue;
        }
        let found = compare::differences(&line, &play::play(&line.scenario));
        if found.is_empty() {
            equal += 1;
        } else {
            bad += 1;
            println!("{}:\n  {}", line.id, found.join("\n  "));
        }
    }
    println!("equal {equal} bad {bad} skipped {skipped:?}");
}
