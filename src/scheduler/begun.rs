//! What the driver keeps of a call that has begun.

use std::borrow::Cow;

use toolfall_layers::turn::{Mark, TurnControl};

use crate::tool::ExecutionMode;
use crate::{CallId, CallRequest, ToolResult};

/// A call that has begun.
pub(super) struct Begun {
    pub(super) id: CallId,
    pub(super) name: Cow<'static, str>,
    pub(super) control: TurnControl,
    pub(super) mode: ExecutionMode,
    /// Where its future is.
    pub(super) place: usize,
    pub(super) has_slot: bool,
    pub(super) is_parked: bool,
    pub(super) may_commit: bool,
    pub(super) end: End,
}

/// What became of a call.
pub(super) enum End {
    /// Nothing yet.
    Open,
    /// This.
    With(ToolResult),
    /// A layer outside the pipeline panicked: there will be no result.
    Lost,
}

/// What a look at a call changes in the driver's counts.
#[derive(Default)]
pub(super) struct Change {
    pub(super) frees_slot: bool,
    pub(super) parks: bool,
    pub(super) unparks: bool,
}

impl Begun {
    pub(super) fn new(
        request: &CallRequest,
        control: TurnControl,
        mode: ExecutionMode,
        place: usize,
    ) -> Self {
        Self {
            id: request.id().clone(),
            name: request.shared_name(),
            control,
            mode,
            place,
            has_slot: true,
            is_parked: false,
            may_commit: false,
            end: End::Open,
        }
    }

    pub(super) const fn is_open(&self) -> bool {
        matches!(self.end, End::Open)
    }

    /// Whether the next call's policies may start.
    pub(super) fn is_past_policy(&self) -> bool {
        [Mark::Admitted, Mark::Parked, Mark::WantsSlot, Mark::Settled]
            .into_iter()
            .any(|mark| self.control.has(mark))
    }

    /// Brings the call's books up to its marks.
    pub(super) fn look(&mut self) -> Change {
        let mut change = Change::default();
        let done =
            !self.is_open() || self.control.has(Mark::Settled) || self.control.has(Mark::Done);
        let parked = !done && (self.control.has(Mark::Parked) || self.control.has(Mark::WantsSlot));
        change.parks = parked && !self.is_parked;
        change.unparks = !parked && self.is_parked;
        self.is_parked = parked;
        if self.has_slot && (done || self.control.has(Mark::Parked)) {
            self.has_slot = false;
            change.frees_slot = true;
        }
        change
    }
}
