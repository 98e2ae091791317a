//! What a policy decides, and how decisions combine.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

/// What a pre-decision policy says of a call.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Decision {
    /// The call may go on.
    #[default]
    Allow,
    /// A person must be asked.
    Ask(Reason),
    /// The call is refused; the reason reaches the model verbatim.
    Deny(Reason),
}

/// Why a policy asks or denies, and which rule of it said so.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Reason {
    /// The text; an `ask` may go without.
    pub text: Option<Cow<'static, str>>,
    /// The rule's name, for records.
    pub rule: Option<Cow<'static, str>>,
}

impl Decision {
    /// The call is refused because of `reason`.
    pub fn deny(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Deny(Reason {
            text: Some(reason.into()),
            rule: None,
        })
    }

    /// A person must be asked because of `reason`.
    pub fn ask(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Ask(Reason {
            text: Some(reason.into()),
            rule: None,
        })
    }

    /// A person must be asked; no reason is given.
    pub const fn ask_without_reason() -> Self {
        Self::Ask(Reason {
            text: None,
            rule: None,
        })
    }

    /// Names the rule that decided. An `allow` is left as it is.
    pub fn by_rule(mut self, rule: impl Into<Cow<'static, str>>) -> Self {
        match &mut self {
            Self::Allow => {}
            Self::Ask(reason) | Self::Deny(reason) => reason.rule = Some(rule.into()),
        }
        self
    }

    /// Its place in the order allow < ask < deny.
    pub const fn strictness(&self) -> u8 {
        match self {
            Self::Allow => 0,
            Self::Ask(_) => 1,
            Self::Deny(_) => 2,
        }
    }
}

/// The decision so far: it only ever gets stricter.
///
/// ```
/// use toolfall_layers::{Decision, MonotonicGuard};
///
/// let mut guard = MonotonicGuard::new();
/// guard.tighten(Decision::ask("writes a file"));
/// guard.tighten(Decision::Allow);
/// assert_eq!(guard.decision().strictness(), 1, "an allow relaxes nothing");
///
/// let relaxed = guard.replace(Decision::Allow).unwrap_err();
/// assert_eq!(relaxed.to_string(), "expected a decision at least as strict as ask, found allow");
/// assert_eq!(guard.reasons().count(), 1, "and nothing has changed");
/// ```
#[derive(Clone, Debug, Default)]
pub struct MonotonicGuard {
    first: Decision,
    /// Further reasons as strict as the first.
    more: Vec<Reason>,
}

impl MonotonicGuard {
    /// Starts at allow.
    pub const fn new() -> Self {
        Self {
            first: Decision::Allow,
            more: Vec::new(),
        }
    }

    /// The strictest decision so far; of several asks, the first.
    pub const fn decision(&self) -> &Decision {
        &self.first
    }

    /// The reasons of all decisions that are as strict as the strictest.
    pub fn reasons(&self) -> impl Iterator<Item = &Reason> {
        let first = match &self.first {
            Decision::Allow => None,
            Decision::Ask(reason) | Decision::Deny(reason) => Some(reason),
        };
        first.into_iter().chain(&self.more)
    }

    /// Takes `decision` in: a stricter one replaces, an equally strict one
    /// adds its reason, a weaker one changes nothing.
    pub fn tighten(&mut self, decision: Decision) {
        match decision.strictness().cmp(&self.first.strictness()) {
            std::cmp::Ordering::Less => {}
            std::cmp::Ordering::Greater => {
                self.first = decision;
                self.more.clear();
            }
            std::cmp::Ordering::Equal => match decision {
                Decision::Allow => {}
                Decision::Ask(reason) | Decision::Deny(reason) => self.more.push(reason),
            },
        }
    }

    /// Takes `decision` in, which must not be weaker.
    ///
    /// # Errors
    ///
    /// [`GuardRelaxed`] if it is weaker; nothing changes then.
    pub fn replace(&mut self, decision: Decision) -> Result<(), GuardRelaxed> {
        if decision.strictness() < self.first.strictness() {
            return Err(GuardRelaxed {
                held: name(&self.first),
                attempted: name(&decision),
            });
        }
        self.tighten(decision);
        Ok(())
    }
}

const fn name(decision: &Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Ask(_) => "ask",
        Decision::Deny(_) => "deny",
    }
}

/// An attempt to weaken a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardRelaxed {
    held: &'static str,
    attempted: &'static str,
}

impl fmt::Display for GuardRelaxed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "expected a decision at least as strict as {}, found {}",
            self.held, self.attempted
        )
    }
}

impl Error for GuardRelaxed {}
