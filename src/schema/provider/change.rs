//! The report of a projection.

use std::fmt;

/// What a change does to the set of values that a schema accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Accepts {
    /// The same values as before, `null` for what is left out not counted.
    Same,
    /// Perhaps more: the provider cannot say what the schema says.
    More,
    /// Fewer: what the provider cannot say is not offered to the model.
    Less,
}

/// One thing that is not as in the schema.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    pointer: String,
    keyword: String,
    accepts: Accepts,
    why: String,
}

impl Change {
    /// Where in the schema, as a JSON pointer. What stood in a branch of an
    /// `allOf` that was folded is told at the place of the `allOf`.
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// Which keyword was dropped, added or replaced.
    pub fn keyword(&self) -> &str {
        &self.keyword
    }

    /// What it does to the accepted values.
    pub const fn accepts(&self) -> Accepts {
        self.accepts
    }

    /// Why.
    pub fn why(&self) -> &str {
        &self.why
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "at \"{}\" ({}): {}",
            self.pointer, self.keyword, self.why
        )
    }
}

/// The changes so far.
#[derive(Default)]
pub(super) struct Changes {
    pub(super) list: Vec<Change>,
    /// Bytes of definitions that were folded into what refers to them.
    pub(super) folded: usize,
}

impl Changes {
    pub(super) fn add(&mut self, place: &str, keyword: &str, accepts: Accepts, why: &str) {
        self.list.push(Change {
            pointer: place.to_owned(),
            keyword: keyword.to_owned(),
            accepts,
            why: why.to_owned(),
        });
    }
}

/// The pointer of what is named `name` in `place`.
pub(super) fn below(place: &str, name: &str) -> String {
    let name = name.replace('~', "~0").replace('/', "~1");
    format!("{place}/{name}")
}
