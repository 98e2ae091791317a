//! Schemas as Python types.

use serde_json::Value;

use super::super::shape::{Id, Object, Rest, Shape, Shapes};
use super::super::{number, prose};
use super::names::{self, Taken};

/// Brackets inside of each other: Python reads at most 200.
const MAX_NESTING: usize = 180;

/// Which names of `typing` were written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    pub(super) any: bool,
    pub(super) literal: bool,
    pub(super) not_required: bool,
}

/// What becomes of an object with fields.
pub(super) enum Classes<'c> {
    /// A dictionary of anything.
    None,
    /// A class: its name is taken, and it is to be declared.
    Named {
        taken: &'c mut Taken,
        /// The classes, in the order in which they are met.
        found: &'c mut Vec<(Id, String)>,
    },
}

enum Step {
    Text(&'static str),
    Type { id: Id, nesting: usize, name: usize },
}

/// Writes the type of `id`, inside of `nesting` brackets already; a class of
/// it is called `name`.
pub(super) fn write(
    shapes: &Shapes<'_>,
    (id, nesting): (Id, usize),
    name: &str,
    mut classes: Classes<'_>,
    used: &mut Used,
    out: &mut String,
) {
    let name = name.to_owned();
    // The names that classes get here, each once.
    let mut hints = vec![name];
    let mut steps = vec![Step::Type {
        id,
        nesting,
        name: 0,
    }];
    while let Some(step) = steps.pop() {
        let (id, nesting, name) = match step {
            Step::Text(text) => {
                out.push_str(text);
                continue;
            }
            Step::Type { id, nesting, name } => (id, nesting, name),
        };
        let text = match shapes.get(id) {
            Shape::Null => "None",
            Shape::Boolean => "bool",
            Shape::Integer => "int",
            Shape::Number => "float",
            Shape::String => "str",
            Shape::Literals(values) => {
                literals(values, used, out);
                continue;
            }
            Shape::Union(_) => {
                let branches = shapes.branches(id);
                let several = matches!(classes, Classes::Named { .. })
                    && branches.iter().filter(|id| has_class(shapes, **id)).count() > 1;
                let mut number = 0;
                let mut next = Vec::with_capacity(branches.len() * 2);
                for (place, id) in branches.into_iter().enumerate() {
                    let mut hint = name;
                    if several && has_class(shapes, id) {
                        number += 1;
                        hint = hints.len();
                        hints.push(names::joined(&hints[name], &number.to_string()));
                    }
                    if place > 0 {
                        next.push(Step::Text(" | "));
                    }
                    next.push(Step::Type {
                        id,
                        nesting,
                        name: hint,
                    });
                }
                steps.extend(next.into_iter().rev());
                continue;
            }
            Shape::List(Some(item)) if nesting < MAX_NESTING => {
                out.push_str("list[");
                steps.push(Step::Text("]"));
                steps.push(Step::Type {
                    id: *item,
                    nesting: nesting + 1,
                    name,
                });
                continue;
            }
            Shape::List(None) if nesting < MAX_NESTING => {
                used.any = true;
                "list[Any]"
            }
            Shape::Object(object) if is_class(object) => match &mut classes {
                Classes::Named { taken, found } => {
                    let name = taken.claim(&hints[name]);
                    out.push_str(&name);
                    found.push((id, name));
                    continue;
                }
                Classes::None => {
                    used.any = true;
                    "dict[str, Any]"
                }
            },
            Shape::Object(Object {
                rest: Rest::Of(of),
                fields,
            }) if fields.is_empty() && nesting < MAX_NESTING => {
                out.push_str("dict[str, ");
                steps.push(Step::Text("]"));
                steps.push(Step::Type {
                    id: *of,
                    nesting: nesting + 1,
                    name,
                });
                continue;
            }
            Shape::Object(_) => {
                used.any = true;
                "dict[str, Any]"
            }
            Shape::Any | Shape::Never | Shape::List(_) => {
                used.any = true;
                "Any"
            }
        };
        out.push_str(text);
    }
}

/// Whether a class can say what an object holds.
fn is_class(object: &Object<'_>) -> bool {
    let says = !object.fields.is_empty() || matches!(object.rest, Rest::Nothing);
    says && object
        .fields
        .iter()
        .all(|field| names::is_field(field.name))
}

/// Whether a branch is written with a class in it, or may be.
fn has_class(shapes: &Shapes<'_>, mut id: Id) -> bool {
    for _ in 0..MAX_NESTING {
        match shapes.get(id) {
            Shape::Object(object) if is_class(object) => return true,
            Shape::Union(_) => return true,
            Shape::List(Some(item)) => id = *item,
            Shape::Object(Object {
                rest: Rest::Of(of),
                fields,
            }) if fields.is_empty() => id = *of,
            _ => return false,
        }
    }
    false
}

fn literals(values: &[&Value], used: &mut Used, out: &mut String) {
    if let [Value::Null] = values {
        out.push_str("None");
        return;
    }
    used.literal = true;
    out.push_str("Literal[");
    for (place, value) in values.iter().enumerate() {
        if place > 0 {
            out.push_str(", ");
        }
        match value {
            Value::String(text) => out.push_str(&prose::quoted(text)),
            Value::Bool(true) => out.push_str("True"),
            Value::Bool(false) => out.push_str("False"),
            Value::Number(number) => out.push_str(&number::text(number).unwrap_or_default()),
            _ => out.push_str("None"),
        }
    }
    out.push(']');
}
