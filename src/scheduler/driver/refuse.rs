//! Answering calls that never begin, and a batch that is lost.

use toolfall_layers::panic::{catch, display};

use super::Driver;
use crate::pipeline::PipelineService;
use crate::scheduler::batch::Committed;
use crate::scheduler::input::Submission;
use crate::{CallRequest, ErrorInfo, FailureKind, ToolOutcome, ToolResult, codes};

impl<S: PipelineService> Driver<S> {
    /// Answers the next call without beginning it, once it is its turn.
    pub(super) fn refuse_next(&mut self) -> Option<Committed> {
        if !self.begun.is_empty() {
            return None;
        }
        let next = self.waiting.front()?;
        let outcome = if self.cancel.is_cancelled() || next.request.cancellation().is_cancelled() {
            ToolOutcome::aborted(false)
        } else {
            let why = next.cut.as_ref().or(self.cut_off.as_ref())?;
            ToolOutcome::failure(format!("the call was not run: {why}"))
                .with_info(ErrorInfo::new("TruncatedError", codes::TRUNCATED))
                .of_kind(FailureKind::Truncated)
        };
        let Submission { request, .. } = self.waiting.pop_front()?;
        let (id, name) = (request.id().clone(), request.shared_name());
        let result = self.never_begun(request, outcome);
        Some(self.committed(id, name, result))
    }

    fn never_begun(&self, mut request: CallRequest, outcome: ToolOutcome) -> ToolResult {
        // No stage will ask the tool what it hides.
        if let Some(redaction) = self.registry.redaction(request.name(), request.scope()) {
            request = request.with_redaction(redaction);
        }
        let result = ToolResult::not_started(outcome);
        if let Some(journal) = &self.journal {
            let recorded = catch(|| journal.not_started(&request, &result));
            let failed = match recorded {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(display(&error)),
                Err(panic) => Some(display(&panic)),
            };
            if let Some(message) = failed {
                let message = request.shown_text(&message);
                tracing::warn!(
                    "tool \"{}\" ({}): the journal failed: {message}",
                    request.name(),
                    request.id()
                );
            }
        }
        result
    }
}

impl<S: PipelineService> Drop for Driver<S> {
    /// A batch that is lost before its end: also calls that nobody will poll
    /// again get their one result, in model order as far as it goes.
    fn drop(&mut self) {
        if self.begun.is_empty() && self.waiting.is_empty() && self.input.is_none() {
            return;
        }
        self.cancel.cancel();
        while let Some(begun) = self.begun.pop_front() {
            // The bodies find a runtime of their own, or are dropped.
            if begun.is_open() {
                self.slots.clear(begun.place);
            }
        }
        self.close_input();
        while let Some(input) = &mut self.input
            && let Ok(submission) = input.try_recv()
        {
            self.waiting.push_back(submission);
        }
        while let Some(call) = self.waiting.pop_front() {
            self.never_begun(call.request, ToolOutcome::aborted(false));
        }
    }
}
