//! What can be limited, and what is said when it is.

use std::collections::BTreeMap;

/// How much a run may spend. What is not set is not limited; a limit of 0
/// admits nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    pub(super) calls: Option<u32>,
    pub(super) each_tool: Option<u32>,
    pub(super) tools: BTreeMap<String, u32>,
    pub(super) failures: Option<u32>,
    pub(super) unknown_names: Option<u32>,
}

impl Limits {
    /// No limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// At most `limit` calls in a run.
    pub fn calls(mut self, limit: u32) -> Self {
        self.calls = Some(limit);
        self
    }

    /// At most `limit` calls of each tool in a run, unless the tool has a
    /// limit of its own.
    ///
    /// A thousand names have counts of their own; further ones, and names of
    /// more than 256 bytes, share one count, since a model can invent names
    /// without end.
    pub fn each_tool(mut self, limit: u32) -> Self {
        self.each_tool = Some(limit);
        self
    }

    /// At most `limit` calls of the tool `name` in a run; the last limit set
    /// for a name counts.
    pub fn tool(mut self, name: impl Into<String>, limit: u32) -> Self {
        self.tools.insert(name.into(), limit);
        self
    }

    /// No further call after `limit` failures in a row.
    pub fn consecutive_failures(mut self, limit: u32) -> Self {
        self.failures = Some(limit);
        self
    }

    /// No further call after `limit` calls in a row of tools that do not
    /// exist.
    pub fn consecutive_unknown_names(mut self, limit: u32) -> Self {
        self.unknown_names = Some(limit);
        self
    }

    /// The limit of calls of the tool `name`.
    pub(super) fn of_tool(&self, name: &str) -> Option<u32> {
        self.tools.get(name).copied().or(self.each_tool)
    }
}

/// What a limit is on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Budget {
    /// Calls in a run.
    Calls,
    /// Calls of one tool in a run; its name, cut if it is long.
    Tool(String),
    /// Failures in a row.
    ConsecutiveFailures,
    /// Calls in a row of tools that do not exist.
    ConsecutiveUnknownNames,
}

impl Budget {
    /// A stable name, for records: who decided a refused call.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Calls => "budget/calls",
            Self::Tool(_) => "budget/tool",
            Self::ConsecutiveFailures => "budget/consecutive-failures",
            Self::ConsecutiveUnknownNames => "budget/consecutive-unknown-names",
        }
    }
}

/// A budget that is spent. Its `Display` is what the model is told.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exceeded {
    /// Which one.
    pub budget: Budget,
    /// Its limit.
    pub limit: u32,
}

impl std::fmt::Display for Exceeded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.budget {
            Budget::Calls => f.write_str("the budget of calls of this run is spent")?,
            Budget::Tool(name) => write!(f, "the budget of calls of tool \"{name}\" is spent")?,
            Budget::ConsecutiveFailures => {
                f.write_str("the budget of failed calls in a row is spent")?;
            }
            Budget::ConsecutiveUnknownNames => {
                f.write_str("the budget of calls in a row of unknown tools is spent")?;
            }
        }
        write!(f, " (limit {})", self.limit)
    }
}

impl std::error::Error for Exceeded {}
