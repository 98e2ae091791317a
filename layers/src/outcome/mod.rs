//! What travels back up the stack, and what is published in the end.

pub mod codes;
mod context;
mod kind;
mod result;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

pub use self::context::{ContextMessage, ContextSource};
pub use self::kind::{DecidedBy, Effect, ErrorInfo, FailureKind};
pub use self::result::ToolResult;
use crate::call::{CallView, ExecutionToken};
use crate::catalog::Rendered;
use crate::content::ContentBlock;

/// The outcome of a call on its way back up: a success or a failure.
///
/// Cheap to clone and immutable once shared: changing one that somebody else
/// holds changes a copy. A success is trusted only as the very object that
/// the body boundary made for this call; whatever a wrapper makes or changes
/// is validated and rendered again by the guard stage.
#[derive(Clone, Debug)]
pub struct ToolOutcome(Arc<Parts>);

#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    pub(crate) value: Option<Value>,
    pub(crate) failure: Option<Box<Failure>>,
    pub(crate) content: Vec<ContentBlock>,
    pub(crate) meta: Option<Value>,
    pub(crate) contexts: Vec<ContextMessage>,
    pub(crate) concludes: bool,
    /// A person ended the turn: unlike `concludes`, also where the call failed.
    pub(crate) turn_ended: bool,
    pub(crate) decided_by: Option<DecidedBy>,
    /// The call for which the content was derived from the value.
    pub(crate) rendered_for: Option<ExecutionToken>,
    /// Whether a policy put other content in the place of what was rendered.
    pub(crate) replaced: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) message: Cow<'static, str>,
    pub(crate) info: Option<ErrorInfo>,
    pub(crate) kind: FailureKind,
}

impl ToolOutcome {
    /// A success that a wrapper authors. The tool renders `value`; content
    /// is never taken from a wrapper.
    pub fn success(value: impl Into<Value>) -> Self {
        Self(Arc::new(Parts {
            value: Some(value.into()),
            ..Parts::default()
        }))
    }

    /// A failure with one text block, `Error: <message>`.
    pub fn failure(message: impl Into<Cow<'static, str>>) -> Self {
        let message = message.into();
        let content = vec![ContentBlock::text(format!("Error: {message}"))];
        Self(Arc::new(Parts {
            failure: Some(Box::new(Failure {
                message,
                info: None,
                kind: FailureKind::Pipeline,
            })),
            content,
            ..Parts::default()
        }))
    }

    pub(crate) fn rendered(call: &CallView, rendered: Rendered, concludes: bool) -> Self {
        Self(Arc::new(Parts {
            value: Some(rendered.value),
            content: rendered.content,
            // Metadata is for whoever shows the call; a nested call is not shown.
            meta: rendered.meta.filter(|_| call.parent().is_none()),
            concludes,
            rendered_for: Some(call.token()),
            ..Parts::default()
        }))
    }

    /// The refusal of a policy, a guard or a person: the reason, verbatim.
    pub(crate) fn denied(reason: impl Into<Cow<'static, str>>, by: DecidedBy) -> Self {
        Self::failure(reason).of_kind(FailureKind::Denied).by(by)
    }

    /// The answer to a name that the caller's scope does not see.
    pub fn unknown_tool(name: &str) -> Self {
        Self::failure(format!("unknown tool \"{name}\""))
            .with_info(ErrorInfo::new("ToolNotFoundError", codes::UNKNOWN_TOOL))
            .of_kind(FailureKind::UnknownTool)
    }

    /// The answer to arguments that break the tool's schema.
    pub fn invalid_arguments(violations: &[impl AsRef<str>]) -> Self {
        Self::failure(format!("invalid arguments: {}", joined(violations)))
            .with_info(ErrorInfo::new("ToolArgsError", codes::INVALID_ARGS))
            .of_kind(FailureKind::InvalidArguments)
    }

    /// The answer to a value that breaks the tool's output contract.
    pub fn invalid_output(name: &str, violations: &[impl AsRef<str>]) -> Self {
        let violations = joined(violations);
        Self::failure(format!(
            "tool \"{name}\" returned invalid output: {violations}"
        ))
        .with_info(ErrorInfo::new(
            "ToolOutputError",
            codes::INVALID_TOOL_OUTPUT,
        ))
        .of_kind(FailureKind::InvalidOutput)
    }

    /// The outcome of a cancellation; `entered` says whether a body was.
    pub fn aborted(entered: bool) -> Self {
        let (message, code) = if entered {
            ("tool call aborted", codes::ABORTED)
        } else {
            (
                "tool call aborted before dispatch",
                codes::ABORTED_BEFORE_DISPATCH,
            )
        };
        Self::failure(message)
            .with_info(ErrorInfo::new("AbortError", code))
            .of_kind(FailureKind::Cancelled)
    }

    /// The outcome of a budget of `budget` that elapsed.
    pub fn timed_out(budget: std::time::Duration) -> Self {
        Self::failure(format!(
            "tool call timed out after {}ms",
            budget.as_millis()
        ))
        .with_info(ErrorInfo::new("ToolTimeoutError", codes::TOOL_TIMEOUT))
        .of_kind(FailureKind::TimedOut)
    }

    /// The answer to a question that nobody answered within `waited`.
    pub(crate) fn unanswered(name: &str, waited: std::time::Duration) -> Self {
        let waited = waited.as_millis();
        Self::denied(
            format!("approval for tool \"{name}\" timed out after {waited}ms"),
            DecidedBy::Nobody,
        )
        .with_info(ErrorInfo::new(
            "ApprovalTimeoutError",
            codes::APPROVAL_TIMEOUT,
        ))
    }

    fn change(mut self, change: impl FnOnce(&mut Parts)) -> Self {
        let parts = Arc::make_mut(&mut self.0);
        change(parts);
        parts.rendered_for = None;
        self
    }

    /// Gives a failure name and code. A success is left as it is.
    pub fn with_info(self, info: ErrorInfo) -> Self {
        self.change(|parts| {
            if let Some(failure) = &mut parts.failure {
                failure.info = Some(info);
            }
        })
    }

    /// Says what kind of failure it is. A success is left as it is.
    pub fn of_kind(self, kind: FailureKind) -> Self {
        self.change(|parts| {
            if let Some(failure) = &mut parts.failure {
                failure.kind = kind;
            }
        })
    }

    /// Says who decided.
    pub fn by(self, by: DecidedBy) -> Self {
        self.change(|parts| parts.decided_by = Some(by))
    }

    /// Replaces what the model sees. On a success the tool's own rendering
    /// replaces it again, unless this happens outside the guard stage.
    pub fn with_content(self, content: Vec<ContentBlock>) -> Self {
        self.change(|parts| parts.content = content)
    }

    /// Adds a block of text for the model, beside the message.
    pub fn with_note(self, note: impl Into<String>) -> Self {
        let note = ContentBlock::text(note);
        self.change(|parts| parts.content.push(note))
    }

    /// Sets the metadata for presentation.
    pub fn with_meta(self, meta: Value) -> Self {
        self.change(|parts| parts.meta = Some(meta))
    }

    /// Adds a message to be delivered after the batch.
    pub fn with_context(self, context: ContextMessage) -> Self {
        self.change(|parts| parts.contexts.push(context))
    }

    /// Marks the model's turn as finished. A failure cannot carry the mark; the
    /// result stage alone puts it on one, where a person's refusal ends the turn.
    pub fn concluding_turn(self) -> Self {
        self.change(|parts| parts.concludes = parts.failure.is_none())
    }

    /// Marks the turn as finished by a person, also on a failure.
    pub(crate) fn turn_ended(mut self) -> Self {
        Arc::make_mut(&mut self.0).turn_ended = true;
        self
    }

    pub(crate) fn with_contexts(self, contexts: Vec<ContextMessage>) -> Self {
        self.change(|parts| parts.contexts = contexts)
    }

    /// Puts `earlier` before the contexts that are there; keeps the trust in
    /// the rendering, which contexts do not touch.
    pub(crate) fn after_contexts(mut self, mut earlier: Vec<ContextMessage>) -> Self {
        if !earlier.is_empty() {
            let parts = Arc::make_mut(&mut self.0);
            earlier.append(&mut parts.contexts);
            parts.contexts = earlier;
        }
        self
    }

    pub(crate) fn append_contexts(mut self, contexts: Vec<ContextMessage>) -> Self {
        if !contexts.is_empty() {
            Arc::make_mut(&mut self.0).contexts.extend(contexts);
        }
        self
    }

    /// Replaces the content outside the guard stage, where the rendering has
    /// been judged already.
    pub(crate) fn showing(mut self, content: Vec<ContentBlock>) -> Self {
        let parts = Arc::make_mut(&mut self.0);
        parts.content = content;
        parts.replaced = true;
        self
    }

    pub(crate) fn is_rendered_for(&self, call: &CallView) -> bool {
        self.0.rendered_for == Some(call.token())
    }

    /// The value and the marks of a success, for rendering it again.
    pub(crate) fn take_value(&self) -> Option<(Value, bool, Vec<ContextMessage>)> {
        let value = self.0.value.clone()?;
        Some((value, self.0.concludes, self.0.contexts.clone()))
    }

    pub(crate) fn parts(&self) -> &Parts {
        &self.0
    }

    pub(crate) fn into_shared(self) -> Arc<Parts> {
        self.0
    }

    /// Whether it is a success.
    pub fn is_success(&self) -> bool {
        self.0.failure.is_none()
    }

    /// Whether a policy, a guard or a person refused the call.
    pub fn is_denied(&self) -> bool {
        self.kind() == Some(FailureKind::Denied)
    }

    /// The canonical value of a success.
    pub fn value(&self) -> Option<&Value> {
        self.0.value.as_ref()
    }

    /// What the model sees.
    pub fn content(&self) -> &[ContentBlock] {
        &self.0.content
    }

    /// The message of a failure, without the `Error: ` prefix.
    pub fn message(&self) -> Option<&str> {
        self.0.failure.as_ref().map(|failure| &*failure.message)
    }

    /// Name and code of a coded failure.
    pub fn info(&self) -> Option<&ErrorInfo> {
        self.0.failure.as_ref()?.info.as_ref()
    }

    /// The code of a coded failure.
    pub fn code(&self) -> Option<&str> {
        self.info().map(ErrorInfo::code)
    }

    /// Why it failed.
    pub fn kind(&self) -> Option<FailureKind> {
        self.0.failure.as_ref().map(|failure| failure.kind)
    }

    /// Who decided, if it was not simply the body.
    pub fn decided_by(&self) -> Option<&DecidedBy> {
        self.0.decided_by.as_ref()
    }

    /// Metadata for presentation.
    pub fn meta(&self) -> Option<&Value> {
        self.0.meta.as_ref()
    }

    /// Messages to deliver after the batch.
    pub fn contexts(&self) -> &[ContextMessage] {
        &self.0.contexts
    }

    /// Whether the tool declared the model's turn finished.
    pub fn concludes_turn(&self) -> bool {
        self.0.concludes
    }
}

fn joined(violations: &[impl AsRef<str>]) -> String {
    let violations: Vec<&str> = violations.iter().map(AsRef::as_ref).collect();
    violations.join("; ")
}

pub(crate) fn joined_text(content: &[ContentBlock]) -> String {
    let texts: Vec<&str> = content.iter().filter_map(ContentBlock::as_text).collect();
    texts.join("\n")
}
