//! Refusing what changed behind people's backs.

use std::future::Ready;

use toolfall_layers::policy::{Answer, Asked, Policy};

use super::Definitions;
use crate::{BoxError, CallView, Decision};

/// A pre-decision policy that refuses calls of tools whose definition is
/// another than the one that was accepted; see
/// [`Definitions::refuse_changed`]. Of all other calls it says nothing.
///
/// The rule it names is [`CODE`](Self::CODE).
#[derive(Clone, Debug)]
pub struct RefuseChanged(Definitions);

impl RefuseChanged {
    /// The rule that its denials name.
    pub const CODE: &'static str = "TOOL_DEFINITION_CHANGED";

    pub(super) const fn new(definitions: Definitions) -> Self {
        Self(definitions)
    }

    /// Decides about a call of the tool `name`.
    pub fn decide(&self, name: &str) -> Decision {
        match self.0.lock().refusal(name) {
            Some(reason) => Decision::deny(reason).by_rule(Self::CODE),
            None => Decision::Allow,
        }
    }
}

impl Policy<CallView, Decision> for RefuseChanged {
    type Future = Ready<Result<Decision, BoxError>>;

    fn ask(&self, call: &CallView) -> Asked<Decision, Self::Future> {
        Answer::Now(Ok(self.decide(call.name())))
    }
}
