//! Registering: what is refused, and what a registration holds.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use toolfall_layers::{Scope, ScopeId};

use super::mask::Mask;
use super::presentation::Declared;
use super::reserved::is_reserved;
use super::{Inner, Registry};
use crate::redaction::{PointerError, SecretPlaces};
use crate::schema::{SchemaError, unknown_keywords};
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
    /// The scope has a tool of that name.
    #[error("tool \"{name}\" is already registered in this scope, {scope:?}")]
    NameTakenInScope {
        /// The name.
        name: String,
        /// The scope's name.
        scope: String,
    },
    /// A name that no tool may have.
    #[error("tool name \"{name}\" is reserved for the Code Mode presentation transport")]
    Reserved {
        /// The name.
        name: String,
    },
    /// The scope was disposed.
    #[error("tool \"{name}\" cannot be registered: scope {scope:?} was disposed")]
    Disposed {
        /// The tool's name.
        name: String,
        /// The scope's name.
        scope: String,
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
    /// A place of a secret that is no JSON pointer.
    #[error("tool \"{name}\" names a secret by what is no pointer")]
    Secret {
        /// The tool's name.
        name: String,
        /// What is wrong.
        #[source]
        error: PointerError,
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

impl RegisterError {
    pub(super) fn taken(name: &str, scope: Option<&Scope>) -> Self {
        let name = name.to_owned();
        match scope.map(|scope| scope.name().to_owned()) {
            None => Self::NameTaken { name },
            Some(scope) => Self::NameTakenInScope { name, scope },
        }
    }

    pub(super) fn disposed(name: &str, scope: Option<&Scope>) -> Self {
        Self::Disposed {
            name: name.to_owned(),
            scope: scope.map_or("", Scope::name).to_owned(),
        }
    }
}

pub(super) fn compile(tool: ToolDef) -> Result<ToolEntry, RegisterError> {
    let name = tool.name().to_owned();
    let length = name.chars().count();
    if length == 0 || length > 256 || name.chars().any(char::is_control) {
        return Err(RegisterError::Name {
            found: name.chars().take(64).collect(),
        });
    }
    if is_reserved(&name) {
        return Err(RegisterError::Reserved { name });
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
    let secrets = SecretPlaces::new(tool.secrets_in_arguments(), tool.secrets_in_results());
    let secrets = secrets.map_err(|error| RegisterError::Secret {
        name: name.clone(),
        error,
    })?;
    let entry =
        ToolEntry::compile(tool, secrets).map_err(|error| RegisterError::Schema { name, error })?;
    warn_of_unknown_keywords(&entry.def);
    Ok(entry)
}

/// A misspelt keyword is legal and constrains nothing: somebody should know.
fn warn_of_unknown_keywords(tool: &ToolDef) {
    let schemas = [
        ("parameters", Some(tool.parameters())),
        ("output", tool.declared_output()),
    ];
    for (what, schema) in schemas {
        let unknown = schema.map(unknown_keywords).unwrap_or_default();
        if let Some(first) = unknown.first() {
            tracing::warn!(
                tool = tool.name(),
                count = unknown.len(),
                pointer = first.pointer,
                "the {what} schema has a keyword without effect: {}",
                toolfall_layers::printable(&first.keyword, 120),
            );
        }
    }
}

/// Keeps a tool registered, or a mask, a presentation or code mode in force;
/// dropping it takes exactly that one away.
///
/// It does not keep the registry alive, and may be dropped anywhere, also
/// outside a runtime and while calls of the tool run.
#[must_use = "dropping the registration takes away what was registered"]
pub struct Registration {
    registry: Weak<Inner>,
    pub(super) scope: Option<ScopeId>,
    pub(super) held: Option<Held>,
}

pub(super) enum Held {
    Tool(Arc<ToolEntry>),
    Mask(Arc<Mask>),
    Declared(Arc<Declared>),
    #[cfg(feature = "code")]
    Transport(Arc<dyn super::Transport>),
}

impl Registration {
    pub(super) fn tool(registry: &Registry, scope: Option<&Scope>, tool: Arc<ToolEntry>) -> Self {
        Self::new(registry, scope, Held::Tool(tool))
    }

    pub(super) fn mask(registry: &Registry, scope: &Scope, mask: Arc<Mask>) -> Self {
        Self::new(registry, Some(scope), Held::Mask(mask))
    }

    pub(super) fn declared(registry: &Registry, scope: &Scope, declared: Arc<Declared>) -> Self {
        Self::new(registry, Some(scope), Held::Declared(declared))
    }

    #[cfg(feature = "code")]
    pub(super) fn transport(registry: &Registry, transport: Arc<dyn super::Transport>) -> Self {
        Self::new(registry, None, Held::Transport(transport))
    }

    fn new(registry: &Registry, scope: Option<&Scope>, held: Held) -> Self {
        Self {
            registry: Arc::downgrade(&registry.0),
            scope: scope.map(Scope::id),
            held: Some(held),
        }
    }

    pub(super) fn is_of(&self, registry: &Registry) -> bool {
        std::ptr::eq(self.registry.as_ptr(), Arc::as_ptr(&registry.0))
    }

    /// Leaves it registered for as long as the registry lives, or its scope.
    pub fn keep(mut self) {
        self.held = None;
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let (Some(held), Some(registry)) = (self.held.take(), self.registry.upgrade()) {
            let registry = Registry(registry);
            match &held {
                Held::Tool(tool) => registry.take(self.scope, |layer| layer.remove(tool)),
                Held::Mask(mask) => registry.take(self.scope, |layer| layer.unmask(mask)),
                Held::Declared(it) => registry.take(self.scope, |layer| layer.undeclare(it)),
                #[cfg(feature = "code")]
                Held::Transport(transport) => registry.detach(transport),
            }
        }
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match &self.held {
            Some(Held::Tool(tool)) => Some(tool.def.name()),
            _ => None,
        };
        f.debug_struct("Registration")
            .field("tool", &name)
            .finish_non_exhaustive()
    }
}
