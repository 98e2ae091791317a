//! The rules and the approval policy as one policy: the strictest counts.

use std::future::Ready;

use toolfall::layers::policy::{Answer, Asked, Policy};
use toolfall::permission::{SandboxMode, SessionPermission, SessionPolicy};
use toolfall::policy::RuleList;
use toolfall::{BoxError, CallView, Decision, MonotonicGuard, Reason, Scope};

/// What decides of a call: the rules for all, those of the agents that make
/// it, and what the session permits. Of what is equally strict the first is
/// cited, and a person is told all of it.
#[derive(Clone)]
pub(crate) struct Decide {
    rules: Vec<RuleList>,
    agents: Vec<(Scope, Limits)>,
    permission: Option<(SessionPermission, SessionPolicy)>,
}

/// What one agent may call.
#[derive(Clone)]
pub(crate) struct Limits {
    pub(crate) rules: Option<RuleList>,
    /// The names of the tools that it has; without it all that there are.
    pub(crate) allow: Option<Vec<String>>,
    pub(crate) deny: Vec<String>,
}

impl Limits {
    /// Tools that come later are there for a moment before they are hidden.
    fn hides(&self, name: &str) -> bool {
        let is = |named: &String| named == name;
        self.deny.iter().any(is)
            || self
                .allow
                .as_ref()
                .is_some_and(|allow| !allow.iter().any(is))
    }
}

impl Decide {
    pub(crate) fn new(
        rules: Vec<RuleList>,
        agents: Vec<(Scope, Limits)>,
        permission: Option<SessionPermission>,
    ) -> Self {
        let permission = permission.map(|session| {
            let policy = session.policy();
            (session, policy)
        });
        Self {
            rules,
            agents,
            permission,
        }
    }

    fn decide(&self, call: &CallView) -> Result<Decision, BoxError> {
        let mut strictest = MonotonicGuard::new();
        for rules in &self.rules {
            strictest.tighten(rules.decide(call));
        }
        for (agent, limits) in &self.agents {
            if !call.scope().is_some_and(|scope| scope.is_within(agent)) {
                continue;
            }
            if let Some(rules) = &limits.rules {
                strictest.tighten(rules.decide(call));
            }
            // Its own tools and the way to all of them are nobody's to hide.
            if limits.hides(call.name()) && call.name().starts_with("mcp__") {
                let why = format!("agent {:?} has no such tool", agent.name());
                strictest.tighten(Decision::deny(why));
            }
        }
        if let Some((session, policy)) = &self.permission {
            strictest.tighten(policy.decide(call)?);
            let sandboxed = sandboxed(session.sandbox(), call, strictest.decision());
            strictest.tighten(sandboxed);
        }
        Ok(whole(&strictest))
    }
}

impl Policy<CallView, Decision> for Decide {
    type Future = Ready<Result<Decision, BoxError>>;

    fn ask(&self, call: &CallView) -> Asked<Decision, Self::Future> {
        Answer::Now(self.decide(call))
    }
}

/// What the sandbox mode comes to where the tools are not confined by
/// themselves. `so_far` is what was decided without it.
fn sandboxed(sandbox: SandboxMode, call: &CallView, so_far: &Decision) -> Decision {
    let Some(definition) = call.definition() else {
        return Decision::Allow;
    };
    let tool = call.name();
    let rule = format!("sandbox mode {sandbox}");
    if sandbox == SandboxMode::ReadOnly && definition.makes_edits() {
        // The guard would deny it, and nobody is to be asked in vain.
        let why = format!("tool \"{tool}\" changes files, and this session may only read");
        return Decision::deny(why).by_rule(rule);
    }
    // Nothing keeps a program in the workspace, and a person has to know of it.
    if sandbox.is_confined() && definition.is_dangerous() && *so_far == Decision::Allow {
        let why = format!("tool \"{tool}\" is dangerous, and nothing confines it to the workspace");
        return Decision::ask(why).by_rule(rule);
    }
    Decision::Allow
}

/// The decision, a question with every reason for it.
fn whole(strictest: &MonotonicGuard) -> Decision {
    let decision = strictest.decision().clone();
    let Decision::Ask(Reason { rule, .. }) = decision else {
        return decision;
    };
    let texts: Vec<&str> = strictest
        .reasons()
        .filter_map(|reason| reason.text.as_deref())
        .collect();
    Decision::Ask(Reason {
        text: (!texts.is_empty()).then(|| texts.join("; ").into()),
        rule,
    })
}
