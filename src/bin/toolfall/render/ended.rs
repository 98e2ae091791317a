//! What ended a run before its batches did.

use std::fmt;

use toolfall::policy::budget::Exceeded;

use super::line::EndedLine;
use super::safe;

/// What ended a run before its batches did.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) why: Ending,
    /// How many batches that were read were not begun.
    pub(crate) not_begun: u64,
}

#[derive(Clone, Debug)]
pub(crate) enum Ending {
    /// A budget was exceeded.
    Budget(Exceeded),
    /// A person refused a call of this tool, and ended the run with that.
    Person(String),
}

impl Ended {
    pub(super) fn line(&self) -> EndedLine {
        let (by, exceeded) = match &self.why {
            Ending::Budget(exceeded) => ("budget", Some(exceeded)),
            Ending::Person(_) => ("person", None),
        };
        EndedLine {
            by,
            budget: exceeded.map(|exceeded| exceeded.budget.as_str()),
            message: self.why.to_string(),
            limit: exceeded.map(|exceeded| exceeded.limit),
            not_begun: self.not_begun,
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Budget(exceeded) => exceeded.fmt(f),
            Self::Person(tool) => write!(
                f,
                "the user rejected tool \"{}\" and ended it",
                safe(tool, 200)
            ),
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the run has ended: {}", self.why)?;
        match self.not_begun {
            0 => Ok(()),
            1 => f.write_str("; 1 more batch was not begun"),
            more => write!(f, "; {more} more batches were not begun"),
        }
    }
}
