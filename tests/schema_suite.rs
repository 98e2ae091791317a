//! The JSON Schema Test Suite, where it is there, through what registration
//! accepts. `tests/DEVIATIONS.md` says why what differs does.

#[path = "support/schemas.rs"]
mod support;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use toolfall::schema::Schema;

/// What became of the tests of one draft.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    right: usize,
    wrong: usize,
    /// Tests whose schema is refused.
    refused: usize,
}

/// Judges every test of a draft, and tells the differences by file.
fn judge(draft: &str, uri: &str, optional: bool) -> Option<(Tally, BTreeMap<String, usize>)> {
    let file = format!("suites/json_schema_draft{draft}.jsonl");
    let (mut tally, mut differences) = (Tally::default(), BTreeMap::new());
    for group in support::lines(&support::beside()?.join(file)) {
        if group["optional"] != optional {
            continue;
        }
        let mut schema = group["schema"].clone();
        if let Some(map) = schema.as_object_mut() {
            map.entry("$schema").or_insert_with(|| json!(uri));
        }
        let tests = group["tests"].as_array().unwrap();
        let name = group["file"].as_str().unwrap();
        let schema = match Schema::compile(&schema) {
            Ok(schema) => schema,
            Err(error) => {
                println!("{draft} {name}: {}: {error}", group["group"]);
                tally.refused += tests.len();
                *differences.entry(format!("{name} refused")).or_default() += tests.len();
                continue;
            }
        };
        for test in tests {
            let valid = schema.is_valid(&test["data"]);
            assert_eq!(valid, schema.argument_violations(&test["data"]).is_empty());
            if test["valid"] == valid {
                tally.right += 1;
            } else {
                println!(
                    "{draft} {name}: {}: {}",
                    group["group"], test["description"]
                );
                tally.wrong += 1;
                *differences.entry(format!("{name} wrong")).or_default() += 1;
            }
        }
    }
    Some((tally, differences))
}

const DRAFTS: [(&str, &str); 3] = [
    ("7", "http://json-schema.org/draft-07/schema#"),
    ("2019-09", "https://json-schema.org/draft/2019-09/schema"),
    ("2020-12", "https://json-schema.org/draft/2020-12/schema"),
];

/// The tallies, each with the differences by file.
fn tallies(optional: bool) -> Option<Vec<(Tally, Value)>> {
    let mut found = Vec::new();
    for (draft, uri) in DRAFTS {
        let (tally, differences) = judge(draft, uri, optional)?;
        println!("draft {draft}: {tally:?} {differences:#?}");
        found.push((tally, json!(differences)));
    }
    Some(found)
}

fn tally(right: usize, wrong: usize, refused: usize) -> Tally {
    Tally {
        right,
        wrong,
        refused,
    }
}

/// Nothing is judged wrongly: a schema that needs another document, or a
/// meta-schema of its own, is refused.
#[test]
fn what_the_drafts_demand_holds_or_is_refused() {
    let Some(found) = tallies(false) else {
        return;
    };
    let expected = [
        (tally(890, 0, 23), json!({"refRemote.json refused": 23})),
        (
            tally(1_191, 0, 36),
            json!({"refRemote.json refused": 31, "vocabulary.json refused": 5}),
        ),
        (
            tally(1_208, 0, 49),
            json!({
                "dynamicRef.json refused": 13,
                "refRemote.json refused": 31,
                "vocabulary.json refused": 5,
            }),
        ),
    ];
    assert_eq!(found, expected);
}

/// Formats are annotations from 2019-09 on; before, those that are judged
/// are judged rightly but for two that need tables.
#[test]
fn what_the_drafts_leave_open_is_counted() {
    let Some(found) = tallies(true) else {
        return;
    };
    let expected = [tally(514, 36, 2), tally(433, 201, 3), tally(440, 204, 5)];
    for ((found, differences), expected) in found.iter().zip(expected) {
        assert_eq!(found, &expected);
        for place in differences.as_object().unwrap().keys() {
            assert!(
                place.starts_with("optional/format/") && place.ends_with(" wrong")
                    || place == "optional/cross-draft.json refused"
                    || place == "optional/format-assertion.json refused",
                "{place}"
            );
        }
    }
}
