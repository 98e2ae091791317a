//! How long JSON would be.

use serde_json::Value;
use serde_json::map;
use std::slice;

/// What one byte of a text takes between the quotes of compact JSON.
const fn byte_cost(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | 0x08 | b'\t' | b'\n' | 0x0c | b'\r' => 2,
        0..0x20 => 6,
        _ => 1,
    }
}

/// The bytes of `text` as a JSON string, quotes included; nothing if that is
/// more than `ceiling`.
///
/// ```
/// use toolfall::code::ledger::string_bytes;
///
/// assert_eq!(string_bytes("fits", 6), Some(6));
/// assert_eq!(string_bytes("fits", 5), None);
/// ```
pub fn string_bytes(text: &str, ceiling: usize) -> Option<usize> {
    // No text gets shorter by being quoted.
    if text.len().checked_add(2)? > ceiling {
        return None;
    }
    let mut total = 2_usize;
    for byte in text.bytes() {
        total += byte_cost(byte);
        if total > ceiling {
            return None;
        }
    }
    Some(total)
}

/// The longest beginning of `text`, cut between characters, that takes no
/// more than `ceiling` bytes as a JSON string.
///
/// ```
/// use toolfall::code::ledger::cut;
///
/// assert_eq!(cut("a\n€", 5), "a\n");
/// assert_eq!(cut("a", 1), "");
/// ```
pub fn cut(text: &str, ceiling: usize) -> &str {
    let mut total = 2_usize;
    for (at, char) in text.char_indices() {
        // Beyond ASCII a character stands for itself.
        total += match u8::try_from(char) {
            Ok(byte) if byte.is_ascii() => byte_cost(byte),
            _ => char.len_utf8(),
        };
        if total > ceiling {
            return &text[..at];
        }
    }
    text
}

/// The bytes of `value` as compact JSON; nothing if that is more than
/// `ceiling`. Needs no stack for the depth of the value.
///
/// ```
/// use serde_json::json;
/// use toolfall::code::ledger::value_bytes;
///
/// let value = json!({"a": [1, "é"]});
/// assert_eq!(value_bytes(&value, 100), Some(value.to_string().len()));
/// assert_eq!(value_bytes(&value, 5), None);
/// ```
pub fn value_bytes(value: &Value, ceiling: usize) -> Option<usize> {
    match walk(value, ceiling) {
        Walked::Over => None,
        Walked::Whole { bytes, .. } => Some(bytes),
    }
}

/// Why a value cannot be what a program returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionFault {
    /// It takes more bytes than there are left. Outranks the other one.
    OverBudget,
    /// It holds a negative zero, which not every language keeps.
    Lossy,
}

/// Judges what a program returns, and tells what it takes: at most `room`
/// bytes as compact JSON, and no negative zero. Needs no stack for the depth
/// of the value, which is not judged.
///
/// ```
/// use serde_json::json;
/// use toolfall::code::ledger::{CompletionFault, check_completion};
///
/// assert_eq!(check_completion(&json!("é"), 4), Ok(4));
/// assert_eq!(check_completion(&json!([-0.0]), 9), Err(CompletionFault::Lossy));
/// assert_eq!(check_completion(&json!([-0.0]), 3), Err(CompletionFault::OverBudget));
/// ```
///
/// # Errors
///
/// The fault; of both, that there is too much.
pub fn check_completion(value: &Value, room: usize) -> Result<usize, CompletionFault> {
    match walk(value, room) {
        Walked::Over => Err(CompletionFault::OverBudget),
        Walked::Whole { lossy: true, .. } => Err(CompletionFault::Lossy),
        Walked::Whole { bytes, .. } => Ok(bytes),
    }
}

enum Walked {
    Over,
    Whole { bytes: usize, lossy: bool },
}

/// What is left of a container that the walk is inside of.
enum Open<'a> {
    List(slice::Iter<'a, Value>),
    Object(map::Iter<'a>),
}

fn walk(value: &Value, ceiling: usize) -> Walked {
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut bytes = 0_usize;
    let mut lossy = false;
    let mut next = Some(value);
    while let Some(value) = next {
        let room = ceiling - bytes;
        let cost = match value {
            Value::Null | Value::Bool(true) => Some(4),
            Value::Bool(false) => Some(5),
            Value::Number(number) => {
                lossy |= number
                    .as_f64()
                    .is_some_and(|float| float == 0.0 && float.is_sign_negative());
                Some(number.to_string().len())
            }
            Value::String(text) => string_bytes(text, room),
            // The brackets and the commas at once.
            Value::Array(items) => {
                open.push(Open::List(items.iter()));
                Some(2 + items.len().saturating_sub(1))
            }
            Value::Object(members) => {
                open.push(Open::Object(members.iter()));
                Some(2 + members.len().saturating_sub(1))
            }
        };
        match cost {
            Some(cost) if cost <= room => bytes += cost,
            _ => return Walked::Over,
        }
        next = loop {
            match open.last_mut() {
                None => break None,
                Some(Open::List(items)) => {
                    if let Some(item) = items.next() {
                        break Some(item);
                    }
                }
                Some(Open::Object(members)) => {
                    if let Some((name, member)) = members.next() {
                        let room = ceiling - bytes;
                        match string_bytes(name, room.saturating_sub(1)) {
                            Some(cost) => bytes += cost + 1,
                            None => return Walked::Over,
                        }
                        break Some(member);
                    }
                }
            }
            open.pop();
        };
    }
    Walked::Whole { bytes, lossy }
}
