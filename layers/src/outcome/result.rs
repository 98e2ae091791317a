//! The frozen end of a call.

use std::sync::Arc;

use serde_json::Value;

use super::{ContextMessage, DecidedBy, Effect, ErrorInfo, FailureKind, Parts, ToolOutcome};
use crate::content::ContentBlock;

/// What became of a call: immutable, shared, one per call.
///
/// Only the result stage makes one, and the scheduler, through
/// [`ToolResult::not_started`], for calls that it never began.
#[derive(Clone, Debug)]
pub struct ToolResult {
    parts: Arc<Parts>,
    effect: Effect,
    synthetic: bool,
}

impl ToolResult {
    pub(crate) fn freeze(outcome: ToolOutcome, effect: Effect) -> Self {
        Self {
            parts: outcome.into_shared(),
            effect,
            synthetic: false,
        }
    }

    /// The result of a call that never entered the pipeline, for a scheduler.
    ///
    /// A success cannot be made here: `outcome` of a call that did not start
    /// is a failure, and a success given in is turned into
    /// `ABORTED_BEFORE_DISPATCH`.
    pub fn not_started(outcome: ToolOutcome) -> Self {
        let outcome = if outcome.is_success() {
            ToolOutcome::aborted(false)
        } else {
            outcome
        };
        Self {
            parts: outcome.into_shared(),
            effect: Effect::NotStarted,
            synthetic: true,
        }
    }

    pub(crate) fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Whether the call failed.
    pub fn is_error(&self) -> bool {
        self.parts.failure.is_some()
    }

    /// The canonical value of a success.
    pub fn value(&self) -> Option<&Value> {
        self.parts.value.as_ref()
    }

    /// What the model sees.
    pub fn content(&self) -> &[ContentBlock] {
        &self.parts.content
    }

    /// Whether the content is what the tool made of the value, untouched.
    ///
    /// If it is not, somebody decided that the model is to see something
    /// else: whoever passes results on to a model must not send it the value.
    pub fn shows_value(&self) -> bool {
        let parts = &self.parts;
        parts.value.is_some() && parts.rendered_for.is_some() && !parts.replaced
    }

    /// The content's text blocks, joined by newlines.
    pub fn text(&self) -> String {
        super::joined_text(&self.parts.content)
    }

    /// The message of a failure, without the `Error: ` prefix.
    pub fn message(&self) -> Option<&str> {
        self.parts.failure.as_ref().map(|failure| &*failure.message)
    }

    /// Name and code of a coded failure.
    pub fn info(&self) -> Option<&ErrorInfo> {
        self.parts.failure.as_ref()?.info.as_ref()
    }

    /// The code of a coded failure.
    pub fn code(&self) -> Option<&str> {
        self.info().map(ErrorInfo::code)
    }

    /// Why the call failed.
    pub fn kind(&self) -> Option<FailureKind> {
        self.parts.failure.as_ref().map(|failure| failure.kind)
    }

    /// Who decided the outcome, if it was not simply the body.
    pub fn decided_by(&self) -> Option<&DecidedBy> {
        self.parts.decided_by.as_ref()
    }

    /// Metadata for presentation.
    pub fn meta(&self) -> Option<&Value> {
        self.parts.meta.as_ref()
    }

    /// Messages to deliver after the batch's last result.
    pub fn contexts(&self) -> &[ContextMessage] {
        &self.parts.contexts
    }

    /// Whether the model's turn is finished: the tool declared it so and
    /// succeeded, or a person refused the call, or one nested in it, and ended
    /// the turn with that.
    pub fn concludes_turn(&self) -> bool {
        self.parts.concludes || self.parts.turn_ended
    }

    pub(crate) fn is_turn_ended(&self) -> bool {
        self.parts.turn_ended
    }

    /// What may have happened in the world.
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// Whether the call never entered the pipeline.
    pub fn is_synthetic(&self) -> bool {
        self.synthetic
    }

    /// Whether both are the very same result.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.parts, &other.parts)
    }
}
