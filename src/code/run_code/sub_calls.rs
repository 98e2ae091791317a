//! The functions that a program calls.

use std::collections::{HashSet, VecDeque};
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use futures_util::task::AtomicWaker;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::arguments;
use crate::code::{Binding, BindingArguments, BindingFuture};
use crate::session::{LogCopies, SubCall};
use crate::{Arguments, CallRequest, ToolContext};

/// What a program gets of a call: the value, or the message of a failure.
pub(super) type Reply = Result<Value, String>;

/// So many calls of one program may wait for their turn, with so many bytes of
/// arguments. What waits is in the host's memory, not in the program's.
const MAX_QUEUED: usize = 16 * 1024;
const MAX_QUEUED_BYTES: usize = 64 * 1024 * 1024;

/// The calls of one program, between the program and the lane that runs them.
///
/// A call is numbered and queued as the program makes it, so that calls have
/// the order in which they were made, whoever polls what first.
pub(super) struct SubCalls {
    ctx: ToolContext,
    /// Cancelled once the run is over, and with the call that runs it.
    run: CancellationToken,
    names: HashSet<String>,
    /// Where the recorder leaves what the log is to keep.
    pub(super) copies: Arc<LogCopies>,
    state: Mutex<State>,
    /// Whoever polls the lane.
    lane: AtomicWaker,
}

#[derive(Default)]
struct State {
    over: bool,
    /// How many calls were made; a refused one has no number.
    made: u64,
    /// The calls that the scheduler does not have yet.
    queued: VecDeque<CallRequest>,
    queued_bytes: usize,
    /// All calls without an answer, in their order.
    waiting: VecDeque<Waiting>,
}

/// A call without an answer.
pub(super) struct Waiting {
    pub(super) number: u64,
    pub(super) name: String,
    pub(super) reply: oneshot::Sender<Reply>,
}

impl SubCalls {
    /// Calls of `names`, below the call of `ctx`.
    pub(super) fn new(
        ctx: ToolContext,
        run: CancellationToken,
        names: impl IntoIterator<Item = String>,
    ) -> Self {
        Self {
            ctx,
            run,
            names: names.into_iter().collect(),
            copies: Arc::default(),
            state: Mutex::default(),
            lane: AtomicWaker::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes `waker` when there is something to take.
    pub(super) fn register(&self, waker: &Waker) {
        self.lane.register(waker);
    }

    /// Whether what comes now comes too late.
    pub(super) fn is_over(&self) -> bool {
        self.run.is_cancelled() || self.state().over
    }

    /// Takes no more calls, and gives up those that the scheduler does not
    /// have yet.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.over = true;
        let queued = std::mem::take(&mut state.queued);
        drop(state);
        drop(queued);
    }

    /// The next call for the scheduler.
    pub(super) fn next_queued(&self) -> Option<CallRequest> {
        let mut state = self.state();
        let request = state.queued.pop_front()?;
        state.queued_bytes -= request.raw_arguments().len();
        Some(request)
    }

    /// Puts back what [`next_queued`](Self::next_queued) gave.
    pub(super) fn queue_again(&self, request: CallRequest) {
        let mut state = self.state();
        state.queued_bytes += request.raw_arguments().len();
        state.queued.push_front(request);
    }

    /// The call that was made first of those without an answer.
    pub(super) fn next_waiting(&self) -> Option<Waiting> {
        self.state().waiting.pop_front()
    }

    /// Lets go of every call without an answer.
    pub(super) fn abandon(&self) {
        let waiting = std::mem::take(&mut self.state().waiting);
        drop(waiting);
    }

    /// Why a call came to nothing: `what` became of it.
    pub(super) fn over(&self, name: &str, what: &str) -> String {
        let reason = if self.state().over {
            "run_code settled"
        } else {
            "run_code cancelled"
        };
        format!("run_code run is over ({reason}); {name} {what}")
    }

    pub(super) fn abandoned(&self, name: &str) -> String {
        self.over(name, "tool call abandoned")
    }

    /// Numbers a call and queues it, in one step: the numbers are the order.
    fn make(&self, name: &str, arguments: BindingArguments) -> Result<Answer, String> {
        if !self.names.contains(name) {
            return Err(format!("unknown tool \"{name}\""));
        }
        if self.is_over() {
            return Err(self.over(name, "not dispatched"));
        }
        let arguments = arguments::kept(arguments)?;
        let (reply, answer) = oneshot::channel();
        let bytes = arguments.text().len();
        let mut state = self.state();
        if state.over {
            drop(state);
            return Err(self.over(name, "not dispatched"));
        }
        let full = state.queued.len() >= MAX_QUEUED;
        if full || state.queued_bytes.saturating_add(bytes) > MAX_QUEUED_BYTES {
            return Err(format!(
                "too many tool calls wait: expected at most {MAX_QUEUED} with {MAX_QUEUED_BYTES} \
                 bytes of arguments; {name} not dispatched"
            ));
        }
        state.made += 1;
        let request = self.request(state.made, name, arguments);
        state.queued_bytes += bytes;
        state.queued.push_back(request);
        let waiting = Waiting {
            number: state.made,
            name: name.to_owned(),
            reply,
        };
        state.waiting.push_back(waiting);
        drop(state);
        self.lane.wake();
        Ok(answer)
    }

    fn request(&self, number: u64, name: &str, arguments: Arguments) -> CallRequest {
        let parent = self.ctx.call().id().clone();
        let id = format!("{parent}:code:{number}");
        let cancellation = self.run.child_token();
        let request = self.ctx.below(id, name.to_owned(), arguments, cancellation);
        request.with_extension(SubCall {
            parent,
            number,
            copies: self.copies.clone(),
        })
    }
}

type Answer = oneshot::Receiver<Reply>;

/// The binding of the tools that a program may call.
pub(super) struct Tools(pub(super) Arc<SubCalls>);

impl Binding for Tools {
    fn call(&self, member: &str, arguments: BindingArguments) -> BindingFuture {
        let answer = match self.0.make(member, arguments) {
            Ok(answer) => answer,
            Err(refusal) => return Box::pin(ready(Err(refusal))),
        };
        let (calls, name) = (self.0.clone(), member.to_owned());
        Box::pin(async move {
            let answered = answer.await;
            answered.unwrap_or_else(|_| Err(calls.abandoned(&name)))
        })
    }
}
