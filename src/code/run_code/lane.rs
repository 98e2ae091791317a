//! The lane that a program's calls run on.

use std::future::poll_fn;
use std::num::NonZeroUsize;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::{BoxFuture, Either, select};
use futures_util::stream::{FuturesUnordered, Stream as _};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use toolfall_layers::panic::display;
use toolfall_layers::policy::{Answer, Policy as _};

use super::dispatched::{Dispatched, LogCopies};
use super::gate::Gate;
use super::sub_calls::SubCalls;
use crate::policy::Contained;
use crate::scheduler::{Batch, BatchEvent, Committed, Scheduler, Submitter};
use crate::session::LogCopy;
use crate::tool::Entry;
use crate::{BoxError, ContentBlock, ContextMessage, ContextSource, Registry, ToolContext};

/// So long listeners may go on with copies for the log after the call that
/// runs the program was cancelled.
const PATIENCE: Duration = Duration::from_secs(2);

/// So many calls may wait between the queue of the program and the scheduler.
const ROOM: usize = 32;

/// A batch that a program fills while it runs, polled beside the program.
///
/// Dropping it ends the calls as dropping a [`Batch`] does, and no record is
/// lost.
pub(super) struct Lane {
    batch: Batch<Gate>,
    /// Gone when the run is over.
    submitter: Option<Submitter>,
    gate: Gate,
    limit: usize,
    ctx: ToolContext,
    run: CancellationToken,
    calls: Arc<SubCalls>,
    log: LogCopies,
    /// Copies for the log that somebody still makes.
    copies: FuturesUnordered<BoxFuture<'static, ()>>,
    finished: usize,
    ended: bool,
}

/// What a lane needs to know.
pub(super) struct Setting {
    pub(super) ctx: ToolContext,
    pub(super) entry: Entry,
    pub(super) registry: Registry,
    /// The names that the program may call.
    pub(super) names: Vec<String>,
    pub(super) limit: NonZeroUsize,
    pub(super) run: CancellationToken,
    pub(super) log: LogCopies,
}

impl Lane {
    /// A lane without calls, and what submits them.
    pub(super) fn open(setting: Setting) -> (Self, Arc<SubCalls>) {
        let Setting {
            ctx,
            entry,
            registry,
            names,
            limit,
            run,
            log,
        } = setting;
        let gate = Gate::new(entry);
        let scheduler = Scheduler::new(gate.clone(), registry).limit(limit);
        let (batch, submitter) = scheduler.open(run.clone(), ROOM);
        let calls = Arc::new(SubCalls::new(ctx.clone(), run.clone(), names));
        let lane = Self {
            batch,
            submitter: Some(submitter),
            gate,
            limit: limit.get(),
            ctx,
            run,
            calls: calls.clone(),
            log,
            copies: FuturesUnordered::new(),
            finished: 0,
            ended: false,
        };
        (lane, calls)
    }

    /// Drives `program` and its calls until it is over, then what it left
    /// behind to its end: calls that run are cancelled, those that wait never
    /// begin. Says how many calls had finished while the program ran.
    pub(super) async fn drive<P: Future>(mut self, program: P) -> (P::Output, usize) {
        let mut program = pin!(program);
        let ended = poll_fn(|cx| {
            // The program first: what it submits is taken in by the same poll.
            let ended = program.as_mut().poll(cx);
            if ended.is_pending() {
                let _ = self.poll_calls(cx);
            }
            ended
        })
        .await;
        let finished = self.finished;
        self.close();
        let outer = self.ctx.cancellation().clone();
        let patience = pin!(Contained::new(async move {
            outer.cancelled().await;
            sleep(PATIENCE).await;
        }));
        let rest = select(poll_fn(|cx| self.poll_calls(cx)), patience).await;
        if let Either::Right(_) = rest {
            // Dropping a copy writes the record as it is. Calls are waited
            // for, whatever they do.
            self.copies.clear();
            poll_fn(|cx| self.poll_calls(cx)).await;
        }
        (ended, finished)
    }

    fn close(&mut self) {
        self.calls.close();
        self.submitter = None;
        self.run.cancel();
    }

    /// Hands calls to the scheduler, as far as there is room; whether it did.
    fn feed(&self) -> bool {
        let mut fed = false;
        if let Some(submitter) = &self.submitter {
            while let Some(request) = self.calls.next_queued() {
                if let Err(request) = submitter.try_submit(request) {
                    self.calls.queue_again(request);
                    break;
                }
                fed = true;
            }
        }
        fed
    }

    /// Brings the calls forward; ready once all of them and their records are
    /// done.
    fn poll_calls(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // Calls may come from another task than this one.
        self.calls.register(cx.waker());
        self.feed();
        loop {
            while let Poll::Ready(Some(())) = Pin::new(&mut self.copies).poll_next(cx) {}
            let unwritten = self.copies.len();
            self.gate.hold(unwritten > self.limit);
            if !self.ended {
                match Pin::new(&mut self.batch).poll_next(cx) {
                    Poll::Ready(Some(BatchEvent::Committed(call))) => {
                        self.commit(&call);
                        self.feed();
                        continue;
                    }
                    Poll::Ready(_) => self.ended = true,
                    Poll::Pending if self.feed() => continue,
                    Poll::Pending => {}
                }
            }
            return if self.ended && unwritten == 0 {
                Poll::Ready(())
            } else {
                Poll::Pending
            };
        }
    }

    /// Takes over what a call leaves, and hands its value to the program.
    fn commit(&mut self, call: &Committed) {
        let Some(waiting) = self.calls.next_waiting() else {
            return;
        };
        let (name, result) = (&*waiting.name, &call.result);
        let over = self.calls.is_over();
        if result.is_synthetic() {
            let _ = waiting.reply.send(Err(self.calls.abandoned(name)));
            return;
        }
        self.ctx.heed(result);
        if !result.is_error() {
            if shows_pictures(result.content()) {
                self.ctx.defer_context(seen(result.content()));
            }
            if result.concludes_turn() {
                self.ctx.conclude_turn();
            }
        }
        for context in result.contexts() {
            self.ctx.defer_context(context.clone());
        }
        let reply = if over {
            Err(self.calls.over(name, "result discarded"))
        } else {
            self.finished += 1;
            match (result.message(), result.value()) {
                (Some(message), _) => Err(message.to_owned()),
                (None, value) => Ok(value.cloned().unwrap_or_default()),
            }
        };
        // The program may have lost interest. It goes on before the log does.
        let _ = waiting.reply.send(reply);
        if let Some(copy) = self.calls.copies.take(waiting.number) {
            self.copy(copy);
        }
    }

    /// Writes the record of a call, once the listeners have said what of it.
    fn copy(&mut self, copy: LogCopy) {
        if self.log.is_empty() {
            return copy.write();
        }
        let outer = self.ctx.cancellation().clone();
        let dispatched = Dispatched::new(copy.call().clone(), copy.content(), outer);
        match self.log.ask(&dispatched) {
            Answer::Now(answer) => write(copy, answer),
            Answer::Later(asked) => {
                let written = async move { write(copy, asked.await) };
                self.copies.push(Box::pin(written));
            }
        }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.close();
        self.calls.abandon();
        self.calls.copies.close();
    }
}

/// A listener that fails changes nothing but the log.
fn write(mut copy: LogCopy, answer: Result<Option<Vec<ContentBlock>>, BoxError>) {
    match answer {
        Ok(Some(content)) => copy.show(content),
        Ok(None) => {}
        Err(error) => {
            let (tool, call) = (copy.call().name(), copy.call().id());
            let error = display(&error);
            tracing::warn!("tool \"{tool}\" ({call}): a log copy listener failed: {error}");
        }
    }
    copy.write();
}

/// Whether there is something in it that no value can show a model.
fn shows_pictures(content: &[ContentBlock]) -> bool {
    content.iter().any(|block| {
        matches!(
            block,
            ContentBlock::Image { .. } | ContentBlock::Audio { .. }
        )
    })
}

/// A result's content as a message of its own.
fn seen(content: &[ContentBlock]) -> ContextMessage {
    ContextMessage {
        id: None,
        source: ContextSource {
            kind: "plugin".into(),
            name: "tools-code-mode".into(),
            summary: None,
        },
        content: content.to_vec(),
        meta: None,
    }
}
