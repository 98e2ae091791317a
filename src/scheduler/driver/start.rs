//! Beginning calls.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll};

use toolfall_layers::Catalog as _;
use toolfall_layers::turn::turn;

use super::Driver;
use crate::CallRequest;
use crate::pipeline::PipelineService;
use crate::scheduler::begun::{Begun, End};
use crate::scheduler::input::Submission;
use crate::tool::ExecutionMode;

impl<S: PipelineService> Driver<S> {
    /// Begins the next call if the model's order and the barriers allow it.
    pub(super) fn start_next(&mut self, cx: &mut Context<'_>) -> bool {
        if self.running >= self.limit || self.cancel.is_cancelled() || self.cut_off.is_some() {
            return false;
        }
        let Some(next) = self.waiting.front() else {
            return false;
        };
        if next.cut.is_some() || next.request.cancellation().is_cancelled() {
            return false;
        }
        if let Some(last) = self.begun.back() {
            // Policies do not overlap, and an exclusive call is a barrier
            // until it is committed.
            if !last.is_past_policy() || last.mode == ExecutionMode::Exclusive {
                return false;
            }
        }
        let alone = self.begun.is_empty();
        let generation = self.registry.generation();
        if !alone && self.held_back == Some(generation) {
            return false;
        }
        // Right before the start: an earlier call may have changed the tools.
        let mode = self.registry.mode(&next.request);
        if mode == ExecutionMode::Exclusive && !alone {
            self.held_back = Some(generation);
            return false;
        }
        // Last, since what a layer around the pipeline reserves is used at
        // once; a bare pipeline is always ready.
        match catch_unwind(AssertUnwindSafe(|| self.service.poll_ready(cx))) {
            Ok(Poll::Pending) => return false,
            Ok(Poll::Ready(Ok(()))) => {}
            Err(panic) => {
                self.fault(panic);
                return true;
            }
        }
        let Some(Submission { request, .. }) = self.waiting.pop_front() else {
            return false;
        };
        self.held_back = None;
        self.start(request, mode);
        true
    }

    fn start(&mut self, request: CallRequest, mode: ExecutionMode) {
        let call = self.first + self.begun.len();
        let (place, waker) = self.slots.reserve(call);
        let (turn, control) = turn(waker);
        self.begun
            .push_back(Begun::new(&request, control, mode, place));
        self.running += 1;
        let request = request.with_turn(turn);
        match catch_unwind(AssertUnwindSafe(|| self.service.call(request))) {
            Ok(future) => self.slots.put(place, future),
            Err(panic) => {
                self.begun[call - self.first].end = End::Lost;
                self.slots.clear(place);
                self.fault(panic);
                self.look(call);
                return;
            }
        }
        // The first call may commit right away, which saves it a wait.
        if self.begun.len() == 1 {
            self.begun[0].may_commit = true;
            self.begun[0].control.grant_commit();
        }
        self.poll_call(place, call);
    }
}
