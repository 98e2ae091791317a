//! The session log as the pipeline's recorder and the scheduler's journal.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::future::Future as _;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use toolfall_layers::panic::catch;

use super::hidden::HiddenContexts;
use super::log::Appended;
use super::log_copy::{LogCopy, SubCall};
use super::{
    Body, CallRecord, ContextRecord, DispatchStartRecord, ErrorRecord, LogError, ResultRecord,
    SessionLog, StartedRecord,
};
use crate::policy::grants::GrantedBy;
use crate::redaction::{REDACTED, Redaction, ShownResult};
use crate::scheduler::Journal;
use crate::{
    BoxError, CallId, CallRequest, CallView, ContentBlock, ContextMessage, ExecutionToken,
    FailureKind, Recorded, Recorder, ToolResult,
};

/// Writes every call of a stack to a [`SessionLog`].
///
/// The call record has left the process before the first policy sees the
/// call; if it cannot be written, the call does not run and says so. A
/// `tool/started` record precedes the first body, and the one result record
/// follows the observers, on every path.
///
/// ```
/// use std::sync::Arc;
/// use tokio_util::sync::CancellationToken;
/// use toolfall::session::{SessionLog, SessionRecorder, check};
/// use toolfall::{Pipeline, Registry};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let log = SessionLog::in_memory();
/// let pipeline = Pipeline::builder(Registry::new())
///     .recorder(Arc::new(SessionRecorder::new(log.clone())))
///     .build();
/// pipeline.call("1", "nope", "{}", CancellationToken::new()).await;
/// let kinds: Vec<String> =
///     log.records().unwrap().iter().map(|record| record.body.kind().to_owned()).collect();
/// assert_eq!(kinds, ["tool/call", "tool/result"]);
/// # }
/// ```
pub struct SessionRecorder {
    log: SessionLog,
    /// What is hidden of records that belong to no call of a stack.
    redaction: Option<Arc<dyn Redaction>>,
    /// Messages that are not delivered yet and of which something is hidden.
    hidden: HiddenContexts,
    /// The ordinals of the calls that have no result yet, with their root's.
    open: Mutex<HashMap<ExecutionToken, Place>>,
}

#[derive(Clone, Copy)]
struct Place {
    call: u64,
    root: u64,
    parent: Option<u64>,
}

impl SessionRecorder {
    /// A recorder that writes to `log`.
    pub fn new(log: SessionLog) -> Self {
        Self {
            log,
            redaction: None,
            hidden: HiddenContexts::default(),
            open: Mutex::default(),
        }
    }

    /// Hides what `redaction` says where there is no pipeline to do so
    /// ([`PipelineBuilder::redact`](crate::PipelineBuilder::redact)): of calls
    /// that a batch never began, and of messages for the model.
    pub fn redact(mut self, redaction: impl Redaction) -> Self {
        self.redaction = Some(Arc::new(redaction));
        self
    }

    /// The log.
    pub fn log(&self) -> &SessionLog {
        &self.log
    }

    /// The ordinal in the log of a call that has no result yet.
    pub fn ordinal(&self, call: &CallView) -> Option<u64> {
        self.place(call.token()).map(|place| place.call)
    }

    /// Records the messages of a finished batch as they are delivered.
    ///
    /// # Errors
    ///
    /// The first message that could not be written.
    pub fn contexts(&self, contexts: &[ContextMessage]) -> Result<(), LogError> {
        for (context, content) in contexts.iter().zip(self.shown_contexts(contexts)) {
            self.hidden.forget(context);
            self.log.append(ContextRecord {
                call: None,
                id: context.id.clone(),
                role: "user".to_owned(),
                content,
                source: serde_json::to_value(&context.source).ok(),
                metadata: context.meta.clone(),
            })?;
        }
        Ok(())
    }

    /// The contents of messages as people may see them, and as
    /// [`contexts`](Self::contexts) records them: without what the calls that
    /// left them hide. Ask before they are recorded.
    pub fn shown_contexts(&self, contexts: &[ContextMessage]) -> Vec<Vec<ContentBlock>> {
        contexts.iter().map(|context| self.shown(context)).collect()
    }

    fn shown(&self, context: &ContextMessage) -> Vec<ContentBlock> {
        let mut shown = ShownResult::default();
        shown.content = self.hidden.shown(context);
        if let Some(redaction) = &self.redaction {
            let hidden = catch(|| redaction.result("", None, &mut shown));
            if hidden.is_err() {
                shown.content = vec![ContentBlock::text(REDACTED)];
            }
        }
        shown.content
    }

    fn place(&self, token: ExecutionToken) -> Option<Place> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.get(&token).copied()
    }
}

impl Recorder for SessionRecorder {
    fn call(&self, view: &CallView) -> Recorded {
        let call = self.log.new_call();
        let outer = view.parent().and_then(|parent| self.place(parent));
        let appended = self.log.append(match sub_call(view) {
            Some(sub) => Body::DispatchStart(dispatch_start(view, &sub, call, outer)),
            None => Body::Call(CallRecord {
                root: outer.map(|outer| outer.root),
                parent: outer.map(|outer| outer.call),
                ..call_of(view, call)
            }),
        });
        if appended.is_ok() {
            let place = Place {
                call,
                root: outer.map_or(call, |outer| outer.root),
                parent: outer.map(|outer| outer.call),
            };
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.insert(view.token(), place);
        }
        synced(appended)
    }

    fn started(&self, view: &CallView) -> Recorded {
        match self.ordinal(view) {
            Some(call) => synced(self.log.append(StartedRecord { call })),
            None => Recorded::Now(Ok(())),
        }
    }

    fn result(&self, view: &CallView, result: &ToolResult) -> Result<(), BoxError> {
        self.hidden.keep(view, result);
        let place = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.remove(&view.token())
        };
        // A call whose record could not be written has no result record.
        let Some(place) = place else {
            return Ok(());
        };
        let shown = view.shown_result(result);
        let shown = shown.unwrap_or_else(|| ShownResult::of(result));
        let mut record = record_of(place.call, view.id().as_str(), result, shown);
        (record.allowed_by, record.granted_by) = let_through(view, result);
        match sub_call(view) {
            None => drop(self.log.append(record)?),
            Some(sub) => {
                // Pictures of such a call reach the model as a message.
                self.hidden.keep_content(result, &record.content);
                let outer = place.parent.map(|call| Place {
                    call,
                    root: place.root,
                    parent: None,
                });
                let start = dispatch_start(view, &sub, place.call, outer);
                let copy = LogCopy::new(self.log.clone(), view.clone(), start.closed_by(record));
                sub.copies.leave(sub.number, copy);
            }
        }
        Ok(())
    }
}

impl Journal for SessionRecorder {
    fn not_started(&self, request: &CallRequest, result: &ToolResult) -> Result<(), BoxError> {
        let call = self.log.new_call();
        let mut arguments = request.shown_arguments().into_owned();
        let mut shown = request
            .shown_result(result)
            .unwrap_or_else(|| ShownResult::of(result));
        if let Some(redaction) = &self.redaction {
            let hidden = catch(|| {
                redaction.result(request.raw_arguments(), None, &mut shown);
                redaction.arguments(&arguments)
            });
            match hidden {
                Ok(None) => {}
                Ok(Some(hidden)) => arguments = hidden,
                Err(panic) => return Err(panic.into()),
            }
        }
        let redacted = arguments != request.raw_arguments();
        self.log.append(CallRecord {
            call,
            id: request.id().as_str().to_owned(),
            name: request.name().to_owned(),
            arguments,
            redacted,
            agent: request.scope().map(|scope| scope.name().to_owned()),
            synthetic: true,
            ..CallRecord::default()
        })?;
        self.log
            .append(record_of(call, request.id().as_str(), result, shown))?;
        Ok(())
    }
}

/// What marks the call as a program's.
fn sub_call(view: &CallView) -> Option<Arc<SubCall>> {
    // Most calls are nested in none, and their extensions need not be asked.
    view.parent()?;
    view.extensions().get::<SubCall>()
}

fn dispatch_start(
    view: &CallView,
    sub: &SubCall,
    call: u64,
    outer: Option<Place>,
) -> DispatchStartRecord {
    // A model may have sent no id; its records still have to say which call.
    let id = |id: &CallId, ordinal: Option<u64>| match (id.as_str(), ordinal) {
        ("", Some(ordinal)) => format!("#{ordinal}"),
        (id, _) => id.to_owned(),
    };
    let CallRecord {
        name,
        arguments,
        redacted,
        agent,
        ..
    } = call_of(view, call);
    DispatchStartRecord {
        call,
        root: outer.map(|outer| outer.root),
        parent: outer.map(|outer| outer.call),
        root_call_id: id(view.root_id(), outer.map(|outer| outer.root)),
        parent_call_id: id(&sub.parent, outer.map(|outer| outer.call)),
        sub_call_id: view.id().as_str().to_owned(),
        name,
        arguments,
        redacted,
        agent,
    }
}

/// The record of a call that is in no other.
fn call_of(view: &CallView, call: u64) -> CallRecord {
    let arguments = view.shown_arguments();
    let redacted = matches!(&arguments, Cow::Owned(shown) if shown != view.raw_arguments());
    CallRecord {
        call,
        id: view.id().as_str().to_owned(),
        name: view.name().to_owned(),
        arguments: arguments.into_owned(),
        redacted,
        root: None,
        parent: None,
        agent: view.scope().map(|scope| scope.name().to_owned()),
        synthetic: false,
        unordered: !view.is_in_batch(),
    }
}

/// The rules and the grants that let the call through; of a call that was
/// denied after all none did.
fn let_through(view: &CallView, result: &ToolResult) -> (Vec<String>, Vec<String>) {
    if result.kind() == Some(FailureKind::Denied) {
        return Default::default();
    }
    let extensions = view.extensions();
    #[cfg(feature = "rules")]
    let rules = extensions
        .get::<crate::policy::AllowedBy>()
        .map_or_else(Vec::new, |by| by.names().to_vec());
    #[cfg(not(feature = "rules"))]
    let rules = Vec::new();
    let grants = extensions.get::<GrantedBy>();
    let grants = grants.map_or_else(Vec::new, |by| by.names().to_vec());
    (rules, grants)
}

/// Ready at once unless the policy is to sync before going on.
fn synced(appended: Result<Appended, LogError>) -> Recorded {
    let mut synced = match appended {
        Ok(appended) => appended.synced(),
        Err(error) => return Recorded::Now(Err(error.into())),
    };
    match Pin::new(&mut synced).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => Recorded::Now(done.map_err(Into::into)),
        Poll::Pending => Recorded::Later(Box::pin(async move { Ok(synced.await?) })),
    }
}

fn record_of(call: u64, id: &str, result: &ToolResult, shown: ShownResult) -> ResultRecord {
    ResultRecord {
        call,
        id: id.to_owned(),
        is_error: result.is_error(),
        content: shown.content,
        error: shown.message.map(|message| ErrorRecord {
            message,
            name: result.info().map(|info| info.name().to_owned()),
            code: result.code().map(ToOwned::to_owned),
        }),
        kind: result.kind().map(|kind| kind.as_str().to_owned()),
        effect: Some(result.effect().as_str().to_owned()),
        decided_by: result.decided_by().map(ToString::to_string),
        allowed_by: Vec::new(),
        granted_by: Vec::new(),
        meta: shown.meta,
        synthetic: result.is_synthetic(),
        interrupted: false,
        concludes_turn: result.concludes_turn(),
    }
}

impl fmt::Debug for SessionRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionRecorder")
            .field("log", &self.log)
            .finish_non_exhaustive()
    }
}
