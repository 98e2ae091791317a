//! The cases.

mod bounds;
mod calls;
mod output;

use crate::code::{Budgets, RunFailureKind};

/// One program, and what is to come of it.
pub(super) struct Case {
    pub(super) name: &'static str,
    /// What the program does.
    pub(super) about: &'static str,
    pub(super) javascript: Option<&'static str>,
    pub(super) python: Option<&'static str>,
    pub(super) budgets: fn(Budgets) -> Budgets,
    pub(super) how: How,
    pub(super) expect: Expect,
    pub(super) logs: Option<&'static [&'static str]>,
}

/// What happens to the run from outside.
pub(super) enum How {
    Plainly,
    /// It is cancelled before it begins, with this cause.
    Cancelled(&'static str),
    /// It is cancelled once it runs.
    CancelledLater(&'static str),
    Disposed,
}

#[derive(Debug)]
pub(super) enum Expect {
    /// This value, as JSON.
    Value(&'static str),
    /// A list of so many items.
    Items(usize),
    NoValue,
    /// A failure with this very message.
    Says(RunFailureKind, &'static str),
    /// A failure whose message holds this.
    Holds(RunFailureKind, &'static str),
    /// A failure of one of these kinds.
    Fails(&'static [RunFailureKind]),
}

/// All of them, in the order in which they run.
pub(super) fn all() -> impl Iterator<Item = &'static Case> {
    output::CASES
        .iter()
        .chain(bounds::CASES)
        .chain(calls::CASES)
}

pub(super) fn find(name: &str) -> Option<&'static Case> {
    all().find(|case| case.name == name)
}
