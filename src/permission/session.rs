//! What one session permits.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::sync::watch;

use super::{
    ApprovalPolicy, CurrentPreset, EffectivePolicy, PresetOption, Presets, SandboxGuard,
    SandboxMode, SessionPolicy, UnknownPreset,
};
use crate::ContextMessage;
use crate::approval::SessionMode;
use crate::session::{LogError, PresetRecord, SandboxRecord};

/// What one session permits: its sandbox mode, whether questions may be
/// asked, the preset that these amount to, and its approval policy.
///
/// Everything is in the session's log and is read from there when the session
/// is resumed. A change is recorded first and counts from then on; if it
/// cannot be recorded, nothing changes. Made by
/// [`Presets::create`] and [`Presets::resume`]. Clones share everything.
#[derive(Clone)]
pub struct SessionPermission(Arc<Inner>);

struct Inner {
    presets: Presets,
    mode: SessionMode,
    values: Mutex<Values>,
}

struct Values {
    sandbox: SandboxMode,
    /// The last preset that was selected, whether or not it still matches.
    selected: Option<String>,
    policy: Option<ApprovalPolicy>,
    /// What the last record says that calls are decided by.
    recorded: Option<EffectivePolicy>,
}

/// Why a preset was not selected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SelectError {
    /// There is no such preset. Nothing was recorded.
    #[error(transparent)]
    Unknown(#[from] UnknownPreset),
    /// A record could not be written. Those before it, in the order preset,
    /// sandbox mode, approval policy, are there and count.
    #[error(transparent)]
    Log(#[from] LogError),
}

/// What people are shown of a session's presets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Projection {
    /// The choices, in the table's order. `custom` comes last, and only while
    /// it is the current one.
    pub options: Vec<PresetOption>,
    /// The current choice's value.
    pub current: String,
}

impl SessionPermission {
    pub(super) fn new(
        presets: Presets,
        mode: SessionMode,
        sandbox: SandboxMode,
        selected: Option<String>,
        policy: Option<ApprovalPolicy>,
        recorded: Option<EffectivePolicy>,
    ) -> Self {
        // A policy of the session's own is recorded whenever it is set or
        // taken back, so the last record knows it.
        Self(Arc::new(Inner {
            presets,
            mode,
            values: Mutex::new(Values {
                sandbox,
                selected,
                policy,
                recorded,
            }),
        }))
    }

    fn values(&self) -> MutexGuard<'_, Values> {
        let values = self.0.values.lock();
        values.unwrap_or_else(PoisonError::into_inner)
    }

    /// The host's presets.
    pub fn presets(&self) -> &Presets {
        &self.0.presets
    }

    /// Whether questions may be asked.
    pub fn mode(&self) -> &SessionMode {
        &self.0.mode
    }

    /// How far tools may reach.
    pub fn sandbox(&self) -> SandboxMode {
        self.values().sandbox
    }

    /// Switches to the sandbox mode `mode` with one record, from the next
    /// call on; says whether it was another one. Blocks for one write.
    ///
    /// # Errors
    ///
    /// The record could not be written, and nothing has changed.
    pub fn set_sandbox(&self, mode: SandboxMode) -> Result<bool, LogError> {
        let writing = self.0.mode.write();
        self.set_sandbox_while(&writing, mode)
    }

    fn set_sandbox_while(
        &self,
        writing: &crate::approval::Writing<'_>,
        mode: SandboxMode,
    ) -> Result<bool, LogError> {
        if self.sandbox() == mode {
            return Ok(false);
        }
        let record = SandboxRecord {
            mode: mode.as_str().to_owned(),
        };
        writing.record(record, || self.values().sandbox = mode)?;
        Ok(true)
    }

    /// The preset that the settings amount to: the one that was selected
    /// last, if it still matches, else the first in the table that does.
    pub fn current(&self) -> CurrentPreset {
        let approval = self.0.mode.mode();
        let values = self.values();
        let selected = values.selected.as_deref();
        self.0.presets.name_of(values.sandbox, approval, selected)
    }

    /// Selects the preset `name`: one record of that, then one for each
    /// setting that it changes. Gives the notice that the agent is to be told
    /// if the approval mode changed. Nothing happens if `name` is the current
    /// one. Blocks for up to three writes.
    ///
    /// # Errors
    ///
    /// [`SelectError::Unknown`] if there is no such preset;
    /// [`SelectError::Log`] if something cannot be recorded.
    pub fn select(&self, name: &str) -> Result<Option<ContextMessage>, SelectError> {
        let preset = self.0.presets.table().resolve(name)?;
        let writing = self.0.mode.write();
        if self.current().as_str() == name {
            return Ok(None);
        }
        let record = PresetRecord {
            preset: preset.name.clone(),
        };
        writing.record(record, || {
            self.values().selected = Some(preset.name.clone());
        })?;
        self.set_sandbox_while(&writing, preset.sandbox)?;
        Ok(self.0.mode.switch_while(&writing, preset.approval)?)
    }

    /// What people are shown now.
    pub fn projection(&self) -> Projection {
        let (table, current) = (self.0.presets.table(), self.current());
        let custom = (current == CurrentPreset::Custom).then_some(current.as_str());
        let names = table.names().chain(custom);
        Projection {
            // Each is a name of the table, or `custom`.
            options: names.filter_map(|name| table.option(name).ok()).collect(),
            current: current.as_str().to_owned(),
        }
    }

    /// How many records of the preset and of its settings were written since
    /// the session was opened: changes once a record, so three times a
    /// switch, and for no other record. Ends with the session.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.mode.changes()
    }

    /// The approval policy of the session's own.
    pub fn own_policy(&self) -> Option<ApprovalPolicy> {
        self.values().policy
    }

    /// Sets the session's approval policy, or takes it back, with one record,
    /// from the next call on. Nothing happens if it is what it was. Blocks
    /// for one write.
    ///
    /// # Errors
    ///
    /// The record could not be written, and nothing has changed.
    pub fn set_policy(&self, policy: Option<ApprovalPolicy>) -> Result<(), LogError> {
        let _writing = self.0.mode.write();
        if self.own_policy() == policy {
            return Ok(());
        }
        let effective = self.resolve(policy);
        self.0.mode.log().append(effective.record())?;
        let mut values = self.values();
        values.policy = policy;
        values.recorded = Some(effective);
        Ok(())
    }

    /// The approval policy that applies now, and who set it.
    pub fn effective(&self) -> EffectivePolicy {
        self.resolve(self.own_policy())
    }

    fn resolve(&self, own: Option<ApprovalPolicy>) -> EffectivePolicy {
        let presets = &self.0.presets;
        let of_preset = match self.current() {
            CurrentPreset::Preset(name) => presets
                .table()
                .resolve(&name)
                .ok()
                .and_then(|preset| preset.policy),
            CurrentPreset::Custom => None,
        };
        EffectivePolicy::resolve(of_preset, presets.user_policy(), own)
    }

    /// As [`effective`](Self::effective), for deciding a call by it: if the
    /// log says otherwise, it is told first.
    pub(super) fn effective_on_record(&self) -> Result<EffectivePolicy, LogError> {
        let effective = self.effective();
        if self.values().recorded == Some(effective) {
            return Ok(effective);
        }
        let _writing = self.0.mode.write();
        let effective = self.effective();
        if self.values().recorded != Some(effective) {
            self.0.mode.log().append(effective.record())?;
            self.values().recorded = Some(effective);
        }
        Ok(effective)
    }

    /// The approval policy as a policy for the pre-decision stage.
    pub fn policy(&self) -> SessionPolicy {
        SessionPolicy::new(self.clone())
    }

    /// The sandbox mode as a guard.
    pub fn guard(&self) -> SandboxGuard {
        SandboxGuard(self.clone())
    }
}

impl fmt::Debug for SessionPermission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionPermission")
            .field("current", &self.current())
            .field("sandbox", &self.sandbox())
            .field("mode", &self.0.mode)
            .field("effective", &self.effective())
            .finish_non_exhaustive()
    }
}
