//! What a running body can reach.

use std::fmt;
use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

use crate::call::{Call, CallView, Replaced};
use crate::catalog::Definition;
use crate::error::{BoxError, Part, StageError, pipeline_failure};
use crate::outcome::{ContextMessage, ToolOutcome, ToolResult};
use crate::panic::catch;
use crate::result_notify::Recorded;

/// The state of one dispatch; the first one of a call lies in the call.
pub(crate) struct DispatchCell {
    token: OnceLock<CancellationToken>,
}

impl DispatchCell {
    pub(crate) const fn new() -> Self {
        Self {
            token: OnceLock::new(),
        }
    }
}

/// One dispatch of a call: shared by the body and by whoever drives it.
#[derive(Clone)]
pub(crate) struct Dispatch {
    pub(crate) view: CallView,
    pub(crate) replaced: Option<Replaced>,
    own: Option<Arc<DispatchCell>>,
}

impl Dispatch {
    fn new(view: CallView, replaced: Option<Replaced>, first: bool) -> Self {
        let own = (!first).then(|| Arc::new(DispatchCell::new()));
        Self {
            view,
            replaced,
            own,
        }
    }

    fn cell(&self) -> &DispatchCell {
        match &self.own {
            Some(cell) => cell,
            None => &self.view.state().first_dispatch,
        }
    }

    /// The body's own token, made when first asked for.
    pub(crate) fn token(&self) -> &CancellationToken {
        self.cell().token.get_or_init(|| {
            let token = match &self.replaced {
                Some(replaced) => replaced.token().child_token(),
                None => self.view.cancellation().child_token(),
            };
            // The replacement may be unrelated to the caller's token.
            if self.replaced.is_some() && self.view.cancellation().is_cancelled() {
                token.cancel();
            }
            token
        })
    }

    pub(crate) fn cancel(&self) {
        self.token().cancel();
    }

    /// Whether one of the sources of the body's token is cancelled; asks the
    /// sources themselves, so nothing depends on a relay having run.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.view.cancellation().is_cancelled()
            || self.replaced.as_ref().is_some_and(Replaced::is_cancelled)
    }

    pub(crate) fn concluded(&self) -> bool {
        self.view.state().is_concluded()
    }
}

/// What a body gets beside its arguments.
///
/// It may be cloned and sent to tasks that the body starts. Once the dispatch
/// has ended, what they add is ignored.
#[derive(Clone)]
pub struct BodyContext {
    pub(crate) dispatch: Dispatch,
}

impl BodyContext {
    /// The call that the body runs for.
    pub fn call(&self) -> &CallView {
        &self.dispatch.view
    }

    /// The body's token: cancelled with the caller's token, with whatever an
    /// around stage put in its place, and when the body's future was dropped.
    ///
    /// A body that ignores it is waited for.
    pub fn cancellation(&self) -> &CancellationToken {
        self.dispatch.token()
    }

    /// Adds a message to be delivered after the batch's last result, also if
    /// the body fails later. Never blocks; says whether it was kept.
    pub fn defer_context(&self, context: ContextMessage) -> bool {
        self.dispatch.view.state().defer(context)
    }

    /// What the catalog knows of the tool now, for the leaf that runs it: as
    /// [`CallView::definition`], but nobody is expected to ask again.
    pub fn definition(&self) -> Option<Arc<dyn Definition>> {
        self.dispatch.view.look_up_last()
    }

    /// The number of the next call that this call's bodies make, from 1: for
    /// ids that do not depend on timing.
    pub fn next_child(&self) -> u32 {
        self.dispatch.view.state().next_child()
    }

    /// Takes over what a call that this body made came to, as far as it binds
    /// this call: a person's refusal that ended the model's turn ends it for
    /// this call too, whatever the body makes of the failure. Whether a nested
    /// success concludes the turn is left to the body.
    pub fn heed(&self, nested: &ToolResult) {
        if nested.is_turn_ended() {
            self.dispatch.view.state().mark_ends_turn();
        }
    }

    /// Declares the model's turn finished if the call succeeds, whichever of
    /// its bodies does.
    pub fn conclude_turn(&self) {
        self.dispatch.view.state().mark_concluded();
    }
}

impl fmt::Debug for BodyContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BodyContext")
            .field("call", self.call())
            .finish_non_exhaustive()
    }
}

impl BodyContext {
    pub(crate) const fn new(dispatch: Dispatch) -> Self {
        Self { dispatch }
    }
}

/// A dispatch whose body counts; counts it out when dropped, and publishes
/// the call's ending if that was left to the last body.
pub(crate) struct Counted(Dispatch);

impl Counted {
    /// Counts a body in, unless the call is over: then the view comes back.
    pub(crate) fn enter(view: CallView, replaced: Option<Replaced>) -> Result<Self, CallView> {
        match view.state().gate.enter() {
            // From here on the guard counts out, whatever happens.
            Some(first) => Ok(Self(Dispatch::new(view, replaced, first))),
            None => Err(view),
        }
    }
}

impl std::ops::Deref for Counted {
    type Target = Dispatch;

    fn deref(&self) -> &Dispatch {
        &self.0
    }
}

/// Has the start of a call's first body recorded.
pub(crate) fn record_start(view: &CallView) -> Recorded {
    let state = view.state();
    match &state.host.recorder {
        Some(recorder) if !state.was_entered() => catch(|| recorder.started(view))
            .unwrap_or_else(|panic| Recorded::Now(Err(panic.into()))),
        _ => Recorded::Now(Ok(())),
    }
}

/// The outcome where the record could not be written.
pub(crate) fn unrecorded(error: BoxError) -> ToolOutcome {
    pipeline_failure(&StageError::new(Part::Recorder, error))
}

impl Drop for Counted {
    fn drop(&mut self) {
        let state = self.0.view.state();
        let exit = state.gate.exit();
        if exit.last {
            if exit.waited_for {
                state.wake_waiters();
            }
            if exit.closed
                && let Some(ending) = state.take_ending()
            {
                ending.publish();
            }
        }
    }
}

impl Call for BodyContext {
    fn view(&self) -> &CallView {
        &self.dispatch.view
    }

    fn cancellation(&self) -> &CancellationToken {
        self.dispatch.token()
    }
}
