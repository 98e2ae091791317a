//! What a model reads of a program's end.

use std::fmt::Write as _;

use serde_json::{Map, Number, Value};

/// Containers inside so many others are written on one line: indentation
/// beyond it costs more than it shows.
const PRETTY: usize = 5;

/// A value as a model reads it: text as it is, everything else as JSON,
/// indented by two spaces, and on one line inside of five containers.
///
/// Numbers follow one rule wherever programs' values are written: a number
/// without a fraction is written as an integer, with all its digits, also
/// where it is kept as a float; any other one as JSON writes it.
///
/// Nothing recurses, so a value may be as deep as it likes.
///
/// ```
/// use serde_json::json;
/// use toolfall::code::rendered;
///
/// assert_eq!(rendered(&json!("plain")), "plain");
/// assert_eq!(rendered(&json!({"n": 42.0, "list": []})), "{\n  \"list\": [],\n  \"n\": 42\n}");
/// ```
pub fn rendered(value: &Value) -> String {
    if let Value::String(text) = value {
        return text.clone();
    }
    let mut out = String::new();
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut next = Some(value);
    loop {
        if let Some(value) = next.take() {
            match value {
                Value::Array(items) if !items.is_empty() => {
                    out.push('[');
                    open.push(Open::list(items));
                }
                Value::Object(members) if !members.is_empty() => {
                    out.push('{');
                    open.push(Open::object(members));
                }
                Value::Array(_) => out.push_str("[]"),
                Value::Object(_) => out.push_str("{}"),
                Value::Number(written) => number(written, &mut out),
                // Scalars do not recurse.
                scalar => out.push_str(&scalar.to_string()),
            }
        }
        let depth = open.len();
        let Some(innermost) = open.last_mut() else {
            return out;
        };
        if let Some((name, item, first)) = innermost.next() {
            if !first {
                out.push(',');
            }
            line(&mut out, depth, depth);
            if let Some(name) = name {
                out.push_str(&Value::from(name).to_string());
                out.push_str(if depth <= PRETTY { ": " } else { ":" });
            }
            next = Some(item);
        } else {
            line(&mut out, depth, depth - 1);
            out.push(innermost.end());
            open.pop();
        }
    }
}

/// Breaks the line inside a container that is inside `depth - 1` others.
fn line(out: &mut String, depth: usize, indent: usize) {
    if depth <= PRETTY {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", indent));
    }
}

fn number(number: &Number, out: &mut String) {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.is_finite() && float.fract() == 0.0 => {
            // Writing to a string cannot fail.
            let _ = write!(out, "{float:.0}");
        }
        _ => out.push_str(&number.to_string()),
    }
}

/// A container of which some has been written.
struct Open<'a> {
    items: Items<'a>,
    first: bool,
}

enum Items<'a> {
    List(std::slice::Iter<'a, Value>),
    Object(serde_json::map::Iter<'a>),
}

impl<'a> Open<'a> {
    fn list(items: &'a [Value]) -> Self {
        Self {
            items: Items::List(items.iter()),
            first: true,
        }
    }

    fn object(members: &'a Map<String, Value>) -> Self {
        Self {
            items: Items::Object(members.iter()),
            first: true,
        }
    }

    /// The next item with its name, and whether it is the first.
    fn next(&mut self) -> Option<(Option<&'a str>, &'a Value, bool)> {
        let first = std::mem::replace(&mut self.first, false);
        match &mut self.items {
            Items::List(items) => items.next().map(|item| (None, item, first)),
            Items::Object(members) => {
                let (name, item) = members.next()?;
                Some((Some(name), item, first))
            }
        }
    }

    const fn end(&self) -> char {
        match self.items {
            Items::List(_) => ']',
            Items::Object(_) => '}',
        }
    }
}

/// What is shown where there is nothing to show.
const NOTHING: &str = "(run_code completed with no output)";

/// What a model reads of a program that came to its end: what it printed, and
/// below what it returned.
pub(super) fn output(value: &Value) -> String {
    let logs = value.get("logs").and_then(Value::as_array);
    let logs: Vec<&str> = logs
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let printed = logs.join("\n");
    let returned = value.get("result").map(rendered).unwrap_or_default();
    match (&*printed, &*returned) {
        ("", "") => NOTHING.to_owned(),
        (_, "") => printed,
        ("", _) => returned,
        (printed, returned) => format!("{printed}\n{returned}"),
    }
}
