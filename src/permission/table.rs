//! The presets there are.

use std::sync::Arc;

use serde::Serialize;

use super::{ApprovalPolicy, SandboxMode};
use crate::approval::ApprovalMode;
use crate::session::{Body, Record};

/// The name of the state in which no preset matches.
pub(super) const CUSTOM: &str = "custom";

/// A named bundle of what a session permits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Preset {
    /// Its name, for records and commands.
    pub name: String,
    /// Its name for people; `name` if there is none.
    pub label: Option<String>,
    /// A sentence for people.
    pub description: Option<String>,
    /// How far tools may reach.
    pub sandbox: SandboxMode,
    /// Whether questions may be asked.
    pub approval: ApprovalMode,
    /// Which calls are allowed, asked about or denied, if nobody nearer says.
    pub policy: Option<ApprovalPolicy>,
}

impl Preset {
    /// A preset that says nothing of itself and sets no policy.
    pub fn new(name: impl Into<String>, sandbox: SandboxMode, approval: ApprovalMode) -> Self {
        Self {
            name: name.into(),
            label: None,
            description: None,
            sandbox,
            approval,
            policy: None,
        }
    }

    /// Names it for people.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Describes it for people.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the policy that applies while the preset is the current one and
    /// neither the user nor the session has set one.
    pub fn policy(mut self, policy: ApprovalPolicy) -> Self {
        self.policy = Some(policy);
        self
    }

    pub(super) fn matches(&self, sandbox: SandboxMode, approval: ApprovalMode) -> bool {
        self.sandbox == sandbox && self.approval == approval
    }
}

/// A choice to show to people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PresetOption {
    /// The preset's name, or `custom`.
    pub value: String,
    /// What to call it.
    pub name: String,
    /// What it means, if that was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A name that is no preset's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown preset {found:?}")]
pub struct UnknownPreset {
    /// The name, at most 100 characters of it.
    pub found: String,
}

impl UnknownPreset {
    fn new(name: &str) -> Self {
        Self {
            found: name.chars().take(100).collect(),
        }
    }
}

/// Why presets cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PresetError {
    /// A preset without a name.
    #[error("expected a name for preset {place}, found none")]
    NoName {
        /// Its place in the table, counted from 1.
        place: usize,
    },
    /// A preset has the name of a state.
    #[error("the preset name \"custom\" is reserved for the derived not-a-preset state")]
    Reserved,
    /// Two presets have one name.
    #[error("expected presets with different names, found a second {name:?}")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// A preset, or the configuration, promises what the executor cannot keep.
    #[error("the executor does not confine, and sandbox mode {mode:?} needs one that does", mode = .mode.as_str())]
    Unconfined {
        /// The first such mode.
        mode: SandboxMode,
    },
    /// New sessions would have no preset.
    #[error(
        "sandbox mode {sandbox:?} with approval policy {approval:?} is no preset: configure \
         defaultPreset explicitly",
        sandbox = .sandbox.as_str(), approval = .approval.as_str()
    )]
    NoDefault {
        /// The sandbox mode that sessions have by default.
        sandbox: SandboxMode,
        /// The approval mode that sessions have by default.
        approval: ApprovalMode,
    },
    /// The configured default is no preset.
    #[error(transparent)]
    UnknownDefault(#[from] UnknownPreset),
}

/// The presets, in the order in which they were declared.
///
/// The default has two: `workspace-write`, which asks, about dangerous tools
/// unless somebody nearer has a policy; and `danger-full-access`, which
/// never asks and allows everything unless somebody nearer has a policy.
/// Clones share one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresetTable(Arc<[Preset]>);

impl Default for PresetTable {
    fn default() -> Self {
        use ApprovalMode::{Ask, Never};
        use SandboxMode::{FullAccess, WorkspaceWrite};
        Self(Arc::new([
            Preset::new(WorkspaceWrite.as_str(), WorkspaceWrite, Ask)
                .label("Workspace write")
                .description("Change files in the workspace; ask before anything dangerous.")
                .policy(ApprovalPolicy::AskDangerous),
            Preset::new(FullAccess.as_str(), FullAccess, Never)
                .label("Full access")
                .description("Nothing is confined and nothing is asked.")
                .policy(ApprovalPolicy::AllowAll),
        ]))
    }
}

impl PresetTable {
    /// A table of `presets`.
    ///
    /// # Errors
    ///
    /// [`PresetError::NoName`], [`PresetError::Reserved`] or
    /// [`PresetError::NameTaken`] for the first preset whose name cannot be.
    pub fn new(presets: impl IntoIterator<Item = Preset>) -> Result<Self, PresetError> {
        let mut table: Vec<Preset> = Vec::new();
        for preset in presets {
            if preset.name.trim().is_empty() {
                let place = table.len() + 1;
                return Err(PresetError::NoName { place });
            }
            if preset.name == CUSTOM {
                return Err(PresetError::Reserved);
            }
            if table.iter().any(|earlier| earlier.name == preset.name) {
                return Err(PresetError::NameTaken { name: preset.name });
            }
            table.push(preset);
        }
        Ok(Self(table.into()))
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|preset| preset.name.as_str())
    }

    /// The presets, in order.
    pub fn presets(&self) -> &[Preset] {
        &self.0
    }

    /// The preset `name`.
    ///
    /// # Errors
    ///
    /// [`UnknownPreset`] for any other name, `custom` among them.
    pub fn resolve(&self, name: &str) -> Result<&Preset, UnknownPreset> {
        let mut presets = self.0.iter();
        presets
            .find(|preset| preset.name == name)
            .ok_or_else(|| UnknownPreset::new(name))
    }

    /// The preset that these settings amount to: `selected` if it still
    /// matches, else the first that does.
    pub fn matching(
        &self,
        sandbox: SandboxMode,
        approval: ApprovalMode,
        selected: Option<&str>,
    ) -> Option<&Preset> {
        let selected = selected.and_then(|name| self.resolve(name).ok());
        selected
            .into_iter()
            .chain(self.0.iter())
            .find(|preset| preset.matches(sandbox, approval))
    }

    /// The choice `name` as people are shown it; `custom` is one, too.
    ///
    /// # Errors
    ///
    /// [`UnknownPreset`] for any other name.
    pub fn option(&self, name: &str) -> Result<PresetOption, UnknownPreset> {
        if name == CUSTOM {
            return Ok(PresetOption {
                value: CUSTOM.to_owned(),
                name: "Custom".to_owned(),
                description: Some(
                    "Current sandbox and approval settings do not match a preset.".to_owned(),
                ),
            });
        }
        let preset = self.resolve(name)?;
        Ok(PresetOption {
            value: preset.name.clone(),
            name: preset.label.as_ref().unwrap_or(&preset.name).clone(),
            description: preset.description.clone(),
        })
    }

    /// The name in the last `permission/preset` record of a log, which may be
    /// no preset of any table.
    pub fn last_in<'a>(records: impl IntoIterator<Item = &'a Record>) -> Option<&'a str> {
        let names = records.into_iter().filter_map(|record| match &record.body {
            Body::Preset(preset) => Some(preset.preset.as_str()),
            _ => None,
        });
        names.last()
    }
}
