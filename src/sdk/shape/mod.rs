//! What a schema says of a value's type, in a form that is easy to write
//! down: a flat list of nodes that refer to each other by place, so that
//! however deep a schema is, nothing recurses.

mod keywords;
mod read;

use serde_json::Value;

pub(super) use self::read::read;

/// The place of a node.
pub(super) type Id = usize;

/// The nodes of one schema; the first is the schema itself.
#[derive(Debug)]
pub(super) struct Shapes<'a>(Vec<Shape<'a>>);

/// One node.
#[derive(Debug)]
pub(super) enum Shape<'a> {
    /// Any JSON.
    Any,
    /// Nothing at all.
    Never,
    Null,
    Boolean,
    Integer,
    Number,
    String,
    /// One of these scalars.
    Literals(Vec<&'a Value>),
    /// A list of such items; of anything without one.
    List(Option<Id>),
    /// One of at least two.
    Union(Vec<Id>),
    Object(Object<'a>),
}

#[derive(Debug)]
pub(super) struct Object<'a> {
    /// The required ones as the schema lists them, then the others by name.
    pub(super) fields: Vec<Field<'a>>,
    pub(super) rest: Rest,
}

/// What an object may hold besides its fields.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rest {
    Nothing,
    Anything,
    /// Values of this type.
    Of(Id),
}

#[derive(Debug)]
pub(super) struct Field<'a> {
    pub(super) name: &'a str,
    pub(super) description: Option<&'a str>,
    pub(super) required: bool,
    pub(super) shape: Id,
}

/// A schema, or a part of one, that is not what JSON Schema allows or refers
/// to what cannot be found.
#[derive(Debug)]
pub(super) struct Unreadable;

impl<'a> Shapes<'a> {
    /// The place of the schema itself.
    pub(super) const ROOT: Id = 0;

    pub(super) fn get(&self, id: Id) -> &Shape<'a> {
        &self.0[id]
    }

    /// The branches of a union, those of unions in it as well, in order; any
    /// other node alone.
    pub(super) fn branches(&self, id: Id) -> Vec<Id> {
        let mut branches = Vec::new();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            match self.get(id) {
                Shape::Union(ids) => open.extend(ids.iter().rev()),
                _ => branches.push(id),
            }
        }
        branches
    }
}
