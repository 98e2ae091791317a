//! Hand-made odd argument texts, each with the outcome that is right.

mod support;

use serde_json::Value;
use toolfall_layers::{Arguments, ArgumentsError, ArgumentsErrorKind};

use support::data::same;

fn made(row: &Value) -> Result<Arguments, ArgumentsError> {
    if let Some(text) = row.get("raw_base64") {
        return Arguments::from_bytes(support::data::base64(text.as_str().unwrap()));
    }
    Arguments::from_text(text_of(row))
}

fn text_of(row: &Value) -> String {
    if let Some(text) = row.get("raw_arguments") {
        return text.as_str().unwrap().to_owned();
    }
    let plan = &row["raw_made_of"];
    let part = |name: &str| plan[name].as_str().unwrap();
    let times = usize::try_from(plan["times"].as_u64().unwrap()).unwrap();
    let mut text = part("prefix").to_owned();
    if part("open").contains('#') {
        text.extend((1..=times).map(|number| part("open").replace('#', &number.to_string())));
    } else {
        text.push_str(&part("open").repeat(times));
    }
    text.push_str(part("core"));
    text.push_str(&part("close").repeat(times));
    text.push_str(part("suffix"));
    text
}

/// Whether `arguments` are what `right` says, as far as text alone can tell.
fn agrees(right: &Value, text: Option<&str>, made: &Result<Arguments, ArgumentsError>) -> bool {
    if let Some(any_of) = right.get("any_of") {
        return any_of
            .as_array()
            .unwrap()
            .iter()
            .any(|right| agrees(right, text, made));
    }
    if let Some(expected) = right.get("ok") {
        let expected: Value = serde_json::from_str(expected.as_str().unwrap()).unwrap();
        return made
            .as_ref()
            .is_ok_and(|made| made.malformed().is_none() && same(made.value(), &expected));
    }
    if right.get("ok_made_the_same").is_some() {
        return made.as_ref().is_ok_and(|made| {
            made.malformed().is_none()
                && Some(made.text()) == text
                && (Some(made.value().to_string().as_str()) == text
                    || serde_json::from_str::<Value>(made.text()).ok().as_ref()
                        == Some(made.value()))
        });
    }
    match right.get("cause").and_then(Value::as_str) {
        Some("not_json") => made.as_ref().is_ok_and(|made| made.malformed().is_some()),
        Some("duplicate_key") => kind(made) == Some(ArgumentsErrorKind::DuplicateName),
        Some("number_range") => kind(made) == Some(ArgumentsErrorKind::NumberRange),
        Some("too_deep") => kind(made) == Some(ArgumentsErrorKind::TooDeep),
        Some("too_large") => kind(made) == Some(ArgumentsErrorKind::TooLarge),
        // What a schema, the registry or the turn refuses is sound as text.
        Some("schema" | "not_object" | "truncated") | None => {
            made.as_ref().is_ok_and(|made| made.malformed().is_none())
        }
        Some(other) => panic!("an unknown cause: {other}"),
    }
}

fn kind(made: &Result<Arguments, ArgumentsError>) -> Option<ArgumentsErrorKind> {
    made.as_ref().err().map(ArgumentsError::kind)
}

/// conformance: EXEC-22, EXEC-23, EXEC-25, EXEC-29
#[test]
fn every_odd_text_gets_the_right_answer() {
    let rows = support::data::rows("odd/arguments.jsonl");
    assert!(rows.len() > 130, "only {} rows", rows.len());
    let mut wrong = Vec::new();
    for row in &rows {
        let text = row.get("raw_base64").is_none().then(|| text_of(row));
        let made = made(row);
        if !agrees(&row["right"], text.as_deref(), &made) {
            wrong.push(format!("{}: {made:?}", row["id"]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_refusal_fits_one_short_line() {
    for row in support::data::rows("odd/arguments.jsonl") {
        let message = match made(&row) {
            Ok(made) => made
                .malformed()
                .map_or_else(|| made.echo(), ToString::to_string),
            Err(error) => error.to_string(),
        };
        assert!(message.chars().count() < 700, "{}", row["id"]);
        assert!(!message.contains(char::is_control), "{}", row["id"]);
    }
}
