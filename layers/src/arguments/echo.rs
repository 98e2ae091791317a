//! Text of others, made fit for messages: short, and without characters that
//! move a cursor, break a line or turn the direction of writing.

use std::fmt::Write as _;

/// At most `limit` characters of `text`, control characters and direction
/// marks written as escapes, with a note of how many characters are missing.
///
/// For whatever a message quotes that others wrote.
///
/// ```
/// use toolfall_layers::printable;
///
/// assert_eq!(printable("a\u{1b}[2J", 40), "a\\u{1b}[2J");
/// assert_eq!(printable("abcdef", 2), "ab… (+4 more chars)");
/// ```
pub fn printable(text: &str, limit: usize) -> String {
    // Bytes past `limit` characters of four bytes each cannot be needed.
    let mut shown = String::with_capacity(text.len().min(limit.saturating_mul(4)) + 4);
    let mut room = limit;
    for (at, char) in text.char_indices() {
        let width = if is_unfit(char) {
            char.escape_default().count()
        } else {
            1
        };
        if width > room {
            let missing = text[at..].chars().count();
            // Writing to a `String` cannot fail.
            let _ = write!(shown, "… (+{missing} more chars)");
            return shown;
        }
        room -= width;
        if width > 1 {
            shown.extend(char.escape_default());
        } else {
            shown.push(char);
        }
    }
    shown
}

/// Control characters, line and paragraph separators, direction marks, and
/// the byte order mark.
fn is_unfit(char: char) -> bool {
    char.is_control()
        || matches!(
            char,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
                | '\u{feff}'
        )
}
