use std::task::{Context, Poll};
use std::time::Duration;

use tower_service::Service;

use super::future::Deadline;
use super::{ResponseFuture, TimeoutLayer};
use crate::call::{Call as _, CallView, ClearedCall};
use crate::outcome::ToolOutcome;

/// Cancels dispatches that take longer than their budget.
#[derive(Clone, Debug)]
pub struct Timeout<S> {
    inner: S,
    config: TimeoutLayer,
}

impl<S> Timeout<S> {
    pub(crate) const fn new(inner: S, config: TimeoutLayer) -> Self {
        Self { inner, config }
    }
}

impl<S> Service<ClearedCall> for Timeout<S>
where
    S: Service<ClearedCall, Response = ToolOutcome>,
{
    type Response = ToolOutcome;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: ClearedCall) -> Self::Future {
        let declared = declared(call.view());
        let Some(budget) = declared.or(self.config.default) else {
            return ResponseFuture::untimed(self.inner.call(call));
        };
        if self.config.grace.is_some() {
            call.view().state().announce_grace();
        }
        let (call, child) = call.with_child();
        let deadline = Deadline::new(child, budget, self.config.grace);
        ResponseFuture::timed(self.inner.call(call), deadline)
    }
}

/// The budget that the call's tool declares. Calls of a stack in which no tool
/// declares one do not pay for the look-up.
fn declared(view: &CallView) -> Option<Duration> {
    let catalog = view.state().host.catalog.as_ref()?;
    catalog.has_budgets().then(|| view.definition())??.budget()
}
