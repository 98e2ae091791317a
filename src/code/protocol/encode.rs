//! Values as text.

use std::fmt::Write as _;
use std::slice;

use serde_json::{Value, map};

/// Appends `value` as compact JSON. Needs no stack for its depth.
///
/// ```
/// use serde_json::json;
/// use toolfall::code::protocol::encode;
///
/// let mut text = String::new();
/// encode(&json!({"a": [1_u64 << 60, "\u{1}"]}), &mut text);
/// assert_eq!(text, r#"{"a":[1152921504606846976,"\u0001"]}"#);
/// ```
pub fn encode(value: &Value, out: &mut String) {
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut next = Some(value);
    while let Some(value) = next {
        match value {
            Value::Null => out.push_str("null"),
            Value::Bool(true) => out.push_str("true"),
            Value::Bool(false) => out.push_str("false"),
            Value::Number(number) => {
                // Writing to a `String` cannot fail.
                let _ = write!(out, "{number}");
            }
            Value::String(text) => quote(text, out),
            Value::Array(items) => {
                out.push('[');
                open.push(Open::List(items.iter(), true));
            }
            Value::Object(members) => {
                out.push('{');
                open.push(Open::Object(members.iter(), true));
            }
        }
        next = advance(&mut open, out);
    }
}

/// What is left of a container that is being written, and whether nothing of
/// it was yet.
enum Open<'a> {
    List(slice::Iter<'a, Value>, bool),
    Object(map::Iter<'a>, bool),
}

/// Closes what has ended, and goes to the next value.
fn advance<'a>(open: &mut Vec<Open<'a>>, out: &mut String) -> Option<&'a Value> {
    loop {
        match open.last_mut()? {
            Open::List(items, first) => {
                if let Some(item) = items.next() {
                    comma(first, out);
                    return Some(item);
                }
                out.push(']');
            }
            Open::Object(members, first) => {
                if let Some((name, member)) = members.next() {
                    comma(first, out);
                    quote(name, out);
                    out.push(':');
                    return Some(member);
                }
                out.push('}');
            }
        }
        open.pop();
    }
}

fn comma(first: &mut bool, out: &mut String) {
    if !std::mem::take(first) {
        out.push(',');
    }
}

/// Appends `text` as a JSON string.
pub(super) fn quote(text: &str, out: &mut String) {
    out.push('"');
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            0x08 => "\\b",
            b'\t' => "\\t",
            b'\n' => "\\n",
            0x0c => "\\f",
            b'\r' => "\\r",
            0..0x20 => "",
            _ => continue,
        };
        out.push_str(&text[plain..at]);
        if escape.is_empty() {
            let _ = write!(out, "\\u{byte:04x}");
        } else {
            out.push_str(escape);
        }
        plain = at + 1;
    }
    out.push_str(&text[plain..]);
    out.push('"');
}
