//! What is wrong with a value, in words a model can act on.

use std::fmt::Write as _;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::paths::LocationSegment;
use jsonschema::{ValidationError, Validator};
use serde_json::Value;

/// More violations than this are not reported.
pub const MAX_VIOLATIONS: usize = 20;
/// Violations looked at before they are put in order.
const MAX_COLLECTED: usize = 200;
/// Characters of a value, or of a validator's message, that are quoted.
const MAX_QUOTED: usize = 120;

/// One violation of a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    message: String,
    pointer: String,
    found: String,
    order: Vec<(u8, String)>,
}

impl Violation {
    /// What is wrong, with a dotted path.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Where, as a JSON pointer into the value.
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// A bounded echo of what was found there.
    pub fn found(&self) -> &str {
        &self.found
    }

    pub(super) fn wrong_type(root: &str, value: &Value) -> Self {
        Self {
            message: format!("\"{root}\" must be a string"),
            pointer: String::new(),
            found: quoted(value),
            order: Vec::new(),
        }
    }
}

impl AsRef<str> for Violation {
    fn as_ref(&self) -> &str {
        &self.message
    }
}

pub(super) fn collect(validator: &Validator, root: &str, value: &Value) -> Vec<Violation> {
    let mut violations = Vec::new();
    for error in validator.iter_errors(value).take(MAX_COLLECTED) {
        translate(root, value, &error, &mut violations);
    }
    violations.sort_by(|a, b| a.order.cmp(&b.order));
    violations.dedup();
    violations.truncate(MAX_VIOLATIONS);
    violations
}

fn translate(root: &str, whole: &Value, error: &ValidationError<'_>, out: &mut Vec<Violation>) {
    // The last mark says: 0 missing, 1 a property, 2 not declared.
    let mut order = Vec::new();
    let mut path = String::new();
    for segment in error.instance_path() {
        match segment {
            LocationSegment::Property(name) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&name);
                order.push((1, name.to_string()));
            }
            LocationSegment::Index(index) => {
                let _ = write!(path, "[{index}]");
                order.push((1, format!("{index:012}")));
            }
        }
    }
    let pointer = error.instance_path().to_string();
    let at = whole.pointer(&pointer).unwrap_or(&Value::Null);
    let inner = |name: &str| {
        if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}.{name}")
        }
    };
    let here = if path.is_empty() { root } else { &path };
    let mut add = |message: String, mark: Option<(u8, String)>| {
        let mut order = order.clone();
        order.extend(mark);
        out.push(Violation {
            message,
            pointer: pointer.clone(),
            found: quoted(at),
            order,
        });
    };
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            add(
                format!("missing required property \"{}\"", inner(name)),
                Some((0, name.to_owned())),
            );
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            for name in unexpected {
                add(
                    format!(
                        "\"{}\" is not a declared property (additionalProperties: false)",
                        inner(name)
                    ),
                    Some((2, name.clone())),
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
        ValidationErrorKind::OneOfNotValid { .. } => add(
            format!("\"{here}\" must match exactly one oneOf branch (matched 0)"),
            None,
        ),
        ValidationErrorKind::OneOfMultipleValid { .. } => add(
            format!("\"{here}\" must match exactly one oneOf branch (matched more than one)"),
            None,
        ),
        _ => {
            let mut text = error.masked_with("the value").to_string();
            cut(&mut text);
            add(format!("\"{here}\": {text}"), None);
        }
    }
}

fn type_words(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(kind) => with_article(&kind.to_string()),
        TypeKind::Multiple(kinds) => {
            let kinds: Vec<String> = kinds
                .iter()
                .map(|kind| with_article(&kind.to_string()))
                .collect();
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

/// A bounded echo of a value, free of control characters (JSON escapes them).
fn quoted(value: &Value) -> String {
    let mut text = value.to_string();
    cut(&mut text);
    text
}

pub(super) fn cut(text: &mut String) {
    if let Some((end, _)) = text.char_indices().nth(MAX_QUOTED) {
        let more = text[end..].chars().count();
        text.truncate(end);
        let _ = write!(text, "… (+{more} more chars)");
    }
}
