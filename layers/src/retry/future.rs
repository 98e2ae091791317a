use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use tokio::time::Sleep;
use tokio_util::sync::WaitForCancellationFutureOwned;
use tower_service::Service;

use super::RetryLayer;
use crate::body::Settled;
use crate::call::{Call as _, ClearedCall};
use crate::outcome::ToolOutcome;
use crate::ready::ReadyCall;

pin_project! {
    /// The future of [`Retry`](super::Retry).
    pub struct ResponseFuture<S>
    where
        S: Service<ClearedCall>,
    {
        #[pin]
        state: State<S>,
        // What another attempt needs; `None` for tools that are not repeatable.
        spare: Option<(S, ClearedCall)>,
        config: RetryLayer,
        attempt: u32,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<S>
    where
        S: Service<ClearedCall>,
    {
        First { #[pin] future: S::Future },
        Again { #[pin] calling: ReadyCall<S, ClearedCall> },
        Settling { settled: Settled, outcome: Option<ToolOutcome> },
        Pausing { pause: Pin<Box<Pause>>, outcome: Option<ToolOutcome> },
        Between,
    }
}

impl<S: Service<ClearedCall>> ResponseFuture<S> {
    pub(super) const fn new(
        future: S::Future,
        spare: Option<(S, ClearedCall)>,
        config: RetryLayer,
    ) -> Self {
        Self {
            state: State::First { future },
            spare,
            config,
            attempt: 1,
        }
    }
}

impl<S> Future for ResponseFuture<S>
where
    S: Service<ClearedCall, Response = ToolOutcome> + Clone,
{
    type Output = Result<ToolOutcome, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let outcome = match this.state.as_mut().project() {
                StateProj::First { future } => ready!(future.poll(cx))?,
                StateProj::Again { calling } => ready!(calling.poll(cx))?,
                StateProj::Settling { settled, outcome } => {
                    ready!(Pin::new(settled).poll(cx));
                    outcome.take().expect("polled after completion")
                }
                StateProj::Pausing { pause, outcome } => {
                    let go_on = ready!(pause.as_mut().poll(cx));
                    let outcome = outcome.take().expect("polled after completion");
                    let (Some((service, call)), true) = (&*this.spare, go_on) else {
                        return Poll::Ready(Ok(outcome));
                    };
                    call.view().state().begin_attempt();
                    let calling = ReadyCall::new(service.clone(), call.reissue());
                    this.state.set(State::Again { calling });
                    continue;
                }
                StateProj::Between => unreachable!("polled after completion"),
            };
            let Some((_, call)) = &*this.spare else {
                return Poll::Ready(Ok(outcome));
            };
            if *this.attempt >= this.config.attempts.get()
                || outcome.is_success()
                || call.is_cancelled()
                || !(this.config.when)(&outcome)
            {
                return Poll::Ready(Ok(outcome));
            }
            // A dropped body of the last attempt may still be running.
            let view = call.view().clone();
            let pause = (this.config.backoff)(*this.attempt);
            let pause = Box::pin(Pause::new(pause, call));
            this.state.set(State::Between);
            if let Some(settled) = Settled::wait(&view) {
                this.state.set(State::Settling {
                    settled,
                    outcome: Some(outcome),
                });
                continue;
            }
            *this.attempt += 1;
            this.state.set(State::Pausing {
                pause,
                outcome: Some(outcome),
            });
        }
    }
}

pin_project! {
    /// The wait between two attempts; `false` if a cancellation ended it.
    struct Pause {
        #[pin]
        sleep: Option<Sleep>,
        #[pin]
        cancelled: WaitForCancellationFutureOwned,
        // Where an around stage put a token in the caller's place.
        #[pin]
        caller: Option<WaitForCancellationFutureOwned>,
    }
}

impl Pause {
    fn new(pause: std::time::Duration, call: &ClearedCall) -> Self {
        Self {
            // No timer for no pause: the stage then works outside a runtime.
            sleep: (!pause.is_zero()).then(|| tokio::time::sleep(pause)),
            cancelled: call.cancellation().clone().cancelled_owned(),
            caller: call
                .is_detached()
                .then(|| call.view().cancellation().clone().cancelled_owned()),
        }
    }
}

impl Future for Pause {
    type Output = bool;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<bool> {
        let this = self.project();
        let caller = this.caller.as_pin_mut();
        if this.cancelled.poll(cx).is_ready()
            || caller.is_some_and(|caller| caller.poll(cx).is_ready())
        {
            return Poll::Ready(false);
        }
        match this.sleep.as_pin_mut() {
            Some(sleep) => sleep.poll(cx).map(|()| true),
            None => Poll::Ready(true),
        }
    }
}
