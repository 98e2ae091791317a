//! What can be wrong with an argument text or with a value.

use std::fmt;

use super::{
    echo,
    pointer::{line_and_column, pointer},
    scan::MAX_DEPTH,
};

/// Why JSON cannot be kept exactly as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ArgumentsErrorKind {
    /// A name stands twice in one object: two readers could see different
    /// values.
    DuplicateName,
    /// A number that neither 64-bit integers nor `f64` hold unchanged.
    NumberRange,
    /// More containers inside one another than [`MAX_DEPTH`](super::MAX_DEPTH) allows.
    TooDeep,
    /// A name that `serde_json` keeps for itself.
    PrivateKey,
    /// A text longer than [`MAX_TEXT`](super::MAX_TEXT).
    TooLarge,
    /// A float that is not a number or infinite.
    NotFinite,
    /// The value's own `Serialize` failed, or asked for what JSON has not.
    Serialize,
}

/// JSON, or a value on its way to JSON, that cannot be kept exactly as it is.
///
/// `Display` names the place and the reason; it is bounded and free of
/// control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentsError {
    kind: ArgumentsErrorKind,
    pointer: String,
    detail: String,
    offset: Option<usize>,
}

impl ArgumentsError {
    pub(super) fn new(kind: ArgumentsErrorKind, pointer: String, detail: &str) -> Self {
        Self {
            kind,
            pointer,
            detail: echo::printable(detail, MESSAGE),
            offset: None,
        }
    }

    /// The error of `kind` at byte `at` of `text`, which is JSON up to there.
    pub(super) fn in_text(kind: ArgumentsErrorKind, text: &str, at: usize) -> Self {
        let detail = match kind {
            ArgumentsErrorKind::DuplicateName => "the name stands twice in one object".to_owned(),
            ArgumentsErrorKind::NumberRange => {
                let rest = &text[at..];
                let end = rest
                    .find(|char: char| !matches!(char, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'))
                    .unwrap_or(rest.len());
                format!(
                    "no 64-bit number holds {} exactly",
                    echo::printable(&rest[..end], 60)
                )
            }
            ArgumentsErrorKind::TooDeep => {
                format!("nested more than {MAX_DEPTH} levels below the root")
            }
            ArgumentsErrorKind::PrivateKey => {
                "the name is one that serde_json keeps for itself".to_owned()
            }
            ArgumentsErrorKind::NotFinite => "the float is not finite".to_owned(),
            ArgumentsErrorKind::TooLarge | ArgumentsErrorKind::Serialize => {
                "it cannot be kept".to_owned()
            }
        };
        Self {
            offset: Some(at),
            ..Self::new(kind, pointer(text, at), &detail)
        }
    }

    pub(super) fn too_large(bytes: usize, longest: usize) -> Self {
        Self::new(
            ArgumentsErrorKind::TooLarge,
            String::new(),
            &format!("{bytes} bytes where at most {longest} are taken"),
        )
    }

    /// What is wrong.
    pub const fn kind(&self) -> ArgumentsErrorKind {
        self.kind
    }

    /// The JSON pointer of the value or member at fault; empty for the root.
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// The reason in words, without the place.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// The byte of the text where the fault is, if there was a text.
    pub const fn offset(&self) -> Option<usize> {
        self.offset
    }
}

impl fmt::Display for ArgumentsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        place(f, &self.pointer)?;
        f.write_str(&self.detail)
    }
}

impl std::error::Error for ArgumentsError {}

/// The longest message that is kept, in characters.
const MESSAGE: usize = 400;

fn place(f: &mut fmt::Formatter<'_>, pointer: &str) -> fmt::Result {
    if pointer.is_empty() {
        Ok(())
    } else {
        write!(f, "at {pointer}: ")
    }
}

/// Where and why a text is not JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    offset: usize,
    line: usize,
    column: usize,
    expected: &'static str,
    found: String,
}

impl Malformed {
    #[cold]
    pub(super) fn at(text: &str, offset: usize, expected: &'static str) -> Self {
        let (line, column) = line_and_column(text, offset);
        let found = match text.get(offset..).and_then(|rest| rest.chars().next()) {
            None => "the end of the text".to_owned(),
            Some('\n') => "a line break".to_owned(),
            Some(char) => format!("`{}`", echo::printable(char.encode_utf8(&mut [0; 4]), 12)),
        };
        Self {
            offset,
            line,
            column,
            expected,
            found,
        }
    }

    /// `bytes` that are UTF-8 up to `valid_up_to` only.
    pub(super) fn not_utf8(bytes: &[u8], valid_up_to: usize) -> Self {
        let before = String::from_utf8_lossy(&bytes[..valid_up_to]);
        let (line, column) = line_and_column(&before, before.len());
        Self {
            offset: valid_up_to,
            line,
            column,
            expected: "UTF-8",
            found: bytes.get(valid_up_to).map_or_else(
                || "the end of the text".to_owned(),
                |byte| format!("invalid UTF-8 at byte {valid_up_to} (0x{byte:02x})"),
            ),
        }
    }

    /// The first byte that is wrong; the text's length if something is missing
    /// at its end.
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// The line of that byte, from 1.
    pub const fn line(&self) -> usize {
        self.line
    }

    /// The column of that byte, from 1, in characters.
    pub const fn column(&self) -> usize {
        self.column
    }

    /// What would have been right there.
    pub const fn expected(&self) -> &str {
        self.expected
    }

    /// What is there instead, bounded and free of control characters.
    pub fn found(&self) -> &str {
        &self.found
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "not JSON at line {} column {}: expected {}, found {}",
            self.line, self.column, self.expected, self.found
        )
    }
}

impl std::error::Error for Malformed {}

/// What [`check_json`](super::check_json) found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckError {
    /// The text is not JSON.
    Malformed(Malformed),
    /// The text is JSON, or may be, but cannot be kept as it is.
    Lossy(ArgumentsError),
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(malformed) => malformed.fmt(f),
            Self::Lossy(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CheckError {}

/// Arguments that do not fit the type they were decoded into.
///
/// `Display` names the place and what was expected there; it is bounded and
/// free of control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    pointer: String,
    detail: String,
    offset: Option<usize>,
}

impl DecodeError {
    pub(super) fn malformed(malformed: &Malformed) -> Self {
        Self {
            pointer: String::new(),
            detail: malformed.to_string(),
            offset: Some(malformed.offset()),
        }
    }

    pub(super) fn in_text(text: &str, at: usize, detail: &str) -> Self {
        Self {
            pointer: pointer(text, at),
            detail: echo::printable(detail, MESSAGE),
            offset: Some(at),
        }
    }

    /// The JSON pointer of the value that did not fit; empty for the root.
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// What was expected and found, without the place.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// The byte of [`Arguments::json`](super::Arguments::json) where it stands.
    pub const fn offset(&self) -> Option<usize> {
        self.offset
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        place(f, &self.pointer)?;
        f.write_str(&self.detail)
    }
}

impl std::error::Error for DecodeError {}
