//! From a reply to a running batch, and from its report back to messages.

use std::borrow::Cow;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{WireBatch, WireResult, write_results};
use crate::pipeline::PipelineService;
use crate::scheduler::{Batch, BatchReport, Scheduler};
use crate::{Arguments, CallRequest, Scope};

impl WireBatch {
    /// The calls as requests, in order, each cancelled by `cancel` and made
    /// on behalf of `scope`. An absent id becomes the empty one.
    pub fn requests(&self, scope: Option<&Scope>, cancel: &CancellationToken) -> Vec<CallRequest> {
        self.calls
            .iter()
            .map(|call| {
                let id = call.id.clone().unwrap_or_default();
                let name = call.name.clone();
                let request = match call.arguments.as_text() {
                    Some(text) => CallRequest::new(id, name, text, cancel.clone()),
                    None => CallRequest::new(id, name, Arguments::empty(), cancel.clone()),
                };
                match scope {
                    Some(scope) => request.with_scope(scope.clone()),
                    None => request,
                }
            })
            .collect()
    }

    /// The batch for a scheduler. Of a reply that was cut off nothing runs,
    /// even if it parses; each call is answered, saying why.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), toolfall::BoxError> {
    /// use tokio_util::sync::CancellationToken;
    /// use toolfall::wire::read_reply;
    /// use toolfall::{Pipeline, Registry};
    ///
    /// let reply = read_reply(None, r#"{
    ///     "role": "assistant", "content": null, "tool_calls": [
    ///         {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    ///     ]
    /// }"#)?;
    /// let scheduler = Pipeline::builder(Registry::new()).build().scheduler();
    /// let report = reply.batch(&scheduler, None, CancellationToken::new()).run().await;
    /// let messages = reply.answers(&report);
    /// assert_eq!(messages[0]["tool_call_id"], "call_1");
    /// assert_eq!(messages[0]["content"], "Error: unknown tool \"read\"");
    /// # Ok(()) }
    /// ```
    pub fn batch<S>(
        &self,
        scheduler: &Scheduler<S>,
        scope: Option<&Scope>,
        cancel: CancellationToken,
    ) -> Batch<S>
    where
        S: PipelineService + Send + 'static,
        S::Future: Send,
    {
        let batch = scheduler.batch(self.requests(scope, &cancel), cancel);
        match self.why_not() {
            Some(why) => batch.incomplete(why),
            None => batch,
        }
    }

    /// Why nothing of the reply may run.
    fn why_not(&self) -> Option<Cow<'static, str>> {
        match &self.incomplete {
            Some(incomplete) => Some(Cow::Owned(incomplete.to_string())),
            None if self.calls.iter().any(|call| call.cut) => {
                Some(Cow::Borrowed("the reply ended in the middle of a call"))
            }
            None => None,
        }
    }

    /// The messages that answer the calls, paired by place.
    pub fn answers(&self, report: &BatchReport) -> Vec<Value> {
        let results: Vec<WireResult<'_>> = self
            .calls
            .iter()
            .zip(&report.committed)
            .map(|(call, committed)| {
                let result = &committed.result;
                WireResult::of(call, result.content(), result.is_error())
            })
            .collect();
        write_results(self.dialect, &results)
    }
}
