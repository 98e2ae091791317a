//! One text for all ways of writing the same arguments.

use std::fmt::Write as _;

use serde_json::{Map, Number, Value};

/// 2^64: integral floats below it are written as integers.
const INTEGERS: f64 = 18_446_744_073_709_551_616.0;

/// The canonical text of `value`.
///
/// Members are sorted by the bytes of their names, at every level. A number
/// without a fraction is written as an integer where 64 bits hold it, so that
/// `1`, `1.0` and `1e0` are one number, and `-0.0` is `0`; any other is the
/// shortest decimal that leads back to its `f64`. There is no white space.
pub(super) fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// Recurses no deeper than arguments are nested, which is bounded.
fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => write_object(members, out),
    }
}

fn write_object(members: &Map<String, Value>, out: &mut String) {
    // The map may keep its members in the order in which they were sent.
    let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
    sorted.sort_unstable_by_key(|(name, _)| *name);
    out.push('{');
    for (index, (name, member)) in sorted.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_string(name, out);
        out.push(':');
        write(member, out);
    }
    out.push('}');
}

fn write_number(number: &Number, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = match (number.as_u64(), number.as_i64(), number.as_f64()) {
        (Some(integer), _, _) => write!(out, "{integer}"),
        (_, Some(integer), _) => write!(out, "{integer}"),
        (_, _, Some(float)) if float.fract() == 0.0 && float.abs() < INTEGERS => {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the float is an integer of 64 bits"
            )]
            let integer = float as i128;
            write!(out, "{integer}")
        }
        (_, _, Some(float)) => write!(out, "{float:e}"),
        (_, _, None) => write!(out, "{number}"),
    };
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            character => out.push(character),
        }
    }
    out.push('"');
}
