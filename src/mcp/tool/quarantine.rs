//! Tools of a listing that cannot be used.

use std::fmt;

use toolfall_layers::printable;

/// Characters of a server's own words that are repeated.
const ECHO: usize = 120;

/// Why a tool of a listing is kept out of the registry, and where in its
/// definition the reason is. The other tools of the listing are not affected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantine {
    tool: Option<String>,
    pointer: String,
    reason: String,
}

impl Quarantine {
    pub(in crate::mcp) fn new(
        tool: Option<&str>,
        pointer: impl Into<String>,
        reason: impl fmt::Display,
    ) -> Self {
        Self {
            tool: tool.map(|name| printable(name, ECHO)),
            pointer: pointer.into(),
            reason: reason.to_string(),
        }
    }

    /// The tool's name as the server gave it, fit to be printed; `None` where
    /// it has none.
    pub fn tool(&self) -> Option<&str> {
        self.tool.as_deref()
    }

    /// Where in the definition, as a JSON pointer; empty for the whole.
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// What was expected and what was found.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for Quarantine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tool {
            Some(tool) => write!(f, "the tool \"{tool}\" cannot be used")?,
            None => f.write_str("a tool without a usable name cannot be used")?,
        }
        write!(f, ": at \"{}\": {}", self.pointer, self.reason)
    }
}

impl std::error::Error for Quarantine {}
