//! What a call looks like before it has a result.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::DiffEntry;
use super::narrow::some;
use crate::ContentBlock;

/// What kind of thing a call does, for an icon or a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kind {
    /// Looks at something.
    Read,
    /// Changes something.
    Edit,
    /// Takes something away.
    Delete,
    /// Puts something elsewhere.
    Move,
    /// Looks for something.
    Search,
    /// Runs something.
    Execute,
    /// Gets something from elsewhere.
    Fetch,
    /// None of these.
    Other,
}

/// A place in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The file.
    pub path: String,
    /// The line, counted from 1.
    #[serde(
        default,
        deserialize_with = "some",
        skip_serializing_if = "Option::is_none"
    )]
    pub line: Option<u64>,
}

impl Location {
    /// A file, at no line.
    pub fn of(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            line: None,
        }
    }
}

/// What a call looks like. Its JSON names the shape in `card`.
///
/// What searches, reads and web tools find is not known at the time of the
/// call, so their calls are [generic](Self::Generic).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "card", rename_all = "lowercase")]
#[non_exhaustive]
pub enum CallCard {
    /// A title, and what goes with it.
    Generic(GenericCall),
    /// A command line.
    Terminal(TerminalCall),
    /// Changes of files.
    Diff(DiffCall),
}

impl CallCard {
    /// The title.
    pub fn title(&self) -> &str {
        match self {
            Self::Generic(card) => &card.title,
            Self::Terminal(card) => &card.title,
            Self::Diff(card) => &card.title,
        }
    }
}

/// A call with a title, and what goes with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GenericCall {
    /// What the call does, in a few words.
    pub title: String,
    /// What kind of thing that is.
    #[serde(
        default,
        deserialize_with = "some",
        skip_serializing_if = "Option::is_none"
    )]
    pub kind: Option<Kind>,
    /// What of the arguments is worth seeing as it is.
    #[serde(
        default,
        deserialize_with = "some",
        skip_serializing_if = "Option::is_none"
    )]
    pub raw_input: Option<Value>,
    /// More to see.
    #[serde(
        default,
        deserialize_with = "some",
        skip_serializing_if = "Option::is_none"
    )]
    pub content: Option<Vec<ContentBlock>>,
    /// The places it is about.
    #[serde(
        default,
        deserialize_with = "some",
        skip_serializing_if = "Option::is_none"
    )]
    pub locations: Option<Vec<Location>>,
}

impl GenericCall {
    /// A title alone.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            ..Self::default()
        }
    }

    /// Says what kind of thing the call does.
    pub fn kind(mut self, kind: Kind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Shows something of the arguments as it is.
    pub fn raw_input(mut self, raw: impl Into<Value>) -> Self {
        self.raw_input = Some(raw.into());
        self
    }

    /// Shows a text under the title.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.content = Some(vec![ContentBlock::text(text)]);
        self
    }

    /// Adds a place.
    pub fn at(mut self, location: Location) -> Self {
        self.locations.get_or_insert_default().push(location);
        self
    }
}

/// A call that runs a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalCall {
    /// The command line.
    pub title: String,
    /// What it is for.
    #[serde(
        default,
        deserialize_with = "some",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<String>,
    /// The folder that it runs in, as the call gave it.
    #[serde(
        default,
        deserialize_with = "some",
        skip_serializing_if = "Option::is_none"
    )]
    pub cwd: Option<String>,
}

/// A call that changes files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffCall {
    /// What the call does, in a few words.
    pub title: String,
    /// The changes.
    pub diffs: Vec<DiffEntry>,
    /// The places it is about.
    #[serde(
        default,
        deserialize_with = "some",
        skip_serializing_if = "Option::is_none"
    )]
    pub locations: Option<Vec<Location>>,
}
