//! What one run has spent.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolfall_layers::printable;

use super::limits::{Budget, Exceeded, Limits};
use crate::{FailureKind, ToolOutcome};

/// How many names have a count of their own, and how long they may be.
const NAMES: usize = 1000;
const NAME_BYTES: usize = 256;

/// What a run has spent so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spent {
    /// Calls that were admitted.
    pub calls: u32,
    /// Failures in a row.
    pub consecutive_failures: u32,
    /// Calls in a row of tools that do not exist.
    pub consecutive_unknown_names: u32,
}

pub(super) type Shared = Arc<Account>;

/// The account of one run; every step on it is one lock that nothing foreign
/// runs under.
#[derive(Default)]
pub(super) struct Account(Mutex<Books>);

#[derive(Default)]
struct Books {
    spent: Spent,
    tools: HashMap<Box<str>, u32>,
    other_tools: u32,
    /// The streak that ended the run.
    ended: Option<Exceeded>,
    first: Option<Exceeded>,
}

impl Account {
    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn exceeded(&self) -> Option<Exceeded> {
        self.books().first.clone()
    }

    pub(super) fn spent(&self) -> Spent {
        self.books().spent
    }

    /// Spends one call of the tool `name`, or nothing if a budget is spent.
    pub(super) fn admit(&self, name: &str, limits: &Limits) -> Result<(), Exceeded> {
        let mut books = self.books();
        let admitted = books.admit(name, limits);
        if let Err(exceeded) = &admitted {
            books.first.get_or_insert_with(|| exceeded.clone());
        }
        admitted
    }

    /// Notes how a call that was admitted ended; without an outcome, a layer
    /// failed.
    pub(super) fn settle(&self, outcome: Option<&ToolOutcome>, limits: &Limits) {
        let kind = match outcome {
            Some(outcome) if outcome.is_success() => None,
            Some(outcome) => outcome.kind(),
            None => Some(FailureKind::Pipeline),
        };
        let mut books = self.books();
        let spent = &mut books.spent;
        match kind {
            None => {
                spent.consecutive_failures = 0;
                spent.consecutive_unknown_names = 0;
            }
            // It was the caller's wish; the model has nothing to do with it.
            Some(FailureKind::Cancelled | FailureKind::Interrupted | FailureKind::Truncated) => {}
            Some(kind) => {
                add(&mut spent.consecutive_failures);
                match kind {
                    FailureKind::UnknownTool => add(&mut spent.consecutive_unknown_names),
                    // A denial comes before anybody knows whether the tool exists.
                    FailureKind::Denied => {}
                    _ => spent.consecutive_unknown_names = 0,
                }
            }
        }
        if let Some(ended) = books.over_streak(limits) {
            books.first.get_or_insert_with(|| ended.clone());
            books.ended.get_or_insert(ended);
        }
    }
}

impl Books {
    fn admit(&mut self, name: &str, limits: &Limits) -> Result<(), Exceeded> {
        if let Some(ended) = self.ended.clone().or_else(|| self.over_streak(limits)) {
            return Err(ended);
        }
        if let Some(over) = over(self.spent.calls, limits.calls, || Budget::Calls) {
            return Err(over);
        }
        if let Some(limit) = limits.of_tool(name) {
            let count = self.tool(name, limits);
            let tool = || Budget::Tool(printable(name, 100));
            if let Some(over) = over(*count, Some(limit), tool) {
                return Err(over);
            }
            add(count);
        }
        add(&mut self.spent.calls);
        Ok(())
    }

    fn over_streak(&self, limits: &Limits) -> Option<Exceeded> {
        let unknown = self.spent.consecutive_unknown_names;
        over(unknown, limits.unknown_names, || {
            Budget::ConsecutiveUnknownNames
        })
        .or_else(|| {
            let failures = self.spent.consecutive_failures;
            over(failures, limits.failures, || Budget::ConsecutiveFailures)
        })
    }

    /// The count of the tool `name`: its own if the name was limited by the
    /// host, or there is room for it.
    fn tool(&mut self, name: &str, limits: &Limits) -> &mut u32 {
        // Names the host limits are few, and exact however many others come.
        let named = limits.tools.contains_key(name);
        let room = self.tools.len() < NAMES.saturating_add(limits.tools.len());
        if !named && !self.tools.contains_key(name) && (!room || name.len() > NAME_BYTES) {
            return &mut self.other_tools;
        }
        self.tools.entry(name.into()).or_default()
    }
}

fn over(spent: u32, limit: Option<u32>, budget: impl FnOnce() -> Budget) -> Option<Exceeded> {
    let limit = limit.filter(|limit| spent >= *limit)?;
    let budget = budget();
    Some(Exceeded { budget, limit })
}

/// A count past `u32` is past every limit already.
fn add(count: &mut u32) {
    *count = count.saturating_add(1);
}
