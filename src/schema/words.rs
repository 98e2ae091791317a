//! A validator's errors in words, and values quoted in them.

use std::fmt::Write as _;
use std::io;

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::paths::LocationSegment;
use serde_json::Value;
use toolfall_layers::printable;

use super::violation::{MAX_VIOLATIONS, Root, Violation};

/// Characters of a value, a path or a validator's message that are quoted.
pub(super) const MAX_QUOTED: usize = 120;

const MISSING: u8 = 0;
const WITHIN: u8 = 1;
const UNDECLARED: u8 = 2;

/// Adds what `error` says to `out`; what was found is quoted later.
pub(super) fn translate(root: Root<'_>, error: &ValidationError<'_>, out: &mut Vec<Violation>) {
    let mut order = Vec::new();
    let mut path = root.path();
    for segment in error.instance_path() {
        match segment {
            LocationSegment::Property(name) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&name);
                order.push((WITHIN, name.to_string()));
            }
            LocationSegment::Index(index) => {
                let _ = write!(path, "[{index}]");
                order.push((WITHIN, format!("{index:012}")));
            }
        }
    }
    let inner = |name: &str| {
        if path.is_empty() {
            root.shown(name)
        } else {
            root.shown(&format!("{path}.{name}"))
        }
    };
    let here = root.shown(&path);
    let mut add = |message: String, mark: Option<u8>| {
        let mut order = order.clone();
        order.extend(mark.map(|mark| (mark, String::new())));
        out.push(Violation {
            message,
            pointer: error.instance_path().to_string(),
            keyword: error.kind().keyword().to_owned(),
            found: String::new(),
            order,
        });
    };
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            add(
                format!("missing required property \"{}\"", inner(name)),
                Some(MISSING),
            );
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            for name in unexpected.iter().take(MAX_VIOLATIONS) {
                add(
                    format!(
                        "\"{}\" is not a declared property (additionalProperties: false)",
                        inner(name)
                    ),
                    Some(UNDECLARED),
                );
            }
        }
        ValidationErrorKind::Type { kind } => {
            add(format!("\"{here}\" must be {}", type_words(kind)), None);
        }
        ValidationErrorKind::Enum { options } => {
            add(
                format!("\"{here}\" must be one of {}", quoted(options)),
                None,
            );
        }
        ValidationErrorKind::Constant { expected_value } => {
            add(
                format!("\"{here}\" must be {}", quoted(expected_value)),
                None,
            );
        }
        ValidationErrorKind::OneOfNotValid { context }
        | ValidationErrorKind::OneOfMultipleValid { context } => {
            // A branch that matches has nothing to say.
            let matched = context.iter().filter(|branch| branch.is_empty()).count();
            add(
                format!("\"{here}\" must match exactly one oneOf branch (matched {matched})"),
                None,
            );
        }
        _ => {
            let text = error.masked_with("the value").to_string();
            add(
                format!("\"{here}\": {}", printable(&text, MAX_QUOTED)),
                None,
            );
        }
    }
}

fn type_words(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(kind) => with_article(&kind.to_string()),
        TypeKind::Multiple(kinds) => {
            let mut kinds: Vec<String> = kinds
                .iter()
                .map(|kind| with_article(&kind.to_string()))
                .collect();
            // What is wanted comes before that it may be left out.
            kinds.sort_by_key(|kind| kind == "null");
            kinds.join(" or ")
        }
    }
}

fn with_article(kind: &str) -> String {
    match kind {
        "null" => kind.to_owned(),
        "object" | "array" | "integer" => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}

/// A bounded echo of a value. However large the value is, only the beginning
/// of it is written.
pub(super) fn quoted(value: &Value) -> String {
    let mut head = Head(Vec::new());
    let whole = serde_json::to_writer(&mut head, value).is_ok();
    let text = String::from_utf8_lossy(&head.0);
    let mut shown = printable(&text, MAX_QUOTED);
    if !whole && let Some(end) = shown.rfind('…') {
        // How much is missing was not looked at.
        shown.truncate(end + '…'.len_utf8());
    }
    shown
}

/// Takes as many bytes as an echo can show, and one character more.
struct Head(Vec<u8>);

impl io::Write for Head {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        const ROOM: usize = 4 * (MAX_QUOTED + 1);
        let room = ROOM - self.0.len();
        if room == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let taken = bytes.len().min(room);
        self.0.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
