//! The presets of a host, and what new sessions begin with.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::pin;
use super::table::CUSTOM;
use super::{
    ApprovalPolicy, Confinement, PresetError, PresetTable, SandboxMode, SessionPermission,
    UnknownPreset,
};
use crate::approval::{ApprovalMode, SessionMode};
use crate::session::LogError;

/// What sessions have whose log says nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PresetConfig {
    /// How far tools may reach; in the workspace unless said otherwise.
    pub sandbox: SandboxMode,
    /// Whether questions may be asked, as the host's
    /// [`Answerers`](crate::approval::Answerers) are set; `None` is
    /// [`ApprovalMode::Ask`].
    pub approval: Option<ApprovalMode>,
    /// The preset that new sessions begin with; `None` is the one that
    /// matches the two above.
    pub default_preset: Option<String>,
}

impl Default for PresetConfig {
    fn default() -> Self {
        Self {
            sandbox: SandboxMode::WorkspaceWrite,
            approval: None,
            default_preset: None,
        }
    }
}

/// The state of the settings: a preset, or `custom`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CurrentPreset {
    /// The preset of this name.
    Preset(String),
    /// Settings that no preset has. A state, not an error.
    Custom,
}

impl CurrentPreset {
    /// The preset's name, or `custom`.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Preset(name) => name,
            Self::Custom => CUSTOM,
        }
    }
}

impl fmt::Display for CurrentPreset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The presets of a host: the table, the preset for new sessions, and the
/// user's approval policy for all sessions.
///
/// Clones share everything. What a user changes here lasts as long as the
/// process; the host keeps it where it keeps its settings.
#[derive(Clone)]
pub struct Presets(Arc<Inner>);

struct Inner {
    table: PresetTable,
    config: PresetConfig,
    user: Mutex<User>,
}

struct User {
    default: String,
    policy: Option<ApprovalPolicy>,
}

impl Presets {
    /// Presets from `table`, for tools that `executor` runs.
    ///
    /// # Errors
    ///
    /// [`PresetError::Unconfined`] if a preset or `config` has a confined mode
    /// and the executor does not confine; [`PresetError::UnknownDefault`] if the default is no
    /// preset; [`PresetError::NoDefault`] if none is configured and no preset
    /// matches the rest of `config`.
    pub fn load(
        table: PresetTable,
        config: PresetConfig,
        executor: &(impl Confinement + ?Sized),
    ) -> Result<Self, PresetError> {
        let modes = table.presets().iter().map(|preset| preset.sandbox);
        let confined = modes
            .chain([config.sandbox])
            .find(|mode| mode.is_confined());
        if let Some(mode) = confined
            && !executor.confines()
        {
            return Err(PresetError::Unconfined { mode });
        }
        let (sandbox, approval) = (config.sandbox, config.approval.unwrap_or_default());
        let default = match &config.default_preset {
            Some(name) => table.resolve(name)?,
            None => table
                .matching(sandbox, approval, None)
                .ok_or(PresetError::NoDefault { sandbox, approval })?,
        };
        let user = Mutex::new(User {
            default: default.name.clone(),
            policy: None,
        });
        Ok(Self(Arc::new(Inner {
            table,
            config,
            user,
        })))
    }

    fn user(&self) -> MutexGuard<'_, User> {
        self.0.user.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The table.
    pub fn table(&self) -> &PresetTable {
        &self.0.table
    }

    /// What sessions have whose log says nothing.
    pub fn config(&self) -> &PresetConfig {
        &self.0.config
    }

    /// What the configuration amounts to, whatever new sessions begin with.
    pub fn current(&self) -> CurrentPreset {
        let config = &self.0.config;
        self.name_of(config.sandbox, config.approval.unwrap_or_default(), None)
    }

    pub(super) fn name_of(
        &self,
        sandbox: SandboxMode,
        approval: ApprovalMode,
        selected: Option<&str>,
    ) -> CurrentPreset {
        match self.0.table.matching(sandbox, approval, selected) {
            Some(preset) => CurrentPreset::Preset(preset.name.clone()),
            None => CurrentPreset::Custom,
        }
    }

    /// The preset that new sessions begin with.
    pub fn default_preset(&self) -> String {
        self.user().default.clone()
    }

    /// Lets sessions that are created from here on begin with `name`.
    ///
    /// # Errors
    ///
    /// [`UnknownPreset`], and the default stays what it was.
    pub fn set_default(&self, name: &str) -> Result<(), UnknownPreset> {
        let preset = self.0.table.resolve(name)?;
        self.user().default.clone_from(&preset.name);
        Ok(())
    }

    /// The approval policy that the user has set for all sessions.
    pub fn user_policy(&self) -> Option<ApprovalPolicy> {
        self.user().policy
    }

    /// Sets the user's approval policy, or none, for all sessions from the
    /// next call on.
    pub fn set_user_policy(&self, policy: Option<ApprovalPolicy>) {
        self.user().policy = policy;
    }

    /// The permission of a session that is new: its log gets the default
    /// preset and what that sets, so that a later default does not change it.
    ///
    /// A log that says anything of permissions is not new, and is
    /// [resumed](Self::resume) instead. Reads the whole log, so it blocks.
    ///
    /// # Errors
    ///
    /// [`LogError`] if the log cannot be read or written.
    pub fn create(&self, mode: SessionMode) -> Result<SessionPermission, LogError> {
        pin::create(self, mode)
    }

    /// The permission of a session that was there before, with records or
    /// without: it keeps what its log says, else what the configuration
    /// says, and never gets the default for new sessions. What the log does
    /// not say is appended. Reads the whole log, so it blocks.
    ///
    /// # Errors
    ///
    /// [`LogError`] if the log cannot be read or written.
    pub fn resume(&self, mode: SessionMode) -> Result<SessionPermission, LogError> {
        pin::resume(self, mode)
    }
}

impl fmt::Debug for Presets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Presets")
            .field("presets", &self.0.table.names().collect::<Vec<_>>())
            .field("default", &self.default_preset())
            .finish_non_exhaustive()
    }
}
