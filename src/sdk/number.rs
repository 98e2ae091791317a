//! Numbers as both languages write them.

use std::fmt::Write as _;

use serde_json::Number;

/// Longer literals help nobody, and Python refuses to read very long ones.
const MAX_DIGITS: usize = 400;

/// `number` in full digits if it is an integer, whatever way it was written;
/// else in the shortest decimal form, with an exponent where ECMAScript has
/// one. `None` for what is longer than a float can make it.
pub(super) fn text(number: &Number) -> Option<String> {
    if let Some(integer) = number.as_i64() {
        return Some(integer.to_string());
    }
    if let Some(integer) = number.as_u64() {
        return Some(integer.to_string());
    }
    // Only builds with numbers of any precision have integers left.
    let written = number.to_string();
    let digits = written.strip_prefix('-').unwrap_or(&written);
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return (digits.len() <= MAX_DIGITS).then_some(written);
    }
    let float = number.as_f64().filter(|float| float.is_finite())?;
    Some(float_text(float))
}

fn float_text(float: f64) -> String {
    if float == 0.0 {
        return "0".to_owned();
    }
    if float.fract() == 0.0 {
        return format!("{float:.0}");
    }
    let shortest = format!("{float:e}");
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent > -7 {
        // Rust writes such a float without an exponent, and in as few digits.
        return float.to_string();
    }
    let mut text = mantissa.to_owned();
    let _ = write!(text, "e{exponent}");
    text
}
