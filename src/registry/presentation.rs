//! How the tools of a scope are put before its model.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::{AssembleError, Section};
use crate::tool::{ToolDef, ToolEntry};

/// How a model calls the tools that it sees.
///
/// In force only while code mode is attached to the registry, see
/// [`Registry::present`](super::Registry::present); before and after that
/// everything is native.
///
/// ```
/// use toolfall::registry::Presentation;
///
/// assert_eq!("code".parse(), Ok(Presentation::Code));
/// assert_eq!(
///     "".parse::<Presentation>().unwrap_err().to_string(),
///     r#"expected the presentation "native", "code" or "both", found """#,
/// );
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Presentation {
    /// One by one, as the provider's tool calls.
    #[default]
    Native,
    /// From programs alone: the one tool is `run_code`, and a direct call of
    /// another one is refused.
    Code,
    /// Either way.
    Both,
}

impl Presentation {
    /// Its name: `native`, `code` or `both`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Code => "code",
            Self::Both => "both",
        }
    }
}

impl fmt::Display for Presentation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no [`Presentation`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected the presentation \"native\", \"code\" or \"both\", found {found:?}")]
pub struct PresentationError {
    found: String,
}

impl FromStr for Presentation {
    type Err = PresentationError;

    fn from_str(word: &str) -> Result<Self, PresentationError> {
        let all = [Self::Native, Self::Code, Self::Both];
        let found = all.into_iter().find(|it| it.as_str() == word);
        found.ok_or_else(|| PresentationError {
            found: toolfall_layers::printable(word, 64),
        })
    }
}

/// Why a scope cannot be presented so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PresentError {
    /// There is no scope to declare it for: the presentation of everybody is
    /// a setting of code mode.
    #[error("a presentation \"{wanted}\" requires a scoped context, found none")]
    Unscoped {
        /// What was to be declared.
        wanted: Presentation,
    },
    /// The scope has a declaration of its own already.
    #[error(
        "presentation \"{wanted}\" conflicts with \"{declared}\" already declared in scope {scope:?}"
    )]
    Declared {
        /// What was to be declared.
        wanted: Presentation,
        /// What is declared.
        declared: Presentation,
        /// The scope's name.
        scope: String,
    },
    /// The scope was disposed.
    #[error("scope {scope:?} was disposed and cannot be presented any more")]
    Disposed {
        /// The scope's name.
        scope: String,
    },
}

/// A scope's own declaration.
pub(super) struct Declared {
    pub(super) presentation: Presentation,
    /// Counts only while there is something that runs programs.
    pub(super) when_ready: bool,
}

/// What lets a model call tools from programs.
pub(crate) trait Transport: Send + Sync + 'static {
    /// What the model calls to run a program.
    fn entry(&self) -> Arc<ToolEntry>;

    /// Whether there is something that runs programs.
    fn is_ready(&self) -> bool;

    /// What a model is told beside the list of its tools, of which `tools`
    /// can be called from a program.
    fn sections(
        &self,
        presentation: Presentation,
        tools: &[&ToolDef],
    ) -> Result<Vec<Section>, AssembleError>;
}

/// The transport that is attached to a registry.
#[derive(Clone)]
pub(super) struct Attached {
    pub(super) transport: Arc<dyn Transport>,
    /// The presentation of scopes that declare nothing.
    pub(super) presentation: Presentation,
}
