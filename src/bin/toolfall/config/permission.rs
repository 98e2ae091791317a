//! `[permission]`: presets, and which calls are asked about.

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;
use toolfall::approval::ApprovalMode;
use toolfall::permission::{
    ApprovalPolicy, Confinement, Preset, PresetConfig, PresetTable, Presets, SandboxMode,
};

use super::Config;
use crate::args::Approve;
use crate::error::{Error, chain};

/// The preset of runs that name none.
const PRESET: &str = "workspace-write";

/// What runs permit. Without this table, and without `--preset`, only the
/// rules decide.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Permission {
    /// The preset of the run: `workspace-write`, `danger-full-access`, or one
    /// of your own.
    #[schemars(with = "Option<String>", extend("default" = "workspace-write"))]
    preset: Option<Spanned<String>>,
    /// Which calls are asked about, whatever the preset says; the preset's
    /// without it.
    approval_policy: Option<Asks>,
    /// Presets of your own.
    #[serde(default)]
    #[schemars(with = "Vec<Own>", extend("default" = []))]
    presets: Vec<Spanned<Own>>,
}

/// A preset.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Own {
    /// Its name; no two presets share one.
    name: String,
    /// What people are shown instead of the name.
    label: Option<String>,
    /// A sentence for people.
    description: Option<String>,
    /// How far tools may reach.
    sandbox: Sandbox,
    /// Whether a person is asked.
    #[schemars(extend("default" = "ask"))]
    approve: Option<Approve>,
    /// Which calls are asked about.
    #[serde(default)]
    #[schemars(extend("default" = "ask-edits"))]
    approval_policy: Asks,
}

/// How far tools may reach.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Sandbox {
    /// Tools that make edits are denied.
    ReadOnly,
    /// The file tools stay in their folder, and whatever else is dangerous is
    /// asked about.
    WorkspaceWrite,
    /// Nothing is confined but the file tools, which always are.
    DangerFullAccess,
}

/// Which calls are asked about.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Asks {
    /// None.
    AllowAll,
    /// Every call is denied.
    DenyAll,
    /// Those of dangerous tools.
    AskDangerous,
    /// Those of dangerous tools and of tools that make edits.
    #[default]
    AskEdits,
}

impl From<Asks> for ApprovalPolicy {
    fn from(asks: Asks) -> Self {
        match asks {
            Asks::AllowAll => Self::AllowAll,
            Asks::DenyAll => Self::DenyAll,
            Asks::AskDangerous => Self::AskDangerous,
            Asks::AskEdits => Self::AskEdits,
        }
    }
}

impl Own {
    fn preset(&self) -> Preset {
        let sandbox = match self.sandbox {
            Sandbox::ReadOnly => SandboxMode::ReadOnly,
            Sandbox::WorkspaceWrite => SandboxMode::WorkspaceWrite,
            Sandbox::DangerFullAccess => SandboxMode::FullAccess,
        };
        let approval = match self.approve {
            Some(Approve::Never) => ApprovalMode::Never,
            Some(Approve::Ask) | None => ApprovalMode::Ask,
        };
        let mut preset =
            Preset::new(self.name.clone(), sandbox, approval).policy(self.approval_policy.into());
        preset.label.clone_from(&self.label);
        preset.description.clone_from(&self.description);
        preset
    }
}

/// The file tools stay in their folder, tools that make edits are denied where
/// nothing may be changed, and dangerous ones are a person's to allow where
/// not everything may be.
struct Confined;

impl Confinement for Confined {
    fn confines(&self) -> bool {
        true
    }
}

impl Config {
    /// The presets, of which the default is the one for the run: `asked` on
    /// the command line, else the file's. None if neither has any.
    pub(crate) fn presets(&self, asked: Option<&str>) -> Result<Option<Presets>, Error> {
        let written = self.written.permission.as_ref();
        if written.is_none() && asked.is_none() {
            return Ok(None);
        }
        let fail = |at, message: &str| match &self.source {
            Some(source) => source.error(at, message),
            None => Error::input(message),
        };
        let mut all = PresetTable::default().presets().to_vec();
        let mut table = PresetTable::default();
        for own in written.iter().flat_map(|written| &written.presets) {
            all.push(own.get_ref().preset());
            table = PresetTable::new(all.clone())
                .map_err(|error| fail(Some(own.span()), &chain(&error)))?;
        }
        let named = written.and_then(|written| written.preset.as_ref());
        let in_file = named.map_or(PRESET, |named| named.get_ref());
        let name = asked.unwrap_or(in_file);
        if let Err(unknown) = table.resolve(name) {
            let known: Vec<&str> = table.names().collect();
            let message = format!("{unknown} (available: {})", known.join(", "));
            return Err(match asked {
                Some(_) => Error::input(format!("--preset: {message}")),
                None => fail(named.map(Spanned::span), &message),
            });
        }
        let mut config = PresetConfig::default();
        config.default_preset = Some(name.to_owned());
        let presets =
            Presets::load(table, config, &Confined).map_err(|error| fail(None, &chain(&error)))?;
        let policy = written.and_then(|written| written.approval_policy);
        presets.set_user_policy(policy.map(Into::into));
        Ok(Some(presets))
    }
}
