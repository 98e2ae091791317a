//! The classes of a tool's objects.

use std::fmt::Write as _;

use serde_json::Value;

use super::super::prose;
use super::super::shape::{Id, Rest, Shape, Shapes, read};
use super::names::{self, Taken};
use super::types::{self, Classes, Used};

/// What is declared so far.
#[derive(Debug)]
pub(super) struct Declared {
    pub(super) classes: String,
    pub(super) used: Used,
    taken: Taken,
}

/// What is still to be declared.
enum Step {
    /// A class, after those that it needs.
    Class(Id, String),
    /// The finished text of one.
    Text(String),
}

impl Declared {
    /// Nothing yet, beside tools that are `methods`.
    pub(super) fn beside<'n>(methods: impl Iterator<Item = &'n str>) -> Self {
        Self {
            classes: String::new(),
            used: Used::default(),
            taken: Taken::new(methods),
        }
    }

    /// The type of `schema`, whose class is called `name`; its classes are
    /// declared, each after those that it names. `Any` without a schema, and
    /// for what is none.
    pub(super) fn position(&mut self, schema: Option<&Value>, name: &str) -> String {
        let Some(Ok(shapes)) = schema.map(read) else {
            self.used.any = true;
            return "Any".to_owned();
        };
        let (mut text, mut steps) = (String::new(), Vec::new());
        self.write(&shapes, (Shapes::ROOT, 0), name, &mut text, &mut steps);
        steps.reverse();
        while let Some(step) = steps.pop() {
            match step {
                Step::Text(text) => self.classes.push_str(&text),
                Step::Class(id, name) => {
                    let mut inner = Vec::new();
                    let text = self.class(&shapes, id, &name, &mut inner);
                    steps.push(Step::Text(text));
                    steps.extend(inner.into_iter().rev());
                }
            }
        }
        text
    }

    fn write(
        &mut self,
        shapes: &Shapes<'_>,
        at: (Id, usize),
        name: &str,
        out: &mut String,
        steps: &mut Vec<Step>,
    ) {
        let mut found = Vec::new();
        let classes = Classes::Named {
            taken: &mut self.taken,
            found: &mut found,
        };
        types::write(shapes, at, name, classes, &mut self.used, out);
        steps.extend(found.into_iter().map(|(id, name)| Step::Class(id, name)));
    }

    /// The text of one class; those in it go to `inner`.
    fn class(&mut self, shapes: &Shapes<'_>, id: Id, name: &str, inner: &mut Vec<Step>) -> String {
        let mut out = format!("class {name}(TypedDict):\n");
        let Shape::Object(object) = shapes.get(id) else {
            return out;
        };
        for field in &object.fields {
            let description = field.description.map(prose::one_line).unwrap_or_default();
            if !description.is_empty() {
                let _ = writeln!(out, "    # {description}");
            }
            let _ = write!(out, "    {}: ", field.name);
            let class = names::joined(name, &names::pascal(field.name));
            if !field.required {
                self.used.not_required = true;
                out.push_str("NotRequired[");
            }
            self.write(shapes, (field.shape, 1), &class, &mut out, inner);
            out.push_str(if field.required { "\n" } else { "]\n" });
        }
        match (object.fields.is_empty(), object.rest) {
            (true, _) => out.push_str("    pass\n"),
            (false, Rest::Nothing) => {}
            (false, _) => {
                out.push_str("    # Additional keys beyond those declared are allowed.\n");
            }
        }
        out.push('\n');
        out
    }
}
