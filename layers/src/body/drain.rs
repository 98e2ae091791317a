//! Driving a body to its end after its future was dropped.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;
use tracing::Instrument as _;

use super::Running;
use crate::error::body_failure;
use crate::panic::catch;

/// Cancels a dropped body and sees it to its end elsewhere.
pub(super) fn drain(running: Running) {
    let view = running.dispatch.view.clone();
    if view.state().is_given_up() {
        view.state().mark_effect_unknown();
        forget_quietly(running);
        return;
    }
    running.dispatch.cancel();
    // The body's own runtime first: the one that happens to drop it may be
    // about to end, or lack the drivers that the body waits for.
    let runtime = running
        .runtime
        .clone()
        .or_else(|| Handle::try_current().ok());
    if let Some(runtime) = runtime {
        let drain = Drain {
            running: Some(running),
        };
        // The drained body stays in the spans it was started in.
        runtime.spawn(drain.in_current_span());
    } else {
        view.state().mark_effect_unknown();
        forget_quietly(running);
    }
}

/// Drops a body whose destructor may panic.
fn forget_quietly(running: Running) {
    let Running { body, dispatch, .. } = running;
    let _ = catch(|| drop(body));
    drop(dispatch);
}

struct Drain {
    running: Option<Running>,
}

impl Future for Drain {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(running) = &mut self.running else {
            return Poll::Ready(());
        };
        let state = running.dispatch.view.state().clone();
        state.add_waiter(cx.waker());
        if state.is_given_up() {
            return Poll::Ready(());
        }
        let ended = match catch(|| running.span.in_scope(|| running.body.as_mut().poll(cx))) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(Ok(value))) => Ok(value),
            Ok(Poll::Ready(Err(error))) => Err(body_failure(&*error)),
            Err(panic) => Err(body_failure(&panic)),
        };
        // Only a failure of the body's own outlives a cancellation.
        if let Err(failure) = ended {
            state.leave_behind(failure);
        }
        if let Some(Running { body, dispatch, .. }) = self.running.take() {
            let _ = catch(|| drop(body));
            drop(dispatch);
        }
        Poll::Ready(())
    }
}

impl Drop for Drain {
    /// The runtime shut down, or the call was given up.
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.dispatch.view.state().mark_effect_unknown();
            forget_quietly(running);
        }
    }
}
