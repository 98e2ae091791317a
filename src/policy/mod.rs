//! Policies to put into the decision stages.
//!
//! [`Waterfall`] is a live list of listeners inside one stage: each delegates
//! to the next or answers itself, so an outer listener may overrule an inner
//! one. What must not be overruled belongs in a
//! [`GuardLayer`](crate::GuardLayer), or in a stage of its own.
//!
//! - [`repeat`]: tells a model that it repeats itself.
//! - [`grants`]: what a person allows for more than one call.
//! - [`budget`]: how many calls a run may make, and how many may fail.
//!
//! With the feature `rules` the module `rules` has permission rules over the
//! names and the arguments of calls, of which the strictest that matches
//! decides.

pub mod budget;
mod contained;
pub mod grants;
mod listeners;
mod per_scope;
pub mod repeat;
#[cfg(feature = "rules")]
pub mod rules;
mod waterfall;

pub(crate) use self::contained::Contained;
pub(crate) use self::listeners::{Heard, Listeners};
pub use self::listeners::{ListenerRegistration, Subject};
pub(crate) use self::per_scope::PerScope;
#[cfg(feature = "rules")]
pub use self::rules::{
    AllowedBy, Rule, RuleError, RuleErrorKind, RuleList, RuleTextError, Test, Verdict, WrittenRule,
    WrittenRules, WrittenTest,
};
pub use self::waterfall::{Delegated, Next, Waterfall};
