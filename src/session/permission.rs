//! The records of what a session permits.

use serde::{Deserialize, Serialize};

/// A `permission/preset` record: a preset was selected. For hosts; a model
/// never reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PresetRecord {
    /// The preset's name.
    pub preset: String,
}

/// A `sandbox/mode` record: how far tools may reach was switched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxRecord {
    /// The mode as it was written: `read-only`, `workspace-write` or
    /// `danger-full-access`.
    pub mode: String,
}

/// A `permission/effective` record: the approval policy that decides calls
/// from here on, and who set it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectiveRecord {
    /// The policy as it was written: `allow-all`, `deny-all`, `ask-dangerous`
    /// or `ask-edits`.
    pub policy: String,
    /// Who set it: `preset`, `user`, `session` or `nothing`.
    pub source: String,
}
