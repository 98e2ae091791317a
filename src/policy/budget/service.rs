use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use tower::util::Oneshot;
use tower_service::Service;

use super::account::Shared;
use super::{BUDGET_EXCEEDED, Budgets, Exceeded};
use crate::{BoxError, Call, DecidedBy, ErrorInfo, FailureKind, ToolOutcome};

/// Admits each call while no budget is spent, and notes how it ended.
///
/// It fits around any form of a call.
#[derive(Clone)]
pub struct BudgetService<S> {
    inner: S,
    budgets: Budgets,
}

impl<S> BudgetService<S> {
    pub(super) const fn new(inner: S, budgets: Budgets) -> Self {
        Self { inner, budgets }
    }
}

impl<S, Req> Service<Req> for BudgetService<S>
where
    Req: Call,
    S: Service<Req, Response = ToolOutcome> + Clone,
    S::Error: Into<BoxError>,
{
    type Response = ToolOutcome;
    type Error = BoxError;
    type Future = ResponseFuture<S, Req>;

    /// Ready at once: the inner service is readied after the call was
    /// admitted, so that a refused call takes nobody's permit.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Req) -> Self::Future {
        let account = self.budgets.account(call.scope());
        let state = match account.admit(call.name(), self.budgets.limits()) {
            Err(exceeded) => State::Refused {
                outcome: Some(refusal(&exceeded)),
            },
            Ok(()) => State::Admitted {
                called: Oneshot::new(self.inner.clone(), call),
                budgets: self.budgets.clone(),
                account,
            },
        };
        ResponseFuture { state }
    }
}

fn refusal(exceeded: &Exceeded) -> ToolOutcome {
    let name = exceeded.budget.as_str();
    ToolOutcome::failure(exceeded.to_string())
        .with_info(ErrorInfo::new("BudgetError", BUDGET_EXCEEDED))
        .of_kind(FailureKind::Denied)
        .by(DecidedBy::Policy(Some(name.into())))
}

pin_project! {
    /// The future of [`BudgetService`]. Dropped early, the call stays
    /// admitted and its ending is not noted.
    pub struct ResponseFuture<S, Req>
    where
        S: Service<Req>,
    {
        #[pin]
        state: State<S, Req>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<S, Req>
    where
        S: Service<Req>,
    {
        Refused { outcome: Option<ToolOutcome> },
        Admitted {
            #[pin]
            called: Oneshot<S, Req>,
            budgets: Budgets,
            account: Shared,
        },
    }
}

impl<S, Req> Future for ResponseFuture<S, Req>
where
    S: Service<Req, Response = ToolOutcome>,
    S::Error: Into<BoxError>,
{
    type Output = Result<ToolOutcome, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Refused { outcome } => {
                Poll::Ready(Ok(outcome.take().expect("polled after completion")))
            }
            StateProj::Admitted {
                called,
                budgets,
                account,
            } => {
                let outcome = ready!(called.poll(cx));
                account.settle(outcome.as_ref().ok(), budgets.limits());
                Poll::Ready(outcome.map_err(Into::into))
            }
        }
    }
}

impl<S, Req: fmt::Debug> fmt::Debug for ResponseFuture<S, Req>
where
    S: Service<Req>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

impl<S: fmt::Debug> fmt::Debug for BudgetService<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BudgetService")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}
