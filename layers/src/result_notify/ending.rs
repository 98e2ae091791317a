//! How a call ends: once, whoever is left to do it.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::call::CallView;
use crate::catalog::Definition;
use crate::error::body_failure;
use crate::outcome::{DecidedBy, Effect, FailureKind, ToolOutcome, ToolResult};
use crate::panic::catch;
use crate::span::{StageSpan, record_end};

/// A failure that skips the post-execute stage.
pub(crate) struct Final(pub(crate) ToolOutcome);

impl fmt::Debug for Final {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Final {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.message().unwrap_or("the call has ended"))
    }
}

impl Error for Final {}

/// What is needed to publish a call's result.
pub(crate) struct Ending {
    pub(crate) view: CallView,
    /// Captured at intake, before any policy could take it away.
    pub(crate) finalizer: Option<Arc<dyn Definition>>,
    pub(crate) outcome: Option<ToolOutcome>,
    pub(crate) span: StageSpan,
}

impl Ending {
    /// Freezes the outcome and tells everybody. The caller has closed the
    /// call's gate and seen it idle.
    pub(crate) fn publish(self) -> ToolResult {
        let _in_span = self.span.entered();
        let state = self.view.state();
        let deferred = state.close_contexts();
        // Nobody came back with an outcome: what the bodies said counts.
        let outcome = self.outcome.unwrap_or_else(|| {
            state
                .take_left_behind()
                .unwrap_or_else(|| ToolOutcome::aborted(state.was_entered()))
                .after_contexts(deferred)
        });
        // Cancellation never replaces a failure.
        let outcome = if outcome.is_success() && state.caller.is_cancelled() {
            ToolOutcome::aborted(state.was_entered()).with_contexts(outcome.contexts().to_vec())
        } else {
            outcome
        };
        let outcome = finalized(&self.view, self.finalizer.as_deref(), outcome);
        let outcome = if state.is_approved() && outcome.decided_by().is_none() {
            outcome.by(DecidedBy::Approver)
        } else {
            outcome
        };
        let outcome = if state.ends_turn() {
            outcome.turn_ended()
        } else {
            outcome
        };
        let effect = if !state.was_entered() {
            Effect::NotStarted
        } else if state.is_effect_unknown() {
            Effect::Unknown
        } else {
            Effect::Stopped
        };
        let result = ToolResult::freeze(outcome, effect);
        record_end(&self.span, &result);
        // A future that was dropped before its first poll: no record has only
        // one half.
        if let Some(recorder) = &state.host.recorder
            && !state.mark_recorded()
        {
            let _ = catch(|| recorder.call(&self.view));
        }
        state.host.notify(&self.view, &result);
        if let Some(turn) = &state.turn {
            turn.done();
        }
        // The last handle on a tool that is gone: its destructor is user code.
        if let Some(finalizer) = self.finalizer {
            let _ = catch(|| drop(finalizer));
        }
        result
    }
}

fn finalized(
    view: &CallView,
    finalizer: Option<&dyn Definition>,
    outcome: ToolOutcome,
) -> ToolOutcome {
    let Some(finalizer) = finalizer else {
        return outcome;
    };
    match catch(|| finalizer.finalize(view, &outcome)) {
        Ok(Ok(None)) => outcome,
        Ok(Ok(Some(content))) => outcome.with_content(content),
        Ok(Err(error)) => body_failure(&*error).of_kind(FailureKind::Policy),
        Err(panic) => body_failure(&panic).of_kind(FailureKind::Policy),
    }
}

/// Publishes the ending when it is dropped before that was done.
///
/// Not generic, so that its `Drop` puts no bounds on the stage's future.
pub(super) struct EndingGuard(pub(super) Option<Ending>);

impl Drop for EndingGuard {
    fn drop(&mut self) {
        let Some(ending) = self.0.take() else {
            return;
        };
        let view = ending.view.clone();
        let state = view.state();
        // Left for the last body before the gate is closed: whoever then
        // finds the gate closed and idle takes it, and only one can.
        state.store_ending(ending);
        if state.gate.close()
            && let Some(ending) = state.take_ending()
        {
            ending.publish();
        }
    }
}
