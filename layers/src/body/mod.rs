//! The body boundary: where a cleared call becomes running code.
//!
//! [`ClearedCall::enter`] is the only way in. It refuses a call that was
//! cancelled or whose result is out, counts the body, contains its panics,
//! and validates and renders what it returns. The future it gives back may be
//! dropped at any time: a body that has begun is then cancelled through its
//! own token and driven to its end on a drain task.

mod context;
mod drain;
mod gate;
mod settled;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use serde_json::Value;
use tokio::runtime::Handle;
use tokio_util::sync::WaitForCancellationFutureOwned;

pub use self::context::BodyContext;
use self::context::BodyGuard;
pub(crate) use self::context::{Dispatch, DispatchCell};
pub(crate) use self::gate::Gate;
pub(crate) use self::settled::Settled;
use crate::call::ClearedCall;
use crate::catalog::{Definition, render};
use crate::error::{BoxError, body_failure};
use crate::outcome::ToolOutcome;
use crate::panic::catch;
use crate::span::StageSpan;

/// A body's future: its canonical value, or what it failed with.
pub type BoxBody = Pin<Box<dyn Future<Output = Result<Value, BoxError>> + Send>>;

impl ClearedCall {
    /// Runs a body for this call, unless the call is cancelled or over.
    ///
    /// `definition` renders the value; `start` makes the body's future, and
    /// its panic is the body's.
    ///
    /// # Cancel safety
    ///
    /// Dropping the returned future cancels the body's own token and moves
    /// the body to a drain task on the runtime that polled it; without a
    /// runtime the body is dropped and the effect is told as unknown.
    pub fn enter(
        self,
        definition: Arc<dyn Definition>,
        start: impl FnOnce(BodyContext) -> BoxBody,
    ) -> BodyFuture {
        let cancelled = self.is_cancelled();
        let relay = self.is_detached();
        let view = self.view;
        if cancelled {
            return BodyFuture::refused(ToolOutcome::aborted(view.was_entered()));
        }
        let guard = match BodyGuard::enter(&view) {
            Ok(guard) => guard,
            Err(outcome) => return BodyFuture::refused(outcome),
        };
        let dispatch = Dispatch::new(view, self.replaced);
        let span = StageSpan::body();
        match catch(|| span.in_scope(|| start(BodyContext::new(dispatch.clone())))) {
            Ok(body) => BodyFuture(State::Running(Running {
                body,
                dispatch,
                definition,
                guard,
                runtime: None,
                relay: Relay::new(relay),
                span,
            })),
            Err(panic) => BodyFuture::refused(body_failure(&panic)),
        }
    }
}

/// The future of [`ClearedCall::enter`].
#[must_use = "futures do nothing unless polled"]
pub struct BodyFuture(State);

enum State {
    Refused(Option<ToolOutcome>),
    Running(Running),
}

struct Running {
    body: BoxBody,
    dispatch: Dispatch,
    definition: Arc<dyn Definition>,
    guard: BodyGuard,
    /// The runtime seen when the body first had to wait.
    runtime: Option<Handle>,
    relay: Relay,
    span: StageSpan,
}

/// Cancels the body when the caller cancels, where an around stage replaced
/// the token by one that does not follow the caller's.
enum Relay {
    Off,
    Idle,
    Waiting(Pin<Box<WaitForCancellationFutureOwned>>),
}

impl Relay {
    const fn new(on: bool) -> Self {
        if on { Self::Idle } else { Self::Off }
    }

    fn poll(&mut self, dispatch: &Dispatch, cx: &mut Context<'_>) -> bool {
        if matches!(self, Self::Idle) {
            let caller = dispatch.view.cancellation().clone();
            *self = Self::Waiting(Box::pin(caller.cancelled_owned()));
        }
        let Self::Waiting(cancelled) = self else {
            return false;
        };
        if cancelled.as_mut().poll(cx).is_pending() {
            return false;
        }
        *self = Self::Off;
        dispatch.cancel();
        true
    }
}

impl BodyFuture {
    /// A future that answers with `outcome`; no body runs.
    pub fn refused(outcome: ToolOutcome) -> Self {
        Self(State::Refused(Some(outcome)))
    }
}

impl Future for BodyFuture {
    type Output = ToolOutcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<ToolOutcome> {
        let running = match &mut self.0 {
            State::Refused(outcome) => {
                return Poll::Ready(outcome.take().expect("polled after completion"));
            }
            State::Running(running) => running,
        };
        let ended = loop {
            match catch(|| running.span.in_scope(|| running.body.as_mut().poll(cx))) {
                Ok(Poll::Ready(Ok(value))) => break Ok(value),
                Ok(Poll::Ready(Err(error))) => break Err(body_failure(&*error)),
                Err(panic) => break Err(body_failure(&panic)),
                Ok(Poll::Pending) => {
                    // A body that was just cancelled gets a chance to see it.
                    if running.relay.poll(&running.dispatch, cx) {
                        continue;
                    }
                    if running.runtime.is_none() {
                        running.runtime = Handle::try_current().ok();
                    }
                    // Dropping the dispatch ends a body that is polled in
                    // place; one that a wrapper spawned is told here.
                    let state = running.dispatch.view.state();
                    if state.may_give_up() {
                        state.add_waiter(cx.waker());
                        if state.is_given_up() {
                            self.let_go();
                            return Poll::Ready(ToolOutcome::aborted(true));
                        }
                    }
                    return Poll::Pending;
                }
            }
        };
        let State::Running(running) = std::mem::replace(&mut self.0, State::Refused(None)) else {
            unreachable!("the state was running above");
        };
        Poll::Ready(running.end(ended))
    }
}

impl Running {
    /// Makes the outcome of a body that came to its end.
    fn end(self, ended: Result<Value, ToolOutcome>) -> ToolOutcome {
        let Self {
            body,
            dispatch,
            definition,
            guard,
            ..
        } = self;
        let dropped = catch(|| drop(body));
        let outcome = match (ended, dropped) {
            (Err(failure), _) => failure,
            (Ok(_), Err(panic)) => body_failure(&panic),
            // Read after the body settled: what fired in the same poll counts.
            (Ok(_), Ok(())) if dispatch.is_cancelled() => ToolOutcome::aborted(true),
            (Ok(value), Ok(())) => match render(&*definition, &dispatch.view, value) {
                Ok(rendered) => {
                    ToolOutcome::rendered(&dispatch.view, rendered, dispatch.concluded())
                }
                Err(failure) => failure,
            },
        };
        drop(guard);
        outcome
    }
}

impl BodyFuture {
    fn let_go(&mut self) {
        if let State::Running(running) = std::mem::replace(&mut self.0, State::Refused(None)) {
            drain::drain(running);
        }
    }
}

impl Drop for BodyFuture {
    fn drop(&mut self) {
        self.let_go();
    }
}
