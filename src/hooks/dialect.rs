//! Whose hooks they are, and where they run.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The conventions that a set of hooks was written for.
///
/// They differ in what a matcher means, in what a hook reads on standard
/// input, and in what its plain output means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Dialect {
    /// Claude Code's conventions.
    #[default]
    ClaudeCode,
    /// Codex's conventions.
    Codex,
}

impl Dialect {
    /// The word for it in records and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
        }
    }

    /// The author's name on the context messages that come from its hooks.
    pub const fn bridge(self) -> &'static str {
        match self {
            Self::ClaudeCode => "hooks-claude-code",
            Self::Codex => "hooks-codex",
        }
    }

    /// Whether the dialect has hooks at `point`.
    pub const fn supports(self, point: HookPoint) -> bool {
        match self {
            Self::ClaudeCode => true,
            Self::Codex => !matches!(point, HookPoint::SubagentStart | HookPoint::SubagentStop),
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where in a host's loop a hook runs.
///
/// The pipeline runs the first two; the others are the host's to run, with
/// [`HookSet::run_event`](super::HookSet::run_event).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub enum HookPoint {
    /// Before a tool is called.
    PreToolUse,
    /// After a tool was called.
    PostToolUse,
    /// After the user wrote, before the model reads it.
    UserPromptSubmit,
    /// When the model's turn is about to end.
    Stop,
    /// When a session begins.
    SessionStart,
    /// When a subagent begins.
    SubagentStart,
    /// When a subagent is about to end.
    SubagentStop,
}

impl HookPoint {
    /// Every point, in the order of their declaration.
    pub const ALL: [Self; 7] = [
        Self::PreToolUse,
        Self::PostToolUse,
        Self::UserPromptSubmit,
        Self::Stop,
        Self::SessionStart,
        Self::SubagentStart,
        Self::SubagentStop,
    ];

    /// The point called `name`, written exactly.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|point| point.as_str() == name)
    }

    /// Its name on the wire and in configurations.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::Stop => "Stop",
            Self::SessionStart => "SessionStart",
            Self::SubagentStart => "SubagentStart",
            Self::SubagentStop => "SubagentStop",
        }
    }

    /// Whether hooks at this point are chosen by a matcher at all.
    pub const fn has_matcher(self) -> bool {
        !matches!(self, Self::UserPromptSubmit | Self::Stop)
    }
}

impl fmt::Display for HookPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
