//! The trail that questions leave.

use std::sync::Arc;

use toolfall_layers::panic::{catch, display};
use toolfall_layers::{ApprovalAnswer, ApprovalOutcome, ApprovalRequest, BoxError};

/// Keeps the trail of questions: each is recorded as asked before anybody is
/// asked, and as decided exactly once, under the same id.
///
/// Both methods are called on the task of the call and should not block for
/// long.
pub trait ApprovalAudit: Send + Sync {
    /// Records that somebody is about to be asked. `id` is the
    /// request's own.
    ///
    /// # Errors
    ///
    /// Nobody is asked, and the call fails with the error.
    fn asked(&self, id: &str, request: &ApprovalRequest) -> Result<(), BoxError>;

    /// Records how the question was settled.
    ///
    /// # Errors
    ///
    /// The answer is void and the call fails with the error: a decision that
    /// was not recorded is none. A question that was dropped has nobody left
    /// to tell, and the error is logged.
    fn decided(
        &self,
        id: &str,
        request: &ApprovalRequest,
        answer: &ApprovalAnswer,
    ) -> Result<(), BoxError>;
}

/// One question's pair of records; the second is made on every way out.
pub(super) struct Trail {
    audit: Option<Arc<dyn ApprovalAudit>>,
    /// Empty without an audit.
    id: String,
    request: ApprovalRequest,
}

impl Trail {
    /// Records the first of the pair.
    pub(super) fn begin(
        audit: Option<Arc<dyn ApprovalAudit>>,
        request: ApprovalRequest,
    ) -> Result<Self, BoxError> {
        let id = audit.as_ref().map_or_else(String::new, |_| request.id());
        if let Some(audit) = &audit {
            catch(|| audit.asked(&id, &request)).unwrap_or_else(|panic| Err(panic.into()))?;
        }
        Ok(Self { audit, id, request })
    }

    pub(super) const fn request(&self) -> &ApprovalRequest {
        &self.request
    }

    /// Records the second of the pair, and gives the answer back if that
    /// could be done.
    pub(super) fn end(mut self, answer: ApprovalAnswer) -> Result<ApprovalAnswer, BoxError> {
        self.decide(&answer).map(|()| answer)
    }

    fn decide(&mut self, answer: &ApprovalAnswer) -> Result<(), BoxError> {
        let Some(audit) = self.audit.take() else {
            return Ok(());
        };
        catch(|| audit.decided(&self.id, &self.request, answer))
            .unwrap_or_else(|panic| Err(panic.into()))
    }
}

impl Drop for Trail {
    /// The question was dropped while it was open.
    fn drop(&mut self) {
        if let Err(error) = self.decide(&ApprovalOutcome::Cancelled.into()) {
            // Outside the macro, which has a `display` of its own.
            let error = display(&error);
            let error = self.request.call().shown_text(&error);
            tracing::warn!(
                "tool \"{}\" ({}): approval {} was dropped and cannot be recorded as cancelled: {}",
                self.request.tool(),
                self.request.call_id(),
                self.id,
                error
            );
        }
    }
}
