use std::fmt;
use std::future::Ready;

use tower_layer::Layer;

use super::{Approval, ApprovalAnswer, ApprovalOutcome, ApprovalRequest};
use crate::error::BoxError;
use crate::policy::{Answer, Asked, IntoPolicy, Policy};

/// Applies [`Approval`]. See the [module docs](super) for an example.
#[derive(Clone)]
pub struct ApprovalLayer<A> {
    approver: A,
    present: bool,
}

impl<A> ApprovalLayer<A> {
    /// A layer that asks `approver`: a closure, an asynchronous closure, a
    /// tower service or a [`Policy`](crate::policy::Policy). Closures and
    /// services may answer an [`ApprovalOutcome`] or an [`ApprovalAnswer`].
    pub fn new<M, I>(approver: I) -> Self
    where
        I: IntoPolicy<ApprovalRequest, ApprovalAnswer, M, Policy = A>,
    {
        Self {
            approver: approver.into_policy(),
            present: true,
        }
    }
}

impl ApprovalLayer<NoApprover> {
    /// For a host with nobody to ask: every `ask` is a denial.
    pub const fn unavailable() -> Self {
        Self {
            approver: NoApprover(()),
            present: false,
        }
    }
}

impl<S, A: Clone> Layer<S> for ApprovalLayer<A> {
    type Service = Approval<S, A>;

    fn layer(&self, inner: S) -> Self::Service {
        Approval::new(inner, self.approver.clone(), self.present)
    }
}

impl<A> fmt::Debug for ApprovalLayer<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApprovalLayer")
            .field("present", &self.present)
            .finish_non_exhaustive()
    }
}

/// Nobody to ask; see [`ApprovalLayer::unavailable`].
#[derive(Clone, Copy, Debug)]
pub struct NoApprover(());

impl Policy<ApprovalRequest, ApprovalAnswer> for NoApprover {
    type Future = Ready<Result<ApprovalAnswer, BoxError>>;

    fn ask(&self, _: &ApprovalRequest) -> Asked<ApprovalAnswer, Self::Future> {
        Answer::Now(Ok(ApprovalOutcome::Unavailable.into()))
    }
}
