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
//!
//! # What a verdict depends on
//!
//! A rule, a listener, an approval mode and a guard that keep nothing judge
//! each call for itself: what they decide is the same whatever else stands in
//! the batch, and in whatever order. Three policies depend on history by
//! their nature, and on it alone: a budget on what was spent, a reminder on
//! what was repeated, a grant with a number of uses on how often it was used.
//! Policies run in the model's order, so that history is the calls before;
//! what comes after a call never changes what becomes of it. A budget of
//! failures in a row looks at the calls that have *ended* by then, which of
//! overlapping ones is a matter of time.

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
