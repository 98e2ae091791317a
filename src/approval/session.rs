//! The session log as the trail of questions.

use toolfall_layers::{ApprovalAnswer, ApprovalRequest, BoxError};

use super::digest::sent_digest;
use super::{ApprovalAudit, QuestionDigest};
use crate::session::{AskedRecord, DecidedRecord, SessionRecorder};

/// Writes `approval/asked` and `approval/decided` records. Give the same
/// recorder to the pipeline, and the records name the call's place in the log.
impl ApprovalAudit for SessionRecorder {
    fn asked(&self, id: &str, request: &ApprovalRequest) -> Result<(), BoxError> {
        let call_id = Some(request.call_id().as_str()).filter(|id| !id.is_empty());
        self.log().append(AskedRecord {
            id: id.to_owned(),
            call: self.ordinal(request.call()),
            call_id: call_id.map(ToOwned::to_owned),
            tool: request.tool().to_owned(),
            reason: request.reason().map(ToOwned::to_owned),
            // Without an id the call cannot be made again as the same one.
            digest: call_id.map(|_| QuestionDigest::of_request(request)),
            sent: call_id.and_then(|_| sent_digest(request)),
        })?;
        Ok(())
    }

    fn decided(
        &self,
        id: &str,
        _: &ApprovalRequest,
        answer: &ApprovalAnswer,
    ) -> Result<(), BoxError> {
        self.log().append(DecidedRecord::answered(id, answer))?;
        Ok(())
    }
}
