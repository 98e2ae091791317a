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
pub(super) struct Decide {
    rules: Option<RuleList>,
    agents: Vec<(Scope, RuleList)>,
    permission: Option<(SessionPermission, SessionPolicy)>,
}

impl Decide {
    pub(super) fn new(
        rules: Option<RuleList>,
        agents: Vec<(Scope, RuleList)>,
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
        if let Some(rules) = &self.rules {
            strictest.tighten(rules.decide(call));
        }
        for (agent, rules) in &self.agents {
            if call.scope().is_some_and(|scope| scope.is_within(agent)) {
                strictest.tighten(rules.decide(call));
            }
        }
        if let Some((session, policy)) = &self.permission {
            strictest.tighten(policy.decide(call)?);
            if strictest.decision() == &Decision::Allow {
                strictest.tighten(unconfined(session.sandbox(), call));
            }
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

/// Nothing keeps a program in the workspace. Where tools are to stay there, a
/// person has to know of it.
fn unconfined(sandbox: SandboxMode, call: &CallView) -> Decision {
    let dangerous = call.definition().is_some_and(|tool| tool.is_dangerous());
    if !sandbox.is_confined() || !dangerous {
        return Decision::Allow;
    }
    let tool = call.name();
    Decision::ask(format!(
        "tool \"{tool}\" is dangerous, and nothing confines it to the workspace"
    ))
    .by_rule(format!("sandbox mode {sandbox}"))
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
