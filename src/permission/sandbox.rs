//! How far the tools of a session may reach.

use std::fmt;
use std::str::FromStr;

use toolfall_layers::{CallView, Denial, Guard};

use super::SessionPermission;
use crate::BoxError;
use crate::session::{Body, Record};
use crate::tool::Barred;

/// How far the tools of a session may reach.
///
/// The host's executor gives the modes their meaning; see [`Confinement`].
/// One thing is done here: in a session that may only read, a
/// [`SandboxGuard`] denies the tools that declare edits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SandboxMode {
    /// Files may be read and nothing may be changed.
    ReadOnly,
    /// Files may be changed inside the workspace.
    WorkspaceWrite,
    /// Nothing is confined.
    FullAccess,
}

impl SandboxMode {
    /// The word used in records and settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::FullAccess => "danger-full-access",
        }
    }

    /// Whether the mode promises that something cannot be reached.
    pub const fn is_confined(self) -> bool {
        !matches!(self, Self::FullAccess)
    }

    /// What the last `sandbox/mode` record of a log says. A word that is no
    /// mode reads as [`ReadOnly`](Self::ReadOnly).
    pub fn last_in<'a>(records: impl IntoIterator<Item = &'a Record>) -> Option<Self> {
        let words = records.into_iter().filter_map(|record| match &record.body {
            Body::Sandbox(sandbox) => Some(sandbox.mode.as_str()),
            _ => None,
        });
        let word = words.last()?;
        Some(word.parse().unwrap_or(Self::ReadOnly))
    }
}

impl fmt::Display for SandboxMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no [`SandboxMode`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected the sandbox mode \"read-only\", \"workspace-write\" or \"danger-full-access\", \
     found {found:?}"
)]
pub struct UnknownSandboxMode {
    /// The word, at most 64 characters of it.
    pub found: String,
}

impl FromStr for SandboxMode {
    type Err = UnknownSandboxMode;

    fn from_str(word: &str) -> Result<Self, UnknownSandboxMode> {
        match word {
            "read-only" => Ok(Self::ReadOnly),
            "workspace-write" => Ok(Self::WorkspaceWrite),
            "danger-full-access" => Ok(Self::FullAccess),
            _ => Err(UnknownSandboxMode {
                found: word.chars().take(64).collect(),
            }),
        }
    }
}

/// Whether what runs the tools keeps them within a [`SandboxMode`].
///
/// The executor says so itself. Presets that promise a confined mode are not
/// [loaded](super::Presets::load) on one that does not confine: their names
/// would be lies.
pub trait Confinement {
    /// Whether tools are kept from what their session's mode rules out.
    fn confines(&self) -> bool;
}

/// Its tools reach nothing outside its root, whatever they are asked. A host
/// that runs other tools beside them has to speak for those, too.
#[cfg(feature = "workspace")]
impl Confinement for crate::workspace::Workspace {
    fn confines(&self) -> bool {
        true
    }
}

/// Denies the tools that declare edits while their session may only read.
///
/// A guard, so that no policy and no answer overrules it. The mode is read at
/// each call. Made by [`SessionPermission::guard`].
#[derive(Clone, Debug)]
pub struct SandboxGuard(pub(super) SessionPermission);

impl Guard for SandboxGuard {
    fn check(&self, call: &CallView) -> Result<Option<Denial>, BoxError> {
        if self.0.sandbox() != SandboxMode::ReadOnly {
            return Ok(None);
        }
        let edits = call.definition().is_some_and(|tool| tool.makes_edits());
        Barred {
            edits: true,
            ..Barred::default()
        }
        .note(call);
        Ok(edits.then(|| {
            let tool = call.name();
            Denial::new(format!(
                "tool \"{tool}\" changes files, and this session may only read"
            ))
            .by_rule("sandbox mode read-only")
        }))
    }
}
