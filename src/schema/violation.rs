//! What is wrong with a value, in words a model can act on.

use std::collections::HashSet;

use jsonschema::Validator;
use serde_json::Value;
use toolfall_layers::printable;

use super::words::{MAX_QUOTED, quoted, translate};

/// More violations than this are not reported.
pub const MAX_VIOLATIONS: usize = 20;
/// Violations looked at before they are put in order.
const MAX_COLLECTED: usize = 200;

/// One violation of a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub(super) message: String,
    pub(super) pointer: String,
    pub(super) keyword: String,
    pub(super) found: String,
    pub(super) order: Vec<(u8, String)>,
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

    /// Quotes what stands in `shown` in the place of what was found: a view of
    /// the value in which something is hidden.
    pub(crate) fn find_in(&mut self, shown: &Value) {
        self.found = match shown.pointer(&self.pointer) {
            Some(found) => quoted(found),
            None => toolfall_layers::redaction::REDACTED.to_owned(),
        };
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

    /// The value is larger than can be held against its schema.
    pub(super) fn too_much(root: Root<'_>, value: &Value) -> Self {
        Self {
            message: format!(
                "\"{}\" holds too many values to be validated",
                root.shown(&root.path())
            ),
            ..Self::somewhere(root, value)
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
    pub(super) fn path(self) -> String {
        match self {
            Self::Named(name) => name.to_owned(),
            Self::Arguments => String::new(),
        }
    }

    /// A path as messages show it: property names are the model's words.
    pub(super) fn shown(self, path: &str) -> String {
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
