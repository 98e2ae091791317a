//! What a log says of permissions, and what it is made to say.

use super::{
    ApprovalPolicy, EffectivePolicy, PresetTable, Presets, SandboxMode, SessionPermission,
};
use crate::approval::{ApprovalMode, SessionMode};
use crate::session::{LogError, PresetRecord, Record, SandboxRecord};

/// What the last records of each kind say.
struct Facts {
    preset: Option<String>,
    sandbox: Option<SandboxMode>,
    approval: Option<ApprovalMode>,
    effective: Option<EffectivePolicy>,
    own: Option<ApprovalPolicy>,
}

impl Facts {
    fn of(records: &[Record]) -> Self {
        Self {
            preset: PresetTable::last_in(records).map(ToOwned::to_owned),
            sandbox: SandboxMode::last_in(records),
            approval: ApprovalMode::last_in(records),
            effective: EffectivePolicy::last_in(records),
            own: EffectivePolicy::own_in(records),
        }
    }

    const fn none(&self) -> bool {
        self.preset.is_none() && self.sandbox.is_none() && self.approval.is_none()
    }
}

pub(super) fn create(presets: &Presets, mode: SessionMode) -> Result<SessionPermission, LogError> {
    let facts = Facts::of(&mode.log().records()?);
    // The default is a name of the table: only such are ever stored.
    let default = presets.table().resolve(&presets.default_preset()).cloned();
    match default {
        Ok(default) if facts.none() => pin(
            presets,
            mode,
            Pinned {
                preset: Some(default.name),
                sandbox: default.sandbox,
                approval: default.approval,
            },
            &facts,
        ),
        _ => resume_with(presets, mode, facts),
    }
}

pub(super) fn resume(presets: &Presets, mode: SessionMode) -> Result<SessionPermission, LogError> {
    let facts = Facts::of(&mode.log().records()?);
    resume_with(presets, mode, facts)
}

fn resume_with(
    presets: &Presets,
    mode: SessionMode,
    facts: Facts,
) -> Result<SessionPermission, LogError> {
    let sandbox = facts.sandbox.unwrap_or(presets.config().sandbox);
    // Without a record of its own, what counts around the session counts.
    let approval = facts.approval.unwrap_or_else(|| mode.mode());
    let preset = facts.preset.clone().or_else(|| {
        let matching = presets.table().matching(sandbox, approval, None);
        matching.map(|preset| preset.name.clone())
    });
    let pinned = Pinned {
        preset,
        sandbox,
        approval,
    };
    pin(presets, mode, pinned, &facts)
}

struct Pinned {
    preset: Option<String>,
    sandbox: SandboxMode,
    approval: ApprovalMode,
}

/// Appends what the log does not say yet.
fn pin(
    presets: &Presets,
    mode: SessionMode,
    pinned: Pinned,
    facts: &Facts,
) -> Result<SessionPermission, LogError> {
    let writing = mode.write();
    if let (None, Some(preset)) = (&facts.preset, &pinned.preset) {
        let preset = preset.clone();
        writing.record(PresetRecord { preset }, || ())?;
    }
    if facts.sandbox.is_none() {
        let mode = pinned.sandbox.as_str().to_owned();
        writing.record(SandboxRecord { mode }, || ())?;
    }
    if facts.approval.is_none() {
        mode.record_while(&writing, pinned.approval)?;
    }
    drop(writing);
    Ok(SessionPermission::new(
        presets.clone(),
        mode,
        pinned.sandbox,
        pinned.preset,
        facts.own,
        facts.effective,
    ))
}
