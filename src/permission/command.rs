//! The command by which people see and switch presets.

use super::{SelectError, SessionPermission};
use crate::ContextMessage;
use crate::session::LogError;

/// What a command did.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandAnswer {
    /// A line for the person.
    pub text: String,
    /// What the agent is to be told, if something changed that concerns it.
    pub notice: Option<ContextMessage>,
}

/// Why a command did nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// There is no such preset. Nothing was recorded.
    #[error("unknown preset {found:?} (available: {available})")]
    Unknown {
        /// The name.
        found: String,
        /// The names there are, joined by commas.
        available: String,
    },
    /// A record could not be written: see [`SelectError::Log`].
    #[error(transparent)]
    Log(#[from] LogError),
}

impl SessionPermission {
    /// Answers `/permission NAME`, given what follows the command's own name:
    /// switches to the preset, or without a name says which is the current
    /// one. Blocks for up to three writes.
    ///
    /// # Errors
    ///
    /// [`CommandError`], whose text is for the person.
    pub fn command(&self, argument: &str) -> Result<CommandAnswer, CommandError> {
        let name = argument.trim();
        let available = || {
            let names: Vec<&str> = self.presets().table().names().collect();
            names.join(", ")
        };
        if name.is_empty() {
            let (current, available) = (self.current(), available());
            return Ok(CommandAnswer {
                text: format!("current preset {current} (available: {available})"),
                notice: None,
            });
        }
        match self.select(name) {
            Ok(notice) => Ok(CommandAnswer {
                text: format!("preset {name}"),
                notice,
            }),
            Err(SelectError::Unknown(unknown)) => Err(CommandError::Unknown {
                found: unknown.found,
                available: available(),
            }),
            Err(SelectError::Log(error)) => Err(error.into()),
        }
    }
}
