//! The JSON parsing test suite: what must be accepted, what must not.

mod support;

use serde_json::Value;
use toolfall_layers::{Arguments, ArgumentsErrorKind, CheckError, check_json};

/// Valid texts that are refused all the same, and why.
const LOSSY: [(&str, ArgumentsErrorKind); 2] = [
    (
        "y_object_duplicated_key.json",
        ArgumentsErrorKind::DuplicateName,
    ),
    (
        "y_object_duplicated_key_and_value.json",
        ArgumentsErrorKind::DuplicateName,
    ),
];

fn cases(expect: &str) -> impl Iterator<Item = (String, Vec<u8>)> {
    support::data::rows("suites/json_parsing.jsonl")
        .into_iter()
        .filter(move |row| row["expect"] == expect)
        .map(|row| {
            (
                row["name"].as_str().unwrap().to_owned(),
                support::data::base64(row["bytes_base64"].as_str().unwrap()),
            )
        })
}

#[test]
fn what_must_be_accepted_is_accepted() {
    let mut seen = 0;
    for (name, bytes) in cases("accept") {
        seen += 1;
        let text = String::from_utf8(bytes.clone()).unwrap();
        let result = check_json(&text);
        if let Some((_, kind)) = LOSSY.iter().find(|(lossy, _)| *lossy == name) {
            let Err(CheckError::Lossy(error)) = result else {
                panic!("{name}: {result:?}");
            };
            assert_eq!(error.kind(), *kind, "{name}");
            continue;
        }
        assert_eq!(result, Ok(()), "{name}");
        let arguments = Arguments::from_bytes(bytes).unwrap();
        let expected: Value = serde_json::from_str(arguments.json()).unwrap();
        assert_eq!(*arguments.value(), expected, "{name}");
    }
    assert_eq!(seen, 95);
}

#[test]
fn what_must_be_rejected_is_rejected() {
    let mut seen = 0;
    for (name, bytes) in cases("reject") {
        seen += 1;
        if let Ok(text) = std::str::from_utf8(&bytes) {
            assert!(check_json(text).is_err(), "{name}");
        }
        match Arguments::from_bytes(bytes) {
            // No text at all and white space count as `{}`.
            Ok(arguments) if arguments.text().trim().is_empty() => {
                assert_eq!(arguments.json(), "{}", "{name}");
            }
            Ok(arguments) => assert!(arguments.malformed().is_some(), "{name}"),
            Err(error) => assert_eq!(error.kind(), ArgumentsErrorKind::TooDeep, "{name}"),
        }
    }
    assert_eq!(seen, 188);
}

#[test]
fn where_parsers_may_differ_nothing_is_changed() {
    for (name, bytes) in cases("either") {
        let sent = bytes.clone();
        match Arguments::from_bytes(bytes) {
            Ok(arguments) if arguments.malformed().is_none() => {
                assert_eq!(arguments.text().as_bytes(), sent, "{name}");
            }
            Ok(_) => assert!(
                name.contains("string") || name.contains("surrogate") || name.contains("BOM"),
                "{name} is JSON"
            ),
            Err(error) => assert!(
                matches!(
                    error.kind(),
                    ArgumentsErrorKind::NumberRange | ArgumentsErrorKind::TooDeep
                ),
                "{name}: {error}"
            ),
        }
    }
}
