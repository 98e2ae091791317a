//! What a tool's body gets beside its arguments.

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use tokio_util::sync::CancellationToken;
use toolfall_layers::{
    BodyContext, CallRequest, CallView, ContextMessage, IntoArguments, ToolResult,
};
use tower::util::{BoxCloneSyncService, ServiceExt as _};

/// A call nested deeper than this is refused.
const MAX_NESTING: u32 = 16;

pub(crate) type Entry = BoxCloneSyncService<CallRequest, ToolResult, std::convert::Infallible>;

/// The way back into the whole pipeline, set once it is assembled.
#[derive(Default)]
pub(crate) struct Reentry(OnceLock<Entry>);

impl Reentry {
    pub(crate) fn set(&self, entry: Entry) {
        // A second pipeline over the same leaf keeps the first entry.
        let _ = self.0.set(entry);
    }
}

/// How deep a nested call is; travels as an extension.
struct Nesting(u32);

/// What a running body can reach.
///
/// Cheap to clone and `Send + Sync`; what a body adds after its dispatch has
/// ended is ignored.
#[derive(Clone)]
pub struct ToolContext {
    body: BodyContext,
    reentry: Weak<Reentry>,
}

impl ToolContext {
    pub(crate) const fn new(body: BodyContext, reentry: Weak<Reentry>) -> Self {
        Self { body, reentry }
    }

    /// The call that the body runs for.
    pub fn call(&self) -> &CallView {
        self.body.call()
    }

    /// The body's token; see [`BodyContext::cancellation`].
    pub fn cancellation(&self) -> &CancellationToken {
        self.body.cancellation()
    }

    /// Adds a message to be delivered after the batch's last result, also if
    /// the body fails later. Never blocks; says whether it was kept.
    pub fn defer_context(&self, context: ContextMessage) -> bool {
        self.body.defer_context(context)
    }

    /// Declares the model's turn finished if the body succeeds.
    pub fn conclude_turn(&self) {
        self.body.conclude_turn();
    }

    /// Tells how far the body has come, if the caller attached a
    /// [`ProgressSink`] to the request.
    pub fn progress(&self, progress: Progress) {
        if let Some(sink) = self.call().extensions().get::<ProgressSink>() {
            (sink.0)(self.call(), progress);
        }
    }

    /// Calls another tool. The call goes through the whole pipeline with this
    /// execution as its parent, and with this body's cancellation and scope;
    /// the messages that it defers are deferred here. It never waits for a
    /// scheduler's slot.
    ///
    /// A failure of the nested call is a result, not an error. Whether its
    /// success concludes the turn is left to the body; a person's refusal that
    /// ended the turn ends it for this call too.
    ///
    /// # Errors
    ///
    /// [`CallToolError`] if the pipeline is gone, the leaf was assembled by
    /// hand without a way back, or the nesting is too deep.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the nested call as dropping any call does.
    pub async fn call_tool(
        &self,
        name: impl Into<std::borrow::Cow<'static, str>>,
        arguments: impl IntoArguments,
    ) -> Result<ToolResult, CallToolError> {
        let entry = self.entry()?;
        let id = format!("{}:call:{}", self.call().id(), self.body.next_child());
        let request = self.below(id, name, arguments, self.cancellation().child_token());
        let result = match entry.oneshot(request).await {
            Ok(result) => result,
            Err(never) => match never {},
        };
        self.heed(&result);
        for context in result.contexts() {
            self.defer_context(context.clone());
        }
        Ok(result)
    }

    /// The way back into the pipeline, for calls that this body makes.
    ///
    /// # Errors
    ///
    /// As [`call_tool`](Self::call_tool).
    pub(crate) fn entry(&self) -> Result<Entry, CallToolError> {
        if self.depth() > MAX_NESTING {
            return Err(CallToolError::TooDeep { limit: MAX_NESTING });
        }
        let reentry = self.reentry.upgrade().ok_or(CallToolError::PipelineGone)?;
        let entry = reentry.0.get().ok_or(CallToolError::PipelineGone)?;
        Ok(entry.clone())
    }

    /// How deep the calls are that this body makes.
    fn depth(&self) -> u32 {
        let nesting = self.call().extensions().get::<Nesting>();
        nesting.map_or(0, |nesting| nesting.0) + 1
    }

    /// A call that this body makes, cancelled by `cancellation`.
    pub(crate) fn below(
        &self,
        id: String,
        name: impl Into<std::borrow::Cow<'static, str>>,
        arguments: impl IntoArguments,
        cancellation: CancellationToken,
    ) -> CallRequest {
        let outer = self.call();
        let mut request = CallRequest::new(id, name, arguments, cancellation)
            .nested_in(outer.token(), outer.root_id().clone())
            .with_extension(Nesting(self.depth()));
        if let Some(scope) = outer.scope() {
            request = request.with_scope(scope.clone());
        }
        if let Some(sink) = outer.extensions().get::<ProgressSink>() {
            request = request.with_extension(ProgressSink(sink.0.clone()));
        }
        request
    }

    /// Takes over what a call that this body made came to; see
    /// [`BodyContext::heed`].
    pub(crate) fn heed(&self, nested: &ToolResult) {
        self.body.heed(nested);
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("call", self.call())
            .finish_non_exhaustive()
    }
}

/// Why a nested call could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallToolError {
    /// There is no pipeline to go through (any more).
    #[error("expected a pipeline to call through, found none")]
    PipelineGone,
    /// Tools call each other too deeply.
    #[error("expected calls nested at most {limit} deep, found more")]
    TooDeep {
        /// The limit.
        limit: u32,
    },
}

/// How far a body has come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// How much is done, in a unit of the tool's own.
    pub done: f64,
    /// How much there is, if known.
    pub total: Option<f64>,
    /// One line for people.
    pub message: Option<String>,
}

/// Receives the progress of bodies; attach it to a request with
/// [`CallRequest::with_extension`]. Nested calls inherit it.
///
/// The closure runs on the body's task and must not block.
#[derive(Clone)]
pub struct ProgressSink(Arc<Sink>);

type Sink = dyn Fn(&CallView, Progress) + Send + Sync;

impl ProgressSink {
    /// Tells `sink` of every step.
    pub fn new(sink: impl Fn(&CallView, Progress) + Send + Sync + 'static) -> Self {
        Self(Arc::new(sink))
    }
}

impl fmt::Debug for ProgressSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgressSink").finish_non_exhaustive()
    }
}
