//! Where in a text something is, as a JSON pointer or as line and column.

use std::fmt::Write as _;

use super::{echo, string};

/// A pointer longer than this, in characters, is cut.
const LONGEST: usize = 256;

/// One open container on the way to the place.
enum Step<'a> {
    Index(usize),
    /// The member's name as it stands in the text, once it was met.
    Name(Option<&'a str>),
}

/// The RFC 6901 pointer of the value (or the name) at byte `at` of `text`,
/// which is JSON up to there. Bounded and free of control characters.
pub(super) fn pointer(text: &str, at: usize) -> String {
    let bytes = text.as_bytes();
    let mut steps: Vec<Step<'_>> = Vec::new();
    let mut pos = 0;
    // In an object, whether the next string is a name.
    let mut name_next = false;
    while pos < at.min(bytes.len()) {
        match bytes[pos] {
            b'{' => {
                steps.push(Step::Name(None));
                name_next = true;
            }
            b'[' => {
                steps.push(Step::Index(0));
                name_next = false;
            }
            b'}' | b']' => {
                steps.pop();
                name_next = false;
            }
            b',' => match steps.last_mut() {
                Some(Step::Index(index)) => *index += 1,
                Some(Step::Name(name)) => {
                    *name = None;
                    name_next = true;
                }
                None => {}
            },
            b'"' => {
                let Ok(quoted) = string::read(bytes, pos + 1) else {
                    break;
                };
                if name_next {
                    set_name(&mut steps, &text[pos + 1..quoted.close]);
                    name_next = false;
                }
                pos = quoted.close;
            }
            _ => {}
        }
        pos += 1;
    }
    // The place may itself be a name: the member is meant then.
    if name_next
        && pos == at
        && bytes.get(at) == Some(&b'"')
        && let Ok(quoted) = string::read(bytes, at + 1)
    {
        set_name(&mut steps, &text[at + 1..quoted.close]);
    }
    render(&steps)
}

fn set_name<'a>(steps: &mut [Step<'a>], inside: &'a str) {
    if let Some(Step::Name(name)) = steps.last_mut() {
        *name = Some(inside);
    }
}

fn render(steps: &[Step<'_>]) -> String {
    let mut pointer = String::new();
    for step in steps {
        match step {
            Step::Index(index) => {
                // Writing to a `String` cannot fail.
                let _ = write!(pointer, "/{index}");
            }
            Step::Name(None) => {}
            Step::Name(Some(inside)) => {
                pointer.push('/');
                for char in string::Unescaped::new(inside) {
                    match char {
                        '~' => pointer.push_str("~0"),
                        '/' => pointer.push_str("~1"),
                        other => pointer.push(other),
                    }
                }
            }
        }
    }
    echo::printable(&pointer, LONGEST)
}

/// Line and column of byte `at`, both from 1, the column in characters.
pub(super) fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let at = floor_char_boundary(text, at);
    let before = &text[..at];
    let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (line, before[start..].chars().count() + 1)
}

/// The last place at or before `at` where a character starts.
pub(super) fn floor_char_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
