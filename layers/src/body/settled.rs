//! Waiting until no body of a call is open.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::call::CallView;

/// Ready once every body that the call entered has come to its end.
pub(crate) struct Settled(CallView);

impl Settled {
    /// `None` if nothing is open, which is almost always.
    pub(crate) fn wait(view: &CallView) -> Option<Self> {
        (!view.state().gate.is_idle()).then(|| Self(view.clone()))
    }
}

impl Future for Settled {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let state = self.0.state();
        if state.gate.is_idle() {
            return Poll::Ready(());
        }
        state.add_waiter(cx.waker());
        if state.gate.is_idle() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}
