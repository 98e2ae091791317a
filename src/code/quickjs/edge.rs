//! What an engine and its surroundings say to each other.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::code::{Namespace, RunFailureKind};

/// How much an engine may use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) heap_bytes: usize,
    /// Of the thread's own time; none where somebody else counts.
    pub(super) compute: Option<Duration>,
    /// Printed, all together.
    pub(super) log_bytes: usize,
    /// For each value that leaves the engine.
    pub(super) value_bytes: usize,
}

/// A namespace as a program sees it.
pub(super) struct Roster {
    pub(super) global: String,
    pub(super) names: Vec<String>,
    /// Name of the class, name of its property.
    pub(super) error_class: Option<(String, String)>,
}

impl From<&Namespace> for Roster {
    fn from(namespace: &Namespace) -> Self {
        let class = namespace.error_class.as_ref();
        Self {
            global: namespace.global.clone(),
            names: namespace.members.clone(),
            error_class: class.map(|class| (class.name.clone(), class.member_property.clone())),
        }
    }
}

/// A call that a program made.
pub(super) struct Call {
    pub(super) id: u64,
    /// The index of its namespace.
    pub(super) namespace: usize,
    pub(super) member: String,
    pub(super) arguments: Option<Value>,
}

/// What became of a call.
pub(super) struct Reply {
    pub(super) id: u64,
    pub(super) result: Result<Value, String>,
}

/// What is outside of the engine.
pub(super) trait Outside: 'static {
    /// Something was printed.
    fn log(&self, text: String);
    /// Something was called; an error's text rejects the call.
    fn call(&self, call: Call) -> Result<(), String>;
    /// Waits for the answer to some call; nothing if the run is over.
    fn reply(&self) -> Option<Reply>;
}

/// Ends a run from another thread.
#[derive(Debug, Default)]
pub(super) struct Stop(AtomicU8);

const RUNNING: u8 = 0;
const STOPPED: u8 = 1;
const SPENT: u8 = 2;

impl Stop {
    /// Ends the run, wherever the engine looks next.
    pub(super) fn stop(&self) {
        self.set(STOPPED);
    }

    /// Ends the run because its time to compute is over.
    pub(super) fn spend(&self) {
        self.set(SPENT);
    }

    fn set(&self, state: u8) {
        let _ = self
            .0
            .compare_exchange(RUNNING, state, Ordering::AcqRel, Ordering::Acquire);
    }

    /// How it ends, if it was told to.
    pub(super) fn ending(&self) -> Option<Ending> {
        match self.0.load(Ordering::Acquire) {
            RUNNING => None,
            SPENT => Some(Ending::Spent),
            _ => Some(Ending::Stopped),
        }
    }
}

/// How a program ended.
#[derive(Debug, PartialEq)]
pub(super) enum Ending {
    Completed(Option<Value>),
    Failed(RunFailureKind, String),
    /// The heap was full.
    OutOfMemory,
    /// The time to compute was over.
    Spent,
    /// It was stopped from outside.
    Stopped,
    /// The value is larger than it may be.
    TooLarge,
}

impl Ending {
    pub(super) fn exception(message: impl Into<String>) -> Self {
        Self::Failed(RunFailureKind::Exception, message.into())
    }
}
