//! The approval policy of a session in the pre-decision stage.

use std::fmt;
use std::future::Ready;
use std::sync::Arc;

use toolfall_layers::policy::{Answer, Asked, Policy};

use super::SessionPermission;
use crate::session::LogError;
use crate::{BoxError, CallView, Decision};

type Says = dyn Fn(&CallView) -> bool + Send + Sync;

/// Decides calls by the approval policy that applies to a session when the
/// call is made.
///
/// Before the first call that another policy decides than the log says, a
/// `permission/effective` record is written; if that fails, so does the call.
/// Asking and denying decisions name the policy and its source as their rule.
/// Made by [`SessionPermission::policy`].
#[derive(Clone)]
pub struct SessionPolicy {
    session: SessionPermission,
    dangerous: Vec<Arc<Says>>,
    edits: Vec<Arc<Says>>,
}

impl SessionPolicy {
    pub(super) const fn new(session: SessionPermission) -> Self {
        Self {
            session,
            dangerous: Vec::new(),
            edits: Vec::new(),
        }
    }

    /// Calls of which `rule` says so are dangerous, whatever their tool
    /// declares. It can make no tool harmless. A panic of it fails the call.
    pub fn dangerous_if(
        mut self,
        rule: impl Fn(&CallView) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.dangerous.push(Arc::new(rule));
        self
    }

    /// Calls of which `rule` says so make edits, whatever their tool
    /// declares. A panic of it fails the call.
    pub fn edits_if(mut self, rule: impl Fn(&CallView) -> bool + Send + Sync + 'static) -> Self {
        self.edits.push(Arc::new(rule));
        self
    }

    /// What is decided of `call`.
    ///
    /// # Errors
    ///
    /// The policy that applies could not be recorded.
    pub fn decide(&self, call: &CallView) -> Result<Decision, LogError> {
        let effective = self.session.effective_on_record()?;
        let any = |rules: &[Arc<Says>], call: &CallView| rules.iter().any(|rule| rule(call));
        Ok(effective.decide_with(
            call,
            |call| any(&self.dangerous, call),
            |call| any(&self.edits, call),
        ))
    }
}

impl Policy<CallView, Decision> for SessionPolicy {
    type Future = Ready<Result<Decision, BoxError>>;

    fn ask(&self, call: &CallView) -> Asked<Decision, Self::Future> {
        Answer::Now(self.decide(call).map_err(Into::into))
    }
}

impl fmt::Debug for SessionPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionPolicy")
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}
