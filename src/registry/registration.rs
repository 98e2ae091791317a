//! Registering: what is refused, and what a registration holds.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::{Inner, Registry};
use crate::schema::SchemaError;
use crate::tool::{ToolDef, ToolEntry};

/// Longer budgets, in milliseconds, are refused rather than cut: interoperable
/// with hosts whose timers hold 31 bits.
const MAX_BUDGET_MS: u128 = 2_147_483_647;

/// Why a tool cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// There is a tool of that name.
    #[error(
        "tool \"{name}\" is already registered; register a variant for one agent in that agent's \
         scope"
    )]
    NameTaken {
        /// The name.
        name: String,
    },
    /// A name that no model could call.
    #[error(
        "expected a tool name of 1 to 256 characters without control characters, found {found:?}"
    )]
    Name {
        /// The name, cut.
        found: String,
    },
    /// A schema that cannot be used.
    #[error("tool \"{name}\" has a schema that cannot be used")]
    Schema {
        /// The tool's name.
        name: String,
        /// What is wrong, and where.
        #[source]
        error: SchemaError,
    },
    /// A schema that is not lossless JSON.
    #[error("tool \"{name}\" parameters must be lossless JSON before schema projection: {detail}")]
    Lossy {
        /// The tool's name.
        name: String,
        /// What is wrong, and where.
        detail: String,
    },
    /// A budget that is no budget.
    #[error(
        "tool \"{name}\": timeoutMs must be a positive finite number no greater than 2147483647, \
         found {found:?}"
    )]
    Budget {
        /// The tool's name.
        name: String,
        /// The budget.
        found: Duration,
    },
}

pub(super) fn compile(tool: ToolDef) -> Result<ToolEntry, RegisterError> {
    let name = tool.name().to_owned();
    let length = name.chars().count();
    if length == 0 || length > 256 || name.chars().any(char::is_control) {
        return Err(RegisterError::Name {
            found: name.chars().take(64).collect(),
        });
    }
    if let Some(budget) = tool.declared_budget()
        && (budget.is_zero() || budget.as_millis() > MAX_BUDGET_MS)
    {
        return Err(RegisterError::Budget {
            name,
            found: budget,
        });
    }
    if let Err(error) = toolfall_layers::check_value(tool.parameters()) {
        return Err(RegisterError::Lossy {
            name,
            detail: error.to_string(),
        });
    }
    ToolEntry::compile(tool).map_err(|error| RegisterError::Schema { name, error })
}

/// Keeps a tool registered; dropping it takes exactly that tool away.
///
/// It does not keep the registry alive, and may be dropped anywhere, also
/// outside a runtime and while calls of the tool run.
#[must_use = "dropping the registration removes the tool"]
pub struct Registration {
    registry: Weak<Inner>,
    entry: Option<Arc<ToolEntry>>,
}

impl Registration {
    pub(super) fn new(registry: &Registry, entry: &Arc<ToolEntry>) -> Self {
        Self {
            registry: Arc::downgrade(&registry.0),
            entry: Some(entry.clone()),
        }
    }

    /// Leaves the tool registered for as long as the registry lives.
    pub fn keep(mut self) {
        self.entry = None;
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let (Some(entry), Some(registry)) = (self.entry.take(), self.registry.upgrade()) {
            Registry(registry).remove(&entry);
        }
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.entry.as_ref().map(|entry| entry.def.name());
        f.debug_struct("Registration")
            .field("tool", &name)
            .finish_non_exhaustive()
    }
}
