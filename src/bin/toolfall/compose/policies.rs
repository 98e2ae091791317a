//! What decides about the calls of a run.
//!
//! From the outside in: budgets, hooks, rules with the approval policy. Budgets come first, so that
//! every call counts, a denial of a hook is a failure in a row, and a spent
//! budget starts no program. Grants are around the rules, whose questions they
//! answer; an ask of a hook is a stage of its own, and a person's to answer.

use futures_util::future::{MapOk, TryFutureExt as _};
use toolfall::layers::policy::{Answer, Asked, Policy};
use toolfall::policy::budget::Budgets;
use toolfall::policy::grants::{Grants, MemoryGrants};
use toolfall::policy::repeat::RepeatReminder;
use toolfall::{CallView, Decision, PostDecision, PostRequest, Reason, Scope};

use super::decide::Decide;
use crate::config::Config;
use crate::error::Error;
use crate::input::Batch;
use crate::render::Ending;

/// The policies of a run.
pub(crate) struct Policies {
    pub(crate) budgets: Budgets,
    /// Whether exceeding a budget ends the run.
    ends_run: bool,
    reminder: Option<RepeatReminder>,
    grants: MemoryGrants,
    #[cfg(unix)]
    hooks: toolfall::hooks::HookSet,
    #[cfg(unix)]
    session: toolfall::hooks::HookSession,
}

impl Policies {
    /// What `config` says, and what is to be told of it. `log` is where the
    /// hooks find the session; with `replay` there are none.
    #[cfg_attr(not(unix), expect(unused_variables, reason = "for hooks alone"))]
    pub(crate) fn new(
        config: &Config,
        log: &std::path::Path,
        replay: bool,
    ) -> Result<(Self, Vec<String>), Error> {
        let (budgets, ends_run) = config.budgets();
        #[cfg(not(unix))]
        config.refuse_hooks()?;
        #[cfg(unix)]
        let session = config.hook_session(log);
        #[cfg(unix)]
        let loaded = config.hooks(session.clone(), replay)?;
        let policies = Self {
            budgets,
            ends_run,
            reminder: config.reminder()?,
            grants: config.grants()?,
            #[cfg(unix)]
            hooks: loaded.hooks,
            #[cfg(unix)]
            session,
        };
        #[cfg(unix)]
        return Ok((policies, loaded.notes));
        #[cfg(not(unix))]
        Ok((policies, Vec::new()))
    }

    /// What `decide` says, whose questions grants may answer. With `never`
    /// nobody is asked.
    pub(crate) fn decide(
        &self,
        decide: Decide,
        never: bool,
    ) -> impl Policy<CallView, Decision> + Clone + Send + Sync + 'static {
        Asking {
            policy: Grants::new(self.grants.clone(), decide),
            never,
        }
    }

    /// The hooks before a tool.
    #[cfg(unix)]
    pub(crate) fn hooks_before(
        &self,
        never: bool,
    ) -> impl Policy<CallView, Decision> + Clone + Send + Sync + 'static {
        Asking {
            policy: self.hooks.pre(),
            never,
        }
    }

    /// The hooks before a tool: none on this system.
    #[cfg(not(unix))]
    pub(crate) fn hooks_before(
        &self,
        _: bool,
    ) -> impl Fn(&CallView) -> Decision + Clone + Send + Sync + 'static {
        |_: &CallView| Decision::Allow
    }

    /// The hooks after a tool.
    #[cfg(unix)]
    pub(crate) fn hooks_after(&self) -> toolfall::hooks::PostHooks {
        self.hooks.post()
    }

    /// The hooks after a tool: none on this system.
    #[cfg(not(unix))]
    pub(crate) fn hooks_after(
        &self,
    ) -> impl Fn(&PostRequest) -> PostDecision + Clone + Send + Sync + 'static {
        |_: &PostRequest| PostDecision::accept()
    }

    /// The reminder of repeats, if there is one.
    pub(crate) fn remind(
        &self,
    ) -> impl Fn(&PostRequest) -> PostDecision + Clone + Send + Sync + 'static {
        let reminder = self.reminder.clone();
        move |post: &PostRequest| {
            let reminder = reminder.as_ref().and_then(|reminder| reminder.remind(post));
            let decision = PostDecision::accept();
            match reminder {
                Some(reminder) => decision.with_context_first(reminder),
                None => decision,
            }
        }
    }

    /// Says that `batch`, the run's `number`th, begins for `scope`.
    #[cfg_attr(not(unix), expect(unused_variables, reason = "for hooks alone"))]
    pub(crate) fn begin(&self, batch: &Batch, number: u64, scope: &Scope) {
        // A turn begins when the user has spoken.
        if batch.turn.is_some()
            && let Some(reminder) = &self.reminder
        {
            reminder.reset_for(scope);
        }
        #[cfg(unix)]
        self.session.set_turn(number);
    }

    /// The budget that ends the run, if one does.
    pub(crate) fn ends(&self) -> Option<Ending> {
        let exceeded = self.budgets.exceeded(None).filter(|_| self.ends_run);
        exceeded.map(Ending::Budget)
    }
}

/// A policy that is asked about tools that exist, and whose questions are
/// denials where nobody is asked.
///
/// A tool that does not exist is nobody's to decide: the pipeline answers so,
/// and with the names that may have been meant.
#[derive(Clone)]
struct Asking<P> {
    policy: P,
    never: bool,
}

impl<P: Policy<CallView, Decision>> Policy<CallView, Decision> for Asking<P> {
    type Future = MapOk<P::Future, fn(Decision) -> Decision>;

    fn ask(&self, call: &CallView) -> Asked<Decision, Self::Future> {
        if call.definition().is_none() {
            return Answer::Now(Ok(Decision::Allow));
        }
        let answer: fn(Decision) -> Decision = if self.never { unasked } else { |same| same };
        match self.policy.ask(call) {
            Answer::Now(decision) => Answer::Now(decision.map(answer)),
            Answer::Later(decision) => Answer::Later(decision.map_ok(answer)),
        }
    }
}

/// What a question comes to where nobody is asked.
fn unasked(decision: Decision) -> Decision {
    let Decision::Ask(Reason { text, rule }) = decision else {
        return decision;
    };
    let why = text.unwrap_or_else(|| "a person was to be asked".into());
    Decision::Deny(Reason {
        text: Some(format!("{why}, and nobody is asked in this run").into()),
        rule,
    })
}
