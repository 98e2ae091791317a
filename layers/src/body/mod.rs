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
use std::task::{Context, Poll, ready};

use serde_json::Value;
use tokio::runtime::Handle;
use tokio_util::sync::WaitForCancellationFutureOwned;

pub use self::context::BodyContext;
use self::context::{Counted, Dispatch, record_start};
pub(crate) use self::context::{DispatchCell, unrecorded};
pub(crate) use self::gate::Gate;
pub(crate) use self::settled::Settled;
use crate::call::ClearedCall;
use crate::catalog::{Definition, render};
use crate::error::{BoxError, body_failure, pipeline_failure};
use crate::outcome::ToolOutcome;
use crate::panic::catch;
use crate::result_notify::Recorded;
use crate::span::StageSpan;

/// A body's future: its canonical value, or what it failed with.
pub type BoxBody = Pin<Box<dyn Future<Output = Result<Value, BoxError>> + Send>>;

impl ClearedCall {
    /// Runs a body for this call, unless the call is cancelled or over.
    ///
    /// `definition` renders the value; `start` makes the body's future.
    ///
    /// # Cancel safety
    ///
    /// Dropping the returned future cancels the body's own token and moves
    /// the body to a drain task on the runtime that polled it; without a
    /// runtime the body is dropped and the effect is told as unknown.
    pub fn enter(
        self,
        definition: Arc<dyn Definition>,
        start: impl FnOnce(BodyContext) -> BoxBody + Send + 'static,
    ) -> BodyFuture {
        // The body's code begins with the first poll, where its panic is its
        // own and it counts as entered.
        self.enter_with(|context| {
            let body: BoxBody = Box::pin(Lazy::NotMade(Some((start, context))));
            Ok((definition, body))
        })
    }

    /// As [`enter`](Self::enter), where tool and arguments are still to be
    /// judged: `prepare` runs once the call is known to be neither cancelled
    /// nor over, and makes the body or says why there is none.
    ///
    /// Nothing of the body may run in `prepare`: it is entered at its
    /// future's first poll.
    ///
    /// # Cancel safety
    ///
    /// As [`enter`](Self::enter).
    pub fn enter_with(
        self,
        prepare: impl FnOnce(BodyContext) -> Result<(Arc<dyn Definition>, BoxBody), ToolOutcome>,
    ) -> BodyFuture {
        if self.is_cancelled() {
            return BodyFuture::refused(ToolOutcome::aborted(self.view.was_entered()));
        }
        let relay = Relay::new(self.is_detached());
        let dispatch = match Counted::enter(self.view, self.replaced) {
            Ok(dispatch) => dispatch,
            Err(view) => return BodyFuture::refused(ToolOutcome::aborted(view.was_entered())),
        };
        let (definition, body) =
            match catch(|| prepare(BodyContext::new(Dispatch::clone(&dispatch)))) {
                Ok(Ok(prepared)) => prepared,
                Ok(Err(outcome)) => return BodyFuture::refused(outcome),
                Err(panic) => return BodyFuture::refused(pipeline_failure(&panic)),
            };
        let recorded = record_start(&dispatch.view);
        let running = Running {
            body,
            dispatch,
            definition,
            runtime: None,
            relay,
            span: StageSpan::body(),
        };
        BodyFuture(match recorded {
            Recorded::Now(Ok(())) => running.entered(),
            Recorded::Now(Err(error)) => State::Refused(Some(unrecorded(error))),
            Recorded::Later(recording) => State::Starting(Box::new((recording, running))),
        })
    }
}

/// A body that is made by its first poll.
enum Lazy<F> {
    NotMade(Option<(F, BodyContext)>),
    Made(BoxBody),
}

// The body is pinned by its own box.
impl<F> Unpin for Lazy<F> {}

impl<F: FnOnce(BodyContext) -> BoxBody> Future for Lazy<F> {
    type Output = Result<Value, BoxError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Self::NotMade(start) = &mut *self {
            let (start, context) = start
                .take()
                .expect("a body that panicked is not polled again");
            *self = Self::Made(start(context));
        }
        match &mut *self {
            Self::Made(body) => body.as_mut().poll(cx),
            Self::NotMade(_) => unreachable!("it has just been made"),
        }
    }
}

type Recording = Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>>;

/// The future of [`ClearedCall::enter`].
#[must_use = "futures do nothing unless polled"]
pub struct BodyFuture(State);

enum State {
    Refused(Option<ToolOutcome>),
    // Boxed: only a record that is synced first makes a body wait.
    Starting(Box<(Recording, Running)>),
    Running(Running),
}

struct Running {
    body: BoxBody,
    definition: Arc<dyn Definition>,
    // After the body: it counts out once the body is gone.
    dispatch: Counted,
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
        if let State::Starting(starting) = &mut self.0 {
            let recording = &mut starting.0;
            let recorded = ready!(
                catch(|| recording.as_mut().poll(cx))
                    .unwrap_or_else(|panic| Poll::Ready(Err(panic.into())))
            );
            if let State::Starting(starting) = std::mem::replace(&mut self.0, State::Refused(None))
            {
                self.0 = starting.1.recorded(recorded);
            }
        }
        let running = match &mut self.0 {
            State::Running(running) => running,
            State::Refused(outcome) => {
                return Poll::Ready(outcome.take().expect("polled after completion"));
            }
            State::Starting(_) => unreachable!("it has just ended"),
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
    /// The body counts as entered from here on.
    fn entered(self) -> State {
        self.dispatch.view.state().mark_entered();
        State::Running(self)
    }

    /// Enters the body, unless the record failed or the call was cancelled
    /// meanwhile.
    fn recorded(self, recorded: Result<(), BoxError>) -> State {
        match recorded {
            Err(error) => State::Refused(Some(unrecorded(error))),
            Ok(()) if self.dispatch.is_cancelled() => {
                let entered = self.dispatch.view.was_entered();
                State::Refused(Some(ToolOutcome::aborted(entered)))
            }
            Ok(()) => self.entered(),
        }
    }

    /// Makes the outcome of a body that came to its end.
    fn end(self, ended: Result<Value, ToolOutcome>) -> ToolOutcome {
        let Self {
            body,
            dispatch,
            definition,
            ..
        } = self;
        let dropped = catch(|| drop(body));
        let outcome = match (ended, dropped) {
            (Err(failure), _) => failure,
            (Ok(_), Err(panic)) => body_failure(&panic),
            // A value that breaks the contract is told also when the call was
            // cancelled: a cancellation replaces successes only.
            (Ok(value), Ok(())) => match render(&*definition, &dispatch.view, value) {
                // Read after the body settled: what fired in the same poll counts.
                Ok(_) if dispatch.is_cancelled() => ToolOutcome::aborted(true),
                Ok(rendered) => {
                    ToolOutcome::rendered(&dispatch.view, rendered, dispatch.concluded())
                }
                Err(failure) => failure,
            },
        };
        drop(dispatch);
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
