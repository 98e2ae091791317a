//! The functions that a program calls.

use std::collections::{HashSet, VecDeque};
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::arguments;
use crate::code::{Binding, BindingArguments, BindingFuture};
use crate::scheduler::{NoRoom, Reserved, Submitter};
use crate::session::{LogCopies, SubCall};
use crate::{Arguments, ToolContext};

/// What a program gets of a call: the value, or the message of a failure.
pub(super) type Reply = Result<Value, String>;

/// The calls of one program, between the program and the lane that runs them.
pub(super) struct SubCalls {
    ctx: ToolContext,
    /// Cancelled once the run is over, and with the call that runs it.
    run: CancellationToken,
    names: HashSet<String>,
    /// Where the recorder leaves what the log is to keep.
    pub(super) copies: Arc<LogCopies>,
    state: Mutex<State>,
}

struct State {
    /// Gone when the run is over.
    submitter: Option<Submitter>,
    /// How many calls were submitted; a refused one has no number.
    submitted: u64,
    /// The submitted calls without an answer, in their order.
    waiting: VecDeque<Waiting>,
}

/// A call without an answer.
pub(super) struct Waiting {
    pub(super) number: u64,
    pub(super) name: String,
    pub(super) reply: oneshot::Sender<Reply>,
}

impl SubCalls {
    /// Calls of `names` that go to `submitter`, below the call of `ctx`.
    pub(super) fn new(
        ctx: ToolContext,
        run: CancellationToken,
        names: impl IntoIterator<Item = String>,
        submitter: Submitter,
    ) -> Self {
        Self {
            ctx,
            run,
            names: names.into_iter().collect(),
            copies: Arc::default(),
            state: Mutex::new(State {
                submitter: Some(submitter),
                submitted: 0,
                waiting: VecDeque::new(),
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether what comes now comes too late.
    pub(super) fn is_over(&self) -> bool {
        self.run.is_cancelled() || self.state().submitter.is_none()
    }

    /// Takes no more calls.
    pub(super) fn close(&self) {
        let submitter = self.state().submitter.take();
        drop(submitter);
    }

    /// The call that was submitted first of those without an answer.
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
        let settled = self.state().submitter.is_none();
        let reason = if settled {
            "run_code settled"
        } else {
            "run_code cancelled"
        };
        format!("run_code run is over ({reason}); {name} {what}")
    }

    fn not_dispatched(&self, name: &str) -> String {
        self.over(name, "not dispatched")
    }

    pub(super) fn abandoned(&self, name: &str) -> String {
        self.over(name, "tool call abandoned")
    }

    /// Where a call may go, if one may still be made.
    fn open(&self, name: &str) -> Result<Submitter, String> {
        if !self.names.contains(name) {
            return Err(format!("unknown tool \"{name}\""));
        }
        let submitter = self.state().submitter.clone();
        let open = submitter.filter(|_| !self.run.is_cancelled());
        open.ok_or_else(|| self.not_dispatched(name))
    }

    /// Numbers a call and submits it, in one step: the numbers are the order.
    fn submit(
        &self,
        room: Reserved<'_>,
        name: &str,
        arguments: Arguments,
    ) -> Result<oneshot::Receiver<Reply>, String> {
        let (reply, answer) = oneshot::channel();
        let mut state = self.state();
        if state.submitter.is_none() || self.run.is_cancelled() {
            drop(state);
            return Err(self.not_dispatched(name));
        }
        state.submitted += 1;
        let number = state.submitted;
        let parent = self.ctx.call().id().clone();
        let id = format!("{parent}:code:{number}");
        let request = self
            .ctx
            .below(id, name.to_owned(), arguments, self.run.child_token())
            .with_extension(SubCall {
                parent,
                number,
                copies: self.copies.clone(),
            });
        state.waiting.push_back(Waiting {
            number,
            name: name.to_owned(),
            reply,
        });
        room.submit(request);
        Ok(answer)
    }

    /// The answer to a call, once it is there.
    async fn answered(&self, name: &str, answer: oneshot::Receiver<Reply>) -> Reply {
        answer.await.unwrap_or_else(|_| Err(self.abandoned(name)))
    }
}

/// The binding of the tools that a program may call.
pub(super) struct Tools(pub(super) Arc<SubCalls>);

impl Binding for Tools {
    fn call(&self, member: &str, arguments: BindingArguments) -> BindingFuture {
        let calls = self.0.clone();
        let admitted = calls
            .open(member)
            .and_then(|submitter| Ok((submitter, arguments::kept(arguments)?)));
        let (submitter, arguments) = match admitted {
            Ok(admitted) => admitted,
            Err(refusal) => return Box::pin(ready(Err(refusal))),
        };
        let name = member.to_owned();
        // At once if there is room, so that calls have the order in which the
        // program made them, whoever polls what first.
        let submitted = match submitter.try_reserve() {
            Ok(room) => Some(calls.submit(room, &name, arguments.clone())),
            Err(NoRoom::Ever) => Some(Err(calls.not_dispatched(&name))),
            Err(NoRoom::Yet) => None,
        };
        let Some(submitted) = submitted else {
            return Box::pin(async move {
                let Some(room) = submitter.reserve().await else {
                    return Err(calls.abandoned(&name));
                };
                let answer = calls.submit(room, &name, arguments)?;
                calls.answered(&name, answer).await
            });
        };
        match submitted {
            Ok(answer) => Box::pin(async move { calls.answered(&name, answer).await }),
            Err(refusal) => Box::pin(ready(Err(refusal))),
        }
    }
}
