//! The counting.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use toolfall_layers::Digest;

use super::canonical::canonical;
use super::config::{RepeatConfig, RepeatConfigError};
use super::pattern;
use super::text::Repeat;
use crate::policy::per_scope::PerScope;
use crate::{Arguments, ContextMessage, FailureKind, PostRequest, Scope};

/// Counts identical calls in a row and speaks up; see the
/// [module docs](super).
///
/// Clones share their counts. Nothing is kept past the process.
#[derive(Clone)]
pub struct RepeatReminder(Arc<Inner>);

struct Inner {
    /// Its thresholds are sorted and not empty.
    config: RepeatConfig,
    chains: PerScope<Mutex<Chain>>,
}

/// The last watched call of one agent. Digests keep it small, whatever the
/// model sends.
#[derive(Default)]
struct Chain {
    last: Option<(Digest, Digest)>,
    count: u64,
}

impl RepeatReminder {
    /// A reminder that follows `config`. Thresholds may be in any order.
    ///
    /// # Errors
    ///
    /// [`RepeatConfigError`] for what cannot be used.
    pub fn new(mut config: RepeatConfig) -> Result<Self, RepeatConfigError> {
        config.check()?;
        config.thresholds.sort_unstable();
        Ok(Self(Arc::new(Inner {
            config,
            chains: PerScope::new(),
        })))
    }

    /// Counts the call of `post` and says what is to be said of it.
    ///
    /// For hosts that put post-execute decisions together themselves; call it
    /// exactly once for each outcome, in the model's order.
    pub fn remind(&self, post: &PostRequest) -> Option<ContextMessage> {
        let call = post.call();
        let scope = call.scope()?;
        if !self.watches(call.name()) || never_ran(post) {
            return None;
        }
        let arguments = canonical(call.arguments().map(Arguments::value)?);
        let this = Some((Digest::of(call.name()), Digest::of(&arguments)));
        let chain = self.0.chains.of(scope);
        let count = {
            let mut chain = chain.lock().unwrap_or_else(PoisonError::into_inner);
            if chain.last == this {
                chain.count = chain.count.saturating_add(1);
            } else {
                chain.last = this;
                chain.count = 1;
            }
            chain.count
        };
        let config = &self.0.config;
        let place = config.thresholds.binary_search(&count).ok()?;
        let repeat = Repeat {
            tool: call.name(),
            count,
            arguments: &arguments,
        };
        Some(if place == 0 {
            repeat.gently()
        } else {
            repeat.in_detail(config.arguments_preview_chars)
        })
    }

    /// Starts `scope`'s count anew, because a user has spoken to the agent.
    /// Messages of plugins and tools are no reason to.
    pub fn reset_for(&self, scope: &Scope) {
        self.0.chains.forget(scope);
    }

    /// How many agents that still live have a count. Frees the counts of
    /// those that do not, as the first call of any new agent does too.
    pub fn live_chains(&self) -> usize {
        self.0.chains.live()
    }

    fn watches(&self, tool: &str) -> bool {
        let any = |patterns: &[String]| {
            patterns
                .iter()
                .any(|pattern| pattern::matches(pattern, tool))
        };
        let config = &self.0.config;
        (config.include.is_empty() || any(&config.include)) && !any(&config.exclude)
    }
}

/// Whether the call was turned away for its arguments, or cancelled before
/// its body: it says nothing about what the model keeps doing.
fn never_ran(post: &PostRequest) -> bool {
    match post.outcome().kind() {
        Some(FailureKind::InvalidArguments | FailureKind::Truncated) => true,
        Some(FailureKind::Cancelled) => !post.call().was_entered(),
        _ => false,
    }
}

/// A reminder with the default [`RepeatConfig`].
impl Default for RepeatReminder {
    fn default() -> Self {
        Self(Arc::new(Inner {
            config: RepeatConfig::default(),
            chains: PerScope::new(),
        }))
    }
}

impl fmt::Debug for RepeatReminder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RepeatReminder")
            .field("config", &self.0.config)
            .finish_non_exhaustive()
    }
}
