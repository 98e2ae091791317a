//! The one lane that starts calls, grants turns and commits results.

use std::any::Any;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use toolfall_layers::panic::{catch, display};
use toolfall_layers::turn::{Mark, turn};

use super::Journal;
use super::batch::{BatchEnd, BatchEvent, Committed};
use super::begun::{Begun, End};
use super::input::Submission;
use super::slots::Slots;
use crate::pipeline::PipelineService;
use crate::tool::ExecutionMode;
use crate::{CallId, CallRequest, ErrorInfo, FailureKind, Registry, ToolOutcome, ToolResult, code};

pub(super) struct Driver<S: PipelineService> {
    service: S,
    registry: Registry,
    limit: usize,
    journal: Option<Arc<dyn Journal>>,
    cancel: CancellationToken,
    cancelled: Pin<Box<WaitForCancellationFutureOwned>>,
    input: Option<mpsc::Receiver<Submission>>,
    /// Calls that have not begun, in model order.
    waiting: VecDeque<Submission>,
    /// Calls that have begun and are not committed, in model order.
    begun: VecDeque<Begun>,
    /// The number of the first call in `begun`; numbers count begun calls.
    first: usize,
    slots: Slots<S::Future>,
    /// Calls that hold a slot.
    running: usize,
    /// Calls that are parked, or want a slot again.
    parked: usize,
    committed: usize,
    cut_off: Option<Cow<'static, str>>,
    /// The first panic of a layer outside the pipeline. Inside nothing panics.
    fault: Option<Box<dyn Any + Send>>,
    /// Where the calls go on if the batch is dropped outside a runtime.
    runtime: Option<Handle>,
    end: BatchEnd,
}

impl<S: PipelineService> Driver<S> {
    pub(super) fn new(
        service: S,
        registry: Registry,
        limit: NonZeroUsize,
        journal: Option<Arc<dyn Journal>>,
        cancel: CancellationToken,
        input: Option<mpsc::Receiver<Submission>>,
    ) -> Self {
        Self {
            service,
            registry,
            limit: limit.get(),
            journal,
            cancelled: Box::pin(cancel.clone().cancelled_owned()),
            cancel,
            input,
            waiting: VecDeque::new(),
            begun: VecDeque::new(),
            first: 0,
            slots: Slots::new(),
            running: 0,
            parked: 0,
            committed: 0,
            cut_off: None,
            fault: None,
            runtime: None,
            end: BatchEnd::default(),
        }
    }

    pub(super) fn push(&mut self, request: CallRequest, cut: Option<Cow<'static, str>>) {
        self.waiting.push_back(Submission { request, cut });
    }

    pub(super) fn cut_off(&mut self, why: Cow<'static, str>) {
        self.cut_off = Some(why);
    }

    pub(super) fn cancellation(&self) -> &CancellationToken {
        &self.cancel
    }

    pub(super) fn has_begun(&self) -> bool {
        !self.begun.is_empty()
    }

    pub(super) fn runtime(&self) -> Option<&Handle> {
        self.runtime.as_ref()
    }

    /// Takes no calls beyond those that were submitted.
    pub(super) fn close_input(&mut self) {
        if let Some(input) = &mut self.input {
            input.close();
        }
    }

    /// The next result in model order, or the end.
    pub(super) fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<BatchEvent> {
        // Armed before anything is looked at, so that no wake-up is lost.
        self.slots.ready().register(cx);
        let _ = self.cancelled.as_mut().poll(cx);
        if self.runtime.is_none() {
            self.runtime = Handle::try_current().ok();
        }
        loop {
            self.take_input(cx);
            self.poll_woken();
            if let Some(committed) = self.commit() {
                return Poll::Ready(BatchEvent::Committed(committed));
            }
            // Grants go before new starts.
            if self.grant() || self.start_next(cx) {
                continue;
            }
            if let Some(committed) = self.refuse_next() {
                return Poll::Ready(BatchEvent::Committed(committed));
            }
            let open = self.input.is_some() || !self.waiting.is_empty() || !self.begun.is_empty();
            if open {
                return Poll::Pending;
            }
            if let Some(fault) = self.fault.take() {
                resume_unwind(fault);
            }
            let mut end = std::mem::take(&mut self.end);
            end.aborted = self.cancel.is_cancelled();
            if end.aborted {
                // Contexts of an aborted turn that were queued before the
                // cancellation are gone with it.
                end.contexts.clear();
            }
            return Poll::Ready(BatchEvent::Ended(end));
        }
    }

    fn take_input(&mut self, cx: &mut Context<'_>) {
        // No more than a pool's worth waits in here; the channel holds the
        // rest, and its senders wait.
        while self.waiting.len() < self.limit {
            let Some(input) = &mut self.input else { return };
            match input.poll_recv(cx) {
                Poll::Pending => return,
                Poll::Ready(Some(submission)) => self.waiting.push_back(submission),
                Poll::Ready(None) => self.input = None,
            }
        }
    }

    fn poll_woken(&mut self) {
        // Those that are woken meanwhile wait for the next poll, which they
        // have asked for: a body that always wakes itself must not keep the
        // thread.
        for _ in 0..self.slots.woken() {
            let Some((place, call)) = self.slots.next_woken() else {
                return;
            };
            self.poll_call(place, call);
        }
    }

    fn poll_call(&mut self, place: usize, call: usize) {
        let Some(begun) = self.begun.get_mut(call - self.first) else {
            return;
        };
        let slots = &mut self.slots;
        let poll = AssertUnwindSafe(|| begun.control.watch(|| slots.poll_place(place)));
        match catch_unwind(poll) {
            Ok(Poll::Pending) => {}
            Ok(Poll::Ready(Ok(result))) => begun.end = End::With(result),
            Err(panic) => {
                begun.end = End::Lost;
                self.slots.clear(place);
                self.fault(panic);
            }
        }
        self.look(call);
    }

    /// Nothing begins after a fault; what has begun comes to its end.
    fn fault(&mut self, panic: Box<dyn Any + Send>) {
        self.fault.get_or_insert(panic);
        self.cancel.cancel();
        self.close_input();
    }

    /// Brings the books up to a call's marks.
    fn look(&mut self, call: usize) {
        let change = self.begun[call - self.first].look();
        if change.frees_slot {
            self.running -= 1;
        }
        if change.parks {
            self.parked += 1;
        }
        if change.unparks {
            self.parked -= 1;
        }
    }

    /// Takes the first call's result, if it is there.
    fn commit(&mut self) -> Option<Committed> {
        loop {
            if self.begun.front()?.is_open() {
                return None;
            }
            let begun = self.begun.pop_front()?;
            self.first += 1;
            if let End::With(result) = begun.end {
                return Some(self.committed(begun.id, begun.name, result));
            }
            // Nobody knows what became of it, so nothing is said.
            self.committed += 1;
        }
    }

    fn committed(&mut self, id: CallId, name: Cow<'static, str>, result: ToolResult) -> Committed {
        let contexts = result.contexts().iter().cloned();
        if self.cancel.is_cancelled() {
            self.end.parked.extend(contexts);
        } else {
            self.end.contexts.extend(contexts);
        }
        self.end.concludes |= result.concludes_turn();
        let place = self.committed;
        self.committed += 1;
        Committed {
            place,
            id,
            name,
            result,
        }
    }

    /// Lets the first call commit, and answered calls go on.
    fn grant(&mut self) -> bool {
        let mut granted = false;
        if let Some(first) = self.begun.front_mut()
            && !first.may_commit
        {
            first.may_commit = true;
            first.control.grant_commit();
            granted = true;
        }
        if self.parked > 0 {
            for begun in &mut self.begun {
                if !begun.has_slot
                    && begun.is_parked
                    && begun.control.has(Mark::WantsSlot)
                    && (self.running < self.limit || self.cancel.is_cancelled())
                {
                    begun.has_slot = true;
                    self.running += 1;
                    begun.control.grant_slot();
                    granted = true;
                }
            }
        }
        granted
    }

    /// Begins the next call if the model's order and the barriers allow it.
    fn start_next(&mut self, cx: &mut Context<'_>) -> bool {
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
        // Right before the start: an earlier call may have changed the tools.
        let mode = self.registry.mode(&next.request);
        if mode == ExecutionMode::Exclusive && !self.begun.is_empty() {
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

    /// Answers the next call without beginning it, once it is its turn.
    fn refuse_next(&mut self) -> Option<Committed> {
        if !self.begun.is_empty() {
            return None;
        }
        let next = self.waiting.front()?;
        let outcome = if self.cancel.is_cancelled() || next.request.cancellation().is_cancelled() {
            ToolOutcome::aborted(false)
        } else {
            let why = next.cut.as_ref().or(self.cut_off.as_ref())?;
            ToolOutcome::failure(format!("the call was not run: {why}"))
                .with_info(ErrorInfo::new("TruncatedError", code::TRUNCATED))
                .of_kind(FailureKind::Truncated)
        };
        let Submission { request, .. } = self.waiting.pop_front()?;
        let (id, name) = (request.id().clone(), request.shared_name());
        let result = self.never_begun(request, outcome);
        Some(self.committed(id, name, result))
    }

    fn never_begun(&self, request: CallRequest, outcome: ToolOutcome) -> ToolResult {
        let result = ToolResult::not_started(outcome);
        if let Some(journal) = &self.journal {
            let recorded = catch(|| journal.not_started(&request, &result));
            let failed = match recorded {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(display(&error)),
                Err(panic) => Some(display(&panic)),
            };
            if let Some(message) = failed {
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
