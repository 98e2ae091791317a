//! Policies to put into the decision stages.
//!
//! [`Waterfall`] is a live list of listeners inside one stage: each delegates
//! to the next or answers itself, so an outer listener may overrule an inner
//! one. What must not be overruled belongs in a
//! [`GuardLayer`](crate::GuardLayer), or in a stage of its own.
//!
//! With the feature `workspace` the module `rules` has lists of rules, of
//! which the first that matches decides.

mod contained;
mod listeners;
#[cfg(feature = "workspace")]
pub mod rules;
mod waterfall;

pub(crate) use self::contained::Contained;
pub(crate) use self::listeners::{Heard, Listeners};
pub use self::listeners::{ListenerRegistration, Subject};
#[cfg(feature = "workspace")]
pub use self::rules::{Rule, RuleError, RuleList, Test, Verdict};
pub use self::waterfall::{Delegated, Next, Waterfall};
