//! Checks values on their way out of a body.

use serde::Serialize;
use serde_json::{Number, Value};

use super::{
    decode,
    error::{ArgumentsError, ArgumentsErrorKind, CheckError},
    number,
    scan::{MAX_DEPTH, PRIVATE, check_json},
    snapshot::snapshot,
    write,
};

/// The compact JSON text of `value`, checked.
pub(super) fn to_checked_text<T: Serialize + ?Sized>(value: &T) -> Result<String, ArgumentsError> {
    let text = write::write(value)?;
    match check_json(&text) {
        Ok(()) => Ok(text),
        // The text is nobody's but ours: its offsets would help no one.
        Err(CheckError::Lossy(error)) => Err(ArgumentsError::new(
            error.kind(),
            error.pointer().to_owned(),
            error.detail(),
        )),
        Err(CheckError::Malformed(malformed)) => Err(ArgumentsError::new(
            ArgumentsErrorKind::Serialize,
            String::new(),
            &malformed.to_string(),
        )),
    }
}

/// Turns what a body returns into a [`Value`], without loss.
///
/// Differs from [`serde_json::to_value`] in what it refuses, and in that an
/// `f32` becomes the shortest decimal that leads back to it, `0.1` for
/// instance, as in [`serde_json::to_string`]. Integers, booleans, characters
/// and unit variants serve as names.
///
/// ```
/// use toolfall_layers::{ArgumentsErrorKind, to_value};
///
/// assert_eq!(to_value(&("a", 1)).unwrap(), serde_json::json!(["a", 1]));
/// let error = to_value(&[1.0, f64::NAN]).unwrap_err();
/// assert_eq!(error.kind(), ArgumentsErrorKind::NotFinite);
/// assert_eq!(error.pointer(), "/1");
/// ```
///
/// # Errors
///
/// For floats that are not finite, integers past 64 bits, names that are not
/// text, repeated or private to `serde_json`, more than [`MAX_DEPTH`] levels
/// or [`MAX_TEXT`](super::MAX_TEXT) bytes of JSON, and with its own message if
/// the `Serialize` of `value` fails.
pub fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value, ArgumentsError> {
    // Most values are plain and need no text to be judged.
    if let Ok(value) = snapshot(value) {
        return Ok(value);
    }
    let text = to_checked_text(value)?;
    decode::decode(&text).map_err(|error| {
        ArgumentsError::new(
            ArgumentsErrorKind::Serialize,
            error.pointer().to_owned(),
            error.detail(),
        )
    })
}

/// Checks a value that is ready: its depth, its numbers and its names.
///
/// The stack it needs is bounded, however deep the value.
///
/// ```
/// use serde_json::{Value, json};
/// use toolfall_layers::{MAX_DEPTH, check_value};
///
/// let mut value = json!([]);
/// for _ in 0..MAX_DEPTH {
///     value = Value::Array(vec![value]);
/// }
/// assert!(check_value(&value).is_ok());
/// assert!(check_value(&Value::Array(vec![value])).is_err());
/// ```
///
/// # Errors
///
/// If [`Arguments::from_text`](super::Arguments::from_text) would refuse the
/// value's text, except for its length: that is not looked at.
pub fn check_value(value: &Value) -> Result<(), ArgumentsError> {
    check(value, 0).map_err(|fault| {
        let pointer: String = fault.path.iter().rev().map(String::as_str).collect();
        ArgumentsError::new(
            fault.kind,
            super::echo::printable(&pointer, 256),
            &fault.detail,
        )
    })
}

struct Found {
    kind: ArgumentsErrorKind,
    detail: String,
    /// The way to the place, innermost step first.
    path: Vec<String>,
}

impl Found {
    #[cold]
    fn new(kind: ArgumentsErrorKind, detail: String) -> Self {
        Self {
            kind,
            detail,
            path: Vec::new(),
        }
    }

    #[cold]
    fn inside(mut self, step: &str) -> Self {
        let step = step.replace('~', "~0").replace('/', "~1");
        self.path.push(format!("/{step}"));
        self
    }
}

/// Recurses no deeper than `MAX_DEPTH`.
fn check(value: &Value, level: usize) -> Result<(), Found> {
    if level > MAX_DEPTH && (value.is_array() || value.is_object()) {
        return Err(Found::new(
            ArgumentsErrorKind::TooDeep,
            format!("nested more than {MAX_DEPTH} levels below the root"),
        ));
    }
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
        Value::Number(number) => check_number(number),
        Value::Array(items) => items.iter().enumerate().try_for_each(|(index, item)| {
            check(item, level + 1).map_err(|found| found.inside(&index.to_string()))
        }),
        Value::Object(members) => members.iter().try_for_each(|(name, member)| {
            if name.starts_with(PRIVATE) {
                let detail = "the name is one that serde_json keeps for itself".to_owned();
                return Err(Found::new(ArgumentsErrorKind::PrivateKey, detail).inside(name));
            }
            check(member, level + 1).map_err(|found| found.inside(name))
        }),
    }
}

/// Numbers need a look only where `serde_json` keeps them as digits.
fn check_number(number: &Number) -> Result<(), Found> {
    let plain = number.is_i64()
        || number.is_u64()
        || number.as_f64().and_then(Number::from_f64).as_ref() == Some(number);
    if plain {
        return Ok(());
    }
    let digits = number.to_string();
    match number::read(&digits, 0) {
        Ok((number, end)) if end == digits.len() && number != number::Number::Lossy => Ok(()),
        _ => Err(Found::new(
            ArgumentsErrorKind::NumberRange,
            format!(
                "no 64-bit number holds {} exactly",
                super::echo::printable(&digits, 60)
            ),
        )),
    }
}

/// Drops a value of any depth without recursing.
///
/// The drop of [`Value`] itself recurses once a level, and a value that
/// [`check_value`] finds too deep may be deep enough to end the stack.
///
/// ```
/// use serde_json::Value;
///
/// let mut value = Value::Null;
/// for _ in 0..1_000_000 {
///     value = Value::Array(vec![value]);
/// }
/// assert!(toolfall_layers::check_value(&value).is_err());
/// toolfall_layers::discard_value(value);
/// ```
pub fn discard_value(value: Value) {
    let mut rest = vec![value];
    while let Some(value) = rest.pop() {
        match value {
            Value::Array(items) => rest.extend(items),
            Value::Object(members) => rest.extend(members.into_iter().map(|(_, member)| member)),
            _ => {}
        }
    }
}
