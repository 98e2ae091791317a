//! Descriptions, made safe to stand in a comment.

use std::fmt::Write as _;

/// What folds to one space: as Unicode and ECMAScript have it, so with the
/// byte order mark and without U+0085, which is a control character.
fn is_blank(c: char) -> bool {
    c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}')
}

/// `text` on one line: white space folded, control characters spelt `\xNN`.
/// Empty if nothing is left.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split(is_blank).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        for c in word.chars() {
            if c.is_control() {
                let _ = write!(line, "\\x{:02x}", u32::from(c));
            } else {
                line.push(c);
            }
        }
    }
    line
}

/// `text` as a string in double quotes, as JSON writes it. Both languages
/// read it as the same text.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
