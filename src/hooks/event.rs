//! Events outside the pipeline, and what hooks say to them.

use serde_json::{Map, Value};

use super::{HookPoint, HookRun, HookSession, Merged};

/// Something that happened in a host's loop, for
/// [`HookSet::run_event`](super::HookSet::run_event).
#[derive(Clone, Debug)]
pub struct HookEvent {
    pub(super) point: HookPoint,
    pub(super) subject: String,
    pub(super) fields: Map<String, Value>,
    pub(super) session: Option<HookSession>,
}

impl HookEvent {
    /// The event at `point`.
    pub fn new(point: HookPoint) -> Self {
        Self {
            point,
            subject: String::new(),
            fields: Map::new(),
            session: None,
        }
    }

    /// What matchers are tried on: how a session began, or a subagent's kind.
    pub fn subject(mut self, subject: impl Into<String>) -> Self {
        self.subject = subject.into();
        self
    }

    /// Tells the hooks something more; what every hook is told stays as it is.
    pub fn field(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.fields.insert(name.into(), value.into());
        self
    }

    /// Runs the hooks in `session` instead of the set's own.
    pub fn session(mut self, session: HookSession) -> Self {
        self.session = Some(session);
        self
    }
}

/// What the hooks at one point said.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct HookReport {
    /// Each hook that ran, in order.
    pub runs: Vec<HookRun>,
    /// Their answers as one; faults that are not ignored count as denials.
    pub merged: Merged,
    /// Whether they were stopped because they were cancelled.
    pub cancelled: bool,
}
