//! What is wrong with a value, in words a model can act on.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::paths::LocationSegment;
use jsonschema::{ValidationError, Validator};
use serde_json::Value;
use toolfall_layers::printable;

/// More violations than this are not reported.
pub const MAX_VIOLATIONS: usize = 20;
/// Violations looked at before they are put in order.
const MAX_COLLECTED: usize = 200;
/// Characters of a value, a path or a validator's message that are quoted.
const MAX_QUOTED: usize = 120;
/// Ways through a recursive schema that are tried to tell what is wrong.
const MAX_WAYS: u64 = 10_000;

/// One violation of a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    message: String,
    pointer: String,
    keyword: String,
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

    /// The schema's keyword that is violated, `required` for instance.
    pub fn keyword(&self) -> &str {
        &self.keyword
    }

    /// A bounded echo of what was found there.
    pub fn found(&self) -> &str {
        &self.found
    }

    /// The value is wrong, and it would take too long to say where.
    pub(super) fn somewhere(root: Root<'_>, value: &Value) -> Self {
        Self {
            message: format!("\"{}\" does not match its schema", root.shown(&root.path())),
            pointer: String::new(),
            keyword: "$ref".to_owned(),
            found: quoted(value),
            order: Vec::new(),
        }
    }

    pub(super) fn not_text(root: Root<'_>, value: &Value) -> Self {
        Self {
            message: format!("\"{}\" must be a string", root.shown("")),
            pointer: String::new(),
            keyword: "type".to_owned(),
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

/// What stands before the paths in messages.
#[derive(Clone, Copy)]
pub(super) enum Root<'a> {
    /// Every path begins with this name.
    Named(&'a str),
    /// A call's arguments: only the whole is named.
    Arguments,
}

impl Root<'_> {
    fn path(self) -> String {
        match self {
            Self::Named(name) => name.to_owned(),
            Self::Arguments => String::new(),
        }
    }

    /// A path as messages show it: property names are the model's words.
    fn shown(self, path: &str) -> String {
        match self {
            Self::Arguments if path.is_empty() => "arguments".to_owned(),
            Self::Named(name) if path.is_empty() => name.to_owned(),
            _ => printable(path, MAX_QUOTED),
        }
    }
}

pub(super) fn collect(validator: &Validator, root: Root<'_>, value: &Value) -> Vec<Violation> {
    let mut violations = Vec::new();
    for error in validator.iter_errors(value).take(MAX_COLLECTED) {
        translate(root, &error, &mut violations);
    }
    drop_consequences(&mut violations);
    // Stable: what is missing stays in the order of `required`.
    violations.sort_by(|a, b| a.order.cmp(&b.order));
    violations.dedup();
    violations.truncate(MAX_VIOLATIONS);
    // Only now: a value may be large, and it is quoted once per violation.
    for violation in &mut violations {
        violation.found = quoted(value.pointer(&violation.pointer).unwrap_or(&Value::Null));
    }
    violations
}

/// Whether the violations of `value` can be told in reasonable time, where
/// `recursive` references lead back: at each level of the value each of them
/// may be tried anew.
pub(super) fn is_tellable(recursive: u64, value: &Value) -> bool {
    let mut ways = 1_u64;
    let mut level = vec![value];
    while recursive > 1 && !level.is_empty() {
        ways = ways.saturating_mul(recursive);
        if ways > MAX_WAYS {
            return false;
        }
        let mut below = Vec::new();
        for value in level {
            match value {
                Value::Array(items) => below.extend(items.iter().filter(|item| is_nested(item))),
                Value::Object(map) => below.extend(map.values().filter(|item| is_nested(item))),
                _ => {}
            }
        }
        level = below;
    }
    true
}

fn is_nested(value: &Value) -> bool {
    value.is_array() || value.is_object()
}

/// A value of the wrong type is not told that it is none of the listed ones
/// either, and one that is not listed not that it is not the only one.
fn drop_consequences(violations: &mut Vec<Violation>) {
    let told = |keyword: &str, violations: &[Violation]| -> HashSet<String> {
        violations
            .iter()
            .filter(|violation| violation.keyword == keyword)
            .map(|violation| violation.pointer.clone())
            .collect()
    };
    let (types, enums) = (told("type", violations), told("enum", violations));
    violations.retain(|violation| match &*violation.keyword {
        "enum" => !types.contains(&violation.pointer),
        "const" => !types.contains(&violation.pointer) && !enums.contains(&violation.pointer),
        _ => true,
    });
}

const MISSING: u8 = 0;
const WITHIN: u8 = 1;
const UNDECLARED: u8 = 2;

fn translate(root: Root<'_>, error: &ValidationError<'_>, out: &mut Vec<Violation>) {
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
fn quoted(value: &Value) -> String {
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
