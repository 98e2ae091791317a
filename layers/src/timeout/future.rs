use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use crate::call::Child;
use crate::outcome::ToolOutcome;

pin_project! {
    /// The future of [`Timeout`](super::Timeout).
    pub struct ResponseFuture<F> {
        #[pin]
        state: State<F>,
        // Boxed, so that calls without a budget do not carry a timer.
        deadline: Option<Pin<Box<Deadline>>>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F> {
        Dispatching { #[pin] future: F },
        GivenUp,
    }
}

pin_project! {
    pub(super) struct Deadline {
        // Made when the body first has to wait; the time counts from before.
        #[pin]
        sleep: Option<Sleep>,
        began: Instant,
        child: Arc<Child>,
        budget: Duration,
        grace: Option<Duration>,
        phase: Phase,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// The timer fired first: the call has timed out, whatever comes.
    Fired,
    /// The upstream token was cancelled first: not a timeout, and stays so.
    Upstream,
}

impl<F> ResponseFuture<F> {
    pub(super) const fn untimed(future: F) -> Self {
        Self {
            state: State::Dispatching { future },
            deadline: None,
        }
    }

    pub(super) fn timed(future: F, deadline: Deadline) -> Self {
        Self {
            state: State::Dispatching { future },
            deadline: Some(Box::pin(deadline)),
        }
    }
}

impl<F, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<ToolOutcome, E>>,
{
    type Output = Result<ToolOutcome, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let StateProj::Dispatching { future } = this.state.as_mut().project() else {
                unreachable!("polled after completion");
            };
            if let Poll::Ready(outcome) = future.poll(cx) {
                return Poll::Ready(match this.deadline {
                    Some(deadline) => outcome.map(|outcome| deadline.classify(outcome)),
                    None => outcome,
                });
            }
            let Some(deadline) = this.deadline else {
                return Poll::Pending;
            };
            match deadline.as_mut().poll_timer(cx) {
                Timer::Pending => return Poll::Pending,
                // The body gets a chance to see its token at once.
                Timer::Cancelled => {}
                Timer::GiveUp => {
                    deadline.child.view().state().give_up();
                    this.state.set(State::GivenUp);
                    return Poll::Ready(Ok(ToolOutcome::timed_out(deadline.budget)));
                }
            }
        }
    }
}

enum Timer {
    Pending,
    Cancelled,
    GiveUp,
}

impl Deadline {
    /// The time counts from here.
    pub(super) fn new(child: Arc<Child>, budget: Duration, grace: Option<Duration>) -> Self {
        Self {
            sleep: None,
            began: Instant::now(),
            child,
            budget,
            grace,
            phase: Phase::Running,
        }
    }

    fn classify(&self, outcome: ToolOutcome) -> ToolOutcome {
        if self.phase == Phase::Fired {
            ToolOutcome::timed_out(self.budget)
        } else {
            outcome
        }
    }

    fn poll_timer(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Timer {
        let mut this = self.project();
        if *this.phase == Phase::Upstream || (*this.phase == Phase::Fired && this.grace.is_none()) {
            return Timer::Pending;
        }
        if this.sleep.is_none() {
            let timer = match this.began.checked_add(*this.budget) {
                Some(end) => sleep_until(end),
                // Beyond the clock's range; tokio then waits for decades.
                None => sleep(*this.budget),
            };
            this.sleep.set(Some(timer));
        }
        let Some(mut sleep) = this.sleep.as_pin_mut() else {
            unreachable!("it has just been made");
        };
        if sleep.as_mut().poll(cx).is_pending() {
            return Timer::Pending;
        }
        if *this.phase == Phase::Fired {
            return Timer::GiveUp;
        }
        if this.child.upstream().is_cancelled() {
            *this.phase = Phase::Upstream;
            return Timer::Pending;
        }
        *this.phase = Phase::Fired;
        if let Some(grace) = *this.grace {
            // A sum beyond the timer's range is a grace without end.
            match Instant::now().checked_add(grace) {
                Some(end) => sleep.reset(end),
                None => *this.grace = None,
            }
        }
        this.child.token().cancel();
        Timer::Cancelled
    }
}
