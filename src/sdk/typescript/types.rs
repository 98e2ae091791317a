//! Schemas as TypeScript types.

use std::fmt::Write as _;

use serde_json::Value;

use super::super::shape::{Field, Id, Object, Rest, Shape, Shapes, read};
use super::super::{number, prose};

/// Lists and objects inside of each other beyond so many are any JSON:
/// compilers recurse, and indentation grows with the square of the depth.
const MAX_NESTING: usize = 180;
/// An object whose rest is anything.
const OPEN: &str = "Record<string, JsonValue>";

/// The type of what `schema` describes, its lines after the first one
/// indented by `indent` steps of two spaces. `unknown` for what is no schema.
pub(super) fn type_at(schema: &Value, indent: usize) -> String {
    match read(schema) {
        Ok(shapes) => Writer::new(&shapes).write(indent),
        Err(_) => "unknown".to_owned(),
    }
}

/// A name as the key of a property: bare where it is a plain identifier.
pub(super) fn key(name: &str) -> String {
    let mut bytes = name.bytes();
    let starts = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$';
    let plain =
        bytes.next().is_some_and(starts) && bytes.all(|byte| starts(byte) || byte.is_ascii_digit());
    if plain {
        name.to_owned()
    } else {
        prose::quoted(name)
    }
}

/// The line of a comment, or nothing for a blank description.
pub(super) fn comment(description: &str, indent: usize, out: &mut String) {
    let line = prose::one_line(description);
    if !line.is_empty() {
        pad(indent, out);
        let _ = writeln!(out, "/** {} */", line.replace("*/", "*\\/"));
    }
}

pub(super) fn pad(indent: usize, out: &mut String) {
    for _ in 0..indent {
        out.push_str("  ");
    }
}

/// What is still to be written.
enum Step<'s, 'a> {
    Text(&'static str),
    Type(Id, Level),
    /// The last line of an object.
    Close(Level),
    Field(&'s Field<'a>, Level),
}

#[derive(Clone, Copy)]
struct Level {
    indent: usize,
    nesting: usize,
}

impl Level {
    fn list(self) -> Self {
        Self {
            nesting: self.nesting + 1,
            ..self
        }
    }

    fn object(self) -> Self {
        Self {
            indent: self.indent + 1,
            nesting: self.nesting + 1,
        }
    }
}

struct Writer<'s, 'a> {
    shapes: &'s Shapes<'a>,
    out: String,
    steps: Vec<Step<'s, 'a>>,
}

impl<'s, 'a> Writer<'s, 'a> {
    fn new(shapes: &'s Shapes<'a>) -> Self {
        Self {
            shapes,
            out: String::new(),
            steps: Vec::new(),
        }
    }

    fn write(mut self, indent: usize) -> String {
        let nesting = 0;
        let root = Step::Type(Shapes::ROOT, Level { indent, nesting });
        self.steps.push(root);
        while let Some(step) = self.steps.pop() {
            match step {
                Step::Text(text) => self.out.push_str(text),
                Step::Type(id, level) => self.type_of(id, level),
                Step::Field(field, level) => self.field(field, level),
                Step::Close(level) => {
                    pad(level.indent, &mut self.out);
                    self.out.push('}');
                }
            }
        }
        self.out
    }

    fn type_of(&mut self, id: Id, level: Level) {
        let text = match self.shapes.get(id) {
            Shape::Any => "JsonValue",
            Shape::Never => "never",
            Shape::Null => "null",
            Shape::Boolean => "boolean",
            Shape::Integer | Shape::Number => "number",
            Shape::String => "string",
            Shape::Literals(values) => {
                for (place, value) in values.iter().enumerate() {
                    if place > 0 {
                        self.out.push_str(" | ");
                    }
                    self.out.push_str(&literal(value));
                }
                return;
            }
            Shape::Union(ids) => {
                for (place, id) in ids.iter().enumerate().rev() {
                    self.steps.push(Step::Type(*id, level));
                    if place > 0 {
                        self.steps.push(Step::Text(" | "));
                    }
                }
                return;
            }
            Shape::List(_) if level.nesting >= MAX_NESTING => "JsonValue",
            Shape::List(None) => "JsonValue[]",
            Shape::List(Some(item)) => {
                let inner = level.list();
                let (before, after) = if self.is_compound(*item, inner) {
                    ("(", ")[]")
                } else {
                    ("", "[]")
                };
                self.out.push_str(before);
                self.steps.push(Step::Text(after));
                self.steps.push(Step::Type(*item, inner));
                return;
            }
            Shape::Object(object) => return self.object(object, level),
        };
        self.out.push_str(text);
    }

    fn object(&mut self, object: &'s Object<'a>, level: Level) {
        match (object.fields.is_empty(), object.rest) {
            _ if level.nesting >= MAX_NESTING => self.out.push_str(OPEN),
            (true, Rest::Nothing) => self.out.push_str("Record<string, never>"),
            (true, Rest::Anything) => self.out.push_str(OPEN),
            (true, Rest::Of(id)) => {
                self.out.push_str("Record<string, ");
                self.steps.push(Step::Text(">"));
                self.steps.push(Step::Type(id, level.list()));
            }
            (false, rest) => {
                self.out.push_str("{\n");
                if !matches!(rest, Rest::Nothing) {
                    // The fields need not be of the type of the rest.
                    self.steps.push(Step::Text(" & Record<string, JsonValue>"));
                }
                self.steps.push(Step::Close(level));
                let field = |field| Step::Field(field, level.object());
                self.steps.extend(object.fields.iter().rev().map(field));
            }
        }
    }

    fn field(&mut self, field: &Field<'a>, level: Level) {
        if let Some(description) = field.description {
            comment(description, level.indent, &mut self.out);
        }
        pad(level.indent, &mut self.out);
        self.out.push_str(&key(field.name));
        self.out.push_str(if field.required { ": " } else { "?: " });
        self.steps.push(Step::Text(";\n"));
        self.steps.push(Step::Type(field.shape, level));
    }

    /// Whether the type is a union or an intersection, which `[]` would
    /// split.
    fn is_compound(&self, id: Id, level: Level) -> bool {
        match self.shapes.get(id) {
            Shape::Union(_) => true,
            Shape::Literals(values) => values.len() > 1,
            Shape::Object(object) => {
                level.nesting < MAX_NESTING
                    && !object.fields.is_empty()
                    && !matches!(object.rest, Rest::Nothing)
            }
            _ => false,
        }
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => prose::quoted(text),
        Value::Number(number) => number::text(number).unwrap_or_default(),
        other => other.to_string(),
    }
}
