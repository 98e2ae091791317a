//! What became of a definition.

use std::fmt;

use crate::mcp::tool::digest::Digests;
use crate::mcp::tool::public_name;

/// What became of the definition of one tool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DefinitionChange {
    /// The server's name, as the host gave it.
    pub server: String,
    /// The tool's name, as the server gave it.
    pub tool: String,
    /// The name that a model calls.
    pub public_name: String,
    /// The digest of the definition as it is now; of one that is gone, as it
    /// was.
    pub digest: String,
    /// What became of it.
    pub kind: ChangeKind,
}

impl DefinitionChange {
    pub(super) fn new(server: &str, tool: &str, digest: &str, kind: ChangeKind) -> Self {
        Self {
            server: server.to_owned(),
            tool: tool.to_owned(),
            public_name: public_name(server, tool),
            digest: digest.to_owned(),
            kind,
        }
    }
}

/// What became of a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeKind {
    /// It is new, or back as it was accepted.
    Added,
    /// It differs in these parts.
    Changed(Vec<ChangedPart>),
    /// It is no longer listed. What was accepted stays known.
    Removed,
    /// It is new, and the ledger has no room for it.
    LeftOut,
}

/// A part of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChangedPart {
    /// The name for people.
    Title,
    /// What the tool is said to do.
    Description,
    /// The schema of the arguments.
    Schema,
    /// The schema of structured content.
    OutputSchema,
    /// The hints of how it behaves.
    Annotations,
    /// How it wants to be run.
    Execution,
}

impl ChangedPart {
    /// In the order in which digests are taken.
    const ALL: [Self; 6] = [
        Self::Title,
        Self::Description,
        Self::Schema,
        Self::OutputSchema,
        Self::Annotations,
        Self::Execution,
    ];

    pub(super) fn between(old: &Digests, new: &Digests) -> Vec<Self> {
        let parts = old.parts().iter().zip(new.parts());
        let parts = parts.zip(Self::ALL);
        parts
            .filter_map(|((old, new), part)| (old != new).then_some(part))
            .collect()
    }

    /// A stable name, for people and records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Description => "description",
            Self::Schema => "schema",
            Self::OutputSchema => "output schema",
            Self::Annotations => "annotations",
            Self::Execution => "execution",
        }
    }
}

impl fmt::Display for ChangedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
