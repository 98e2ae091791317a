use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;

use crate::call::CallView;
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
    struct Deadline {
        #[pin]
        sleep: Sleep,
        view: CallView,
        upstream: CancellationToken,
        token: CancellationToken,
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

    pub(super) fn timed(
        future: F,
        view: CallView,
        upstream: CancellationToken,
        token: CancellationToken,
        budget: Duration,
        grace: Option<Duration>,
    ) -> Self {
        Self {
            state: State::Dispatching { future },
            deadline: Some(Box::pin(Deadline {
                sleep: tokio::time::sleep(budget),
                view,
                upstream,
                token,
                budget,
                grace,
                phase: Phase::Running,
            })),
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
                    deadline.view.state().give_up();
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
    fn classify(&self, outcome: ToolOutcome) -> ToolOutcome {
        if self.phase == Phase::Fired {
            ToolOutcome::timed_out(self.budget)
        } else {
            outcome
        }
    }

    fn poll_timer(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Timer {
        let mut this = self.project();
        if *this.phase == Phase::Upstream
            || (*this.phase == Phase::Fired && this.grace.is_none())
            || this.sleep.as_mut().poll(cx).is_pending()
        {
            return Timer::Pending;
        }
        if *this.phase == Phase::Fired {
            return Timer::GiveUp;
        }
        if this.upstream.is_cancelled() {
            *this.phase = Phase::Upstream;
            return Timer::Pending;
        }
        *this.phase = Phase::Fired;
        if let Some(grace) = *this.grace {
            // A sum beyond the timer's range is a grace without end.
            match Instant::now().checked_add(grace) {
                Some(end) => this.sleep.reset(end),
                None => *this.grace = None,
            }
        }
        this.token.cancel();
        Timer::Cancelled
    }
}
