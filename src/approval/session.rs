//! The session log as the trail of questions.

use toolfall_layers::{ApprovalOutcome, ApprovalRequest, BoxError};

use super::ApprovalAudit;
use crate::session::{AskedRecord, DecidedRecord, SessionRecorder};

/// Writes `approval/asked` and `approval/decided` records. Give the same
/// recorder to the pipeline, and the records name the call's place in the log.
impl ApprovalAudit for SessionRecorder {
    fn asked(&self, id: &str, request: &ApprovalRequest) -> Result<(), BoxError> {
        self.log().append(AskedRecord {
            id: id.to_owned(),
            call: self.ordinal(request.call()),
            call_id: Some(request.call_id().as_str())
                .filter(|id| !id.is_empty())
                .map(ToOwned::to_owned),
            tool: request.tool().to_owned(),
            reason: request.reason().map(ToOwned::to_owned),
        })?;
        Ok(())
    }

    fn decided(
        &self,
        id: &str,
        _: &ApprovalRequest,
        outcome: ApprovalOutcome,
    ) -> Result<(), BoxError> {
        self.log().append(DecidedRecord::new(id, outcome))?;
        Ok(())
    }
}
