//! One grant: which calls it covers, and for how long.

use std::num::NonZeroU32;
use std::time::Duration;

use tokio::time::Instant;
use toolfall_layers::{Digest, WeakScope};

#[cfg(feature = "rules")]
use crate::policy::rules::{RuleList, Verdict};
use crate::{Arguments, CallView, Scope};

/// A person's answer that holds for more than one call.
///
/// Without [`uses`](Self::uses) it may be used any number of times, without
/// [`expires_after`](Self::expires_after) it does not end, and without
/// [`within`](Self::within) it holds for every scope.
#[derive(Clone, Debug)]
pub struct Grant {
    name: String,
    what: What,
    scope: Option<WeakScope>,
    expires: Option<Instant>,
    uses: Option<NonZeroU32>,
}

#[derive(Clone, Debug)]
enum What {
    Exact {
        tool: String,
        arguments: Digest,
    },
    Tool(String),
    #[cfg(feature = "rules")]
    Matching(RuleList),
}

/// Why a grant cannot be made or kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GrantError {
    /// A grant of that name stands; a record could not tell them apart.
    #[error("expected a name that no standing grant has, found {name:?}")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// A grant without a name, which no record could cite.
    #[error("expected a name for the grant, found none")]
    NoName,
    /// The store keeps as many standing grants as it may.
    #[error("expected fewer than {limit} standing grants, found {limit}")]
    Full {
        /// How many it may keep.
        limit: usize,
    },
}

impl Grant {
    fn new(name: String, what: What) -> Self {
        Self {
            name,
            what,
            scope: None,
            expires: None,
            uses: None,
        }
    }

    /// Covers calls of the same tool with the same argument text as `call`,
    /// byte for byte, whatever their ids.
    pub fn exact(name: impl Into<String>, call: &CallView) -> Self {
        // Arguments that cannot be kept are covered by no grant; the digest of
        // what is shown of them keeps this one from covering anything else.
        let arguments = match call.arguments() {
            Some(arguments) => *arguments.digest(),
            None => Digest::of(call.raw_arguments()),
        };
        let tool = call.name().to_owned();
        Self::new(name.into(), What::Exact { tool, arguments })
    }

    /// Covers calls of `tool` with exactly the text of `arguments`.
    pub fn exact_call(
        name: impl Into<String>,
        tool: impl Into<String>,
        arguments: &Arguments,
    ) -> Self {
        let what = What::Exact {
            tool: tool.into(),
            arguments: *arguments.digest(),
        };
        Self::new(name.into(), what)
    }

    /// Covers every call of the tool `tool`.
    pub fn tool(name: impl Into<String>, tool: impl Into<String>) -> Self {
        Self::new(name.into(), What::Tool(tool.into()))
    }

    /// Covers the calls that a rule in `rules` allows; what only the list's
    /// default allows is not covered. With the feature `rules`.
    ///
    /// ```
    /// use toolfall::policy::grants::Grant;
    /// use toolfall::policy::{Rule, RuleList, Test};
    ///
    /// let docs = Rule::allow("docs").tool("write_file").argument("/path", Test::path("docs/**"));
    /// let grant = Grant::matching("docs for today", RuleList::new([docs])?);
    /// assert_eq!(grant.name(), "docs for today");
    /// # Ok::<(), toolfall::BoxError>(())
    /// ```
    #[cfg(feature = "rules")]
    pub fn matching(name: impl Into<String>, rules: RuleList) -> Self {
        Self::new(name.into(), What::Matching(rules))
    }

    /// Covers only calls from `scope` and from scopes nested in it, and ends
    /// with it.
    pub fn within(mut self, scope: &Scope) -> Self {
        self.scope = Some(scope.downgrade());
        self
    }

    /// Ends after `ttl`, counted from now on tokio's clock: at that instant
    /// it covers nothing any more. A time past the clock's end does not end.
    pub fn expires_after(mut self, ttl: Duration) -> Self {
        self.expires = Instant::now().checked_add(ttl);
        self
    }

    /// May be used `uses` times.
    pub fn uses(mut self, uses: NonZeroU32) -> Self {
        self.uses = Some(uses);
        self
    }

    /// The name that records cite.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How often it may be used in all; `None` is without limit.
    pub const fn allowed_uses(&self) -> Option<NonZeroU32> {
        self.uses
    }

    /// Whether it has ended: its time is over or its scope is gone. Uses are
    /// counted by the store.
    pub fn is_over(&self) -> bool {
        self.expires
            .is_some_and(|expires| Instant::now() >= expires)
            || self.scope.as_ref().is_some_and(WeakScope::is_gone)
    }

    /// Whether it covers `call` now.
    pub fn covers(&self, call: &CallView) -> bool {
        !self.is_over() && self.is_for(call.scope()) && self.matches(call)
    }

    fn is_for(&self, scope: Option<&Scope>) -> bool {
        let Some(wanted) = &self.scope else {
            return true;
        };
        scope.is_some_and(|scope| scope.chain().any(|scope| scope.downgrade() == *wanted))
    }

    fn matches(&self, call: &CallView) -> bool {
        let Some(found) = call.arguments() else {
            return false;
        };
        match &self.what {
            What::Exact { tool, arguments } => tool == call.name() && arguments == found.digest(),
            What::Tool(tool) => tool == call.name(),
            #[cfg(feature = "rules")]
            What::Matching(list) => {
                // A tree of malformed text is no arguments to test.
                found.malformed().is_none()
                    && matches!(
                        list.verdict(call.name(), found.value()),
                        (Verdict::Allow, Some(_))
                    )
            }
        }
    }
}
