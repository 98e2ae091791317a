//! Equality and order of JSON values.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::holds::Holds;
use super::text::Reading;

/// The first whole number after which not every one is a double.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// What decoders take for a truth value, in any case.
const TRUE: [&str; 6] = ["true", "t", "yes", "y", "on", "1"];
const FALSE: [&str; 6] = ["false", "f", "no", "n", "off", "0"];

/// Whether `found` is `wanted`, however its numbers are written.
///
/// A number in a string and the number itself cannot be told apart, since
/// there are tools that take either; nor can a value and a list that has it,
/// or a truth value and the words and numbers that stand for it. Recurses no
/// deeper than the rule's own value is nested, and one level for a list.
pub(super) fn same(wanted: &Value, found: &Value, ignore_case: bool) -> Holds {
    match (wanted, found) {
        (Value::Number(a), Value::Number(b)) => match compare(a, b) {
            Some(order) => order.is_eq().into(),
            None => Holds::Unknown,
        },
        (Value::String(a), Value::String(b)) => Reading::new(a, ignore_case).is(a, b),
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let pairs = a.iter().zip(b);
            pairs.fold(Holds::Yes, |holds, (a, b)| {
                holds.and(same(a, b, ignore_case))
            })
        }
        (Value::Object(a), Value::Object(b)) if a.len() == b.len() => {
            a.iter()
                .fold(Holds::Yes, |holds, (name, a)| match b.get(name) {
                    Some(b) => holds.and(same(a, b, ignore_case)),
                    None => Holds::No,
                })
        }
        (Value::String(text), other) | (other, Value::String(text)) if spells(text, other) => {
            Holds::Unknown
        }
        (Value::Bool(truth), Value::Number(number))
        | (Value::Number(number), Value::Bool(truth)) => {
            let one = if *truth { 1.0 } else { 0.0 };
            if number.as_f64() == Some(one) {
                Holds::Unknown
            } else {
                Holds::No
            }
        }
        (Value::String(_) | Value::Number(_) | Value::Bool(_), Value::Array(elements)) => {
            let has = |element: &Value| {
                !element.is_array() && same(wanted, element, ignore_case) != Holds::No
            };
            if elements.iter().any(has) {
                Holds::Unknown
            } else {
                Holds::No
            }
        }
        (Value::Array(one), other) if one.len() == 1 && !other.is_array() => {
            match same(&one[0], other, ignore_case) {
                Holds::No => Holds::No,
                Holds::Unknown | Holds::Yes => Holds::Unknown,
            }
        }
        (Value::Null | Value::Bool(_), _) => (wanted == found).into(),
        _ => Holds::No,
    }
}

/// Whether `text` is how somebody may write `value`.
fn spells(text: &str, value: &Value) -> bool {
    let text = super::text::folded(text.trim(), true);
    match value {
        Value::Number(number) => {
            let read: Option<Number> = serde_json::from_str(&text).ok();
            let read = read.or_else(|| Number::from_f64(text.parse().ok()?));
            read.is_some_and(|read| compare(number, &read).is_none_or(Ordering::is_eq))
        }
        Value::Bool(value) => {
            let words = if *value { TRUE } else { FALSE };
            words.iter().any(|word| text.eq_ignore_ascii_case(word))
        }
        _ => false,
    }
}

/// The order of two numbers; `None` if one is whole and the other a double
/// too large to tell.
fn compare(a: &Number, b: &Number) -> Option<Ordering> {
    if let (Some(a), Some(b)) = (a.as_i128(), b.as_i128()) {
        return Some(a.cmp(&b));
    }
    let doubles = a.is_f64() && b.is_f64();
    let (a, b) = (a.as_f64()?, b.as_f64()?);
    match a.partial_cmp(&b)? {
        Ordering::Equal if !doubles && a.abs() >= EXACT => None,
        order => Some(order),
    }
}

/// Whether `value` is a number from `least` to `most`.
pub(super) fn within(value: &Value, least: Option<f64>, most: Option<f64>) -> Holds {
    let number = match value {
        Value::Null => return Holds::No,
        Value::Number(number) => number,
        // `"100"` counts for some tools.
        _ => return Holds::Unknown,
    };
    let against = |limit: f64, fits: fn(Ordering) -> bool| {
        let order = Number::from_f64(limit).and_then(|limit| compare(number, &limit));
        order.map_or(Holds::Unknown, |order| fits(order).into())
    };
    let least = least.map_or(Holds::Yes, |least| against(least, Ordering::is_ge));
    let most = most.map_or(Holds::Yes, |most| against(most, Ordering::is_le));
    least.and(most)
}
