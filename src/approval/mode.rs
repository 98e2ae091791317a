//! Whether questions may be asked at all.

use std::fmt;
use std::str::FromStr;

/// Whether questions may be asked at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ApprovalMode {
    /// Answerers are asked.
    #[default]
    Ask,
    /// Nobody is asked: every question is rejected.
    Never,
}

impl ApprovalMode {
    /// The word used in records and settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Never => "never",
        }
    }

    /// A paragraph for the agent's prompt, always the same for the same mode.
    pub const fn prompt(self) -> &'static str {
        match self {
            Self::Ask => {
                "The approval policy is \"ask\": before some operations somebody may be asked \
                 for permission. If nobody is there to answer, the operation is refused."
            }
            Self::Never => {
                "The approval policy is \"never\": nobody is asked for permission in this \
                 session, and an operation that would need it is rejected. Do not request more \
                 permissions; work with what is allowed."
            }
        }
    }
}

impl fmt::Display for ApprovalMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no [`ApprovalMode`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("approval policy must be one of \"ask\" or \"never\"")]
pub struct UnknownMode {
    /// The word.
    pub found: String,
}

impl FromStr for ApprovalMode {
    type Err = UnknownMode;

    fn from_str(word: &str) -> Result<Self, UnknownMode> {
        match word {
            "ask" => Ok(Self::Ask),
            "never" => Ok(Self::Never),
            _ => Err(UnknownMode {
                found: word.chars().take(64).collect(),
            }),
        }
    }
}
