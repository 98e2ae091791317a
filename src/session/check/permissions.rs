//! What may stand in the records of permissions.

use std::collections::BTreeSet;

use super::Problem;
use crate::permission::{ApprovalPolicy, PolicySource, SandboxMode};
use crate::session::{EffectiveRecord, PresetRecord, SandboxRecord};

/// The names of presets that are known; without any, each is.
#[derive(Clone, Debug, Default)]
pub(super) struct Permissions {
    known: Option<BTreeSet<String>>,
}

impl Permissions {
    pub(super) fn know(&mut self, names: impl Iterator<Item = String>) {
        self.known = Some(names.collect());
    }

    pub(super) fn preset(&self, record: &PresetRecord, problems: &mut Vec<Problem>) {
        let known = self.known.as_ref();
        if known.is_some_and(|known| !known.contains(&record.preset)) {
            problems.push(Problem::UnknownPreset {
                found: record.preset.clone(),
            });
        }
    }

    pub(super) fn sandbox(record: &SandboxRecord, problems: &mut Vec<Problem>) {
        if record.mode.parse::<SandboxMode>().is_err() {
            problems.push(Problem::UnknownSandboxMode {
                found: record.mode.clone(),
            });
        }
    }

    pub(super) fn effective(record: &EffectiveRecord, problems: &mut Vec<Problem>) {
        let words = [
            (
                "an approval policy",
                &record.policy,
                record.policy.parse::<ApprovalPolicy>().is_ok(),
            ),
            (
                "the source of an approval policy",
                &record.source,
                PolicySource::from_word(&record.source).is_some(),
            ),
        ];
        for (expected, word, known) in words {
            if !known {
                problems.push(Problem::UnknownEffective {
                    expected,
                    found: word.clone(),
                });
            }
        }
    }
}
