//! The text of JSON string literals.

use std::borrow::Cow;

use super::{WireError, raw::not_json};

/// The text of a string literal. Half of a surrogate pair that stands alone
/// stays as its escape: a stream may send the halves in two pieces, and text
/// that keeps it is refused by whoever parses it, for its call alone.
pub(super) fn decode(literal: &str) -> Result<Cow<'_, str>, WireError> {
    let inner = &literal[1..literal.len() - 1];
    if !inner.contains('\\') {
        return Ok(Cow::Borrowed(inner));
    }
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(slash) = rest.find('\\') {
        out.push_str(&rest[..slash]);
        rest = &rest[slash..];
        let mut used = 2;
        match rest.as_bytes().get(1) {
            Some(b'"') => out.push('"'),
            Some(b'\\') => out.push('\\'),
            Some(b'/') => out.push('/'),
            Some(b'b') => out.push('\u{8}'),
            Some(b'f') => out.push('\u{c}'),
            Some(b'n') => out.push('\n'),
            Some(b'r') => out.push('\r'),
            Some(b't') => out.push('\t'),
            Some(b'u') => {
                let unit = hex_unit(rest).ok_or_else(|| not_json(0, "four hex digits"))?;
                used = 6;
                if let Some(char) = char::from_u32(unit) {
                    out.push(char);
                } else if let Some(char) = pair(unit, &rest[6..]) {
                    out.push(char);
                    used = 12;
                } else {
                    out.push_str(&rest[..6]);
                }
            }
            _ => return Err(not_json(0, "an escape that JSON knows")),
        }
        rest = &rest[used..];
    }
    out.push_str(rest);
    Ok(Cow::Owned(out))
}

fn hex_unit(escape: &str) -> Option<u32> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        u32::from_str_radix(digits, 16).ok()
    } else {
        None
    }
}

fn pair(high: u32, rest: &str) -> Option<char> {
    let low = hex_unit(rest)?;
    if (0xD800..0xDC00).contains(&high) && (0xDC00..0xE000).contains(&low) {
        char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    } else {
        None
    }
}
