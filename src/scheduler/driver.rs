//! The one lane that starts calls, grants turns and commits results.

mod refuse;
mod start;

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
use toolfall_layers::turn::Mark;

use super::Journal;
use super::batch::{BatchEnd, BatchEvent, Committed};
use super::begun::{Begun, End};
use super::input::Submission;
use super::slots::Slots;
use crate::pipeline::PipelineService;
use crate::{CallId, CallRequest, Registry, ToolResult};

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
    /// The registry's generation in which the next call was found to have to
    /// wait for all before it: until that changes, or they are done, it need
    /// not be classified again.
    held_back: Option<u64>,
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
            held_back: None,
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
}
