use std::fmt;
use std::task::{Context, Poll};

use tower_service::Service;

use super::future::{Question, ResponseFuture};
use super::{ApprovalAnswer, ApprovalRequest};
use crate::call::{DecidedCall, ToolCall};
use crate::error::BoxError;
use crate::outcome::{DecidedBy, ToolOutcome};
use crate::panic::catch;
use crate::policy::Policy;
use crate::pre_decision::Decision;

/// Asks the approver where a policy asked.
#[derive(Clone)]
pub struct Approval<S, A> {
    inner: S,
    approver: A,
    present: bool,
}

impl<S, A> Approval<S, A> {
    pub(crate) const fn new(inner: S, approver: A, present: bool) -> Self {
        Self {
            inner,
            approver,
            present,
        }
    }
}

impl<S, A> Service<ToolCall> for Approval<S, A>
where
    S: Service<DecidedCall, Response = ToolOutcome> + Clone,
    S::Error: Into<BoxError>,
    A: Policy<ApprovalRequest, ApprovalAnswer>,
{
    type Response = ToolOutcome;
    type Error = BoxError;
    type Future = ResponseFuture<S, A::Future>;

    /// Ready at once: a permit is never held across an approval.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: ToolCall) -> Self::Future {
        let ToolCall { view, decisions } = call;
        if !matches!(decisions.decision(), Decision::Ask(_)) {
            return ResponseFuture::calling(self.inner.clone(), DecidedCall { view });
        }
        let reasons: Vec<&str> = decisions
            .reasons()
            .filter_map(|reason| reason.text.as_deref())
            .collect();
        let reason = (!reasons.is_empty()).then(|| reasons.join("; "));
        if !self.present {
            let message = reason.unwrap_or_else(|| {
                format!(
                    "tool \"{}\" requires approval (not yet supported)",
                    view.name()
                )
            });
            return ResponseFuture::refused(ToolOutcome::denied(message, DecidedBy::Nobody));
        }
        if view.scope().is_none() {
            let message = format!(
                "tool \"{}\" requires approval, but the call has no agent to route it through",
                view.name()
            );
            return ResponseFuture::refused(ToolOutcome::denied(message, DecidedBy::Nobody));
        }
        // Nobody is asked about a call that cannot run anyway.
        if let (Some(definition), Some(arguments)) = (view.definition(), view.arguments()) {
            match catch(|| definition.check_arguments(&view, arguments)) {
                Ok(Ok(())) => {}
                Ok(Err(failure)) => return ResponseFuture::refused(failure),
                Err(panic) => return ResponseFuture::failed(panic.into()),
            }
        }
        let question = Question::new(&self.approver, ApprovalRequest::new(view, reason));
        ResponseFuture::asking(question, self.inner.clone())
    }
}

impl<S: fmt::Debug, A> fmt::Debug for Approval<S, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Approval")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}
