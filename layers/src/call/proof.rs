//! The three forms of a call between the result stage and the body. Each
//! proves that the stages before it were passed.

use std::fmt;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::state::CallState;
use super::view::{Call, CallView};
use super::{Child, Replaced};
use crate::pre_decision::MonotonicGuard;

/// A call that the result stage minted: its end is taken care of, nothing is
/// decided yet.
///
/// Only [`ResultNotifyLayer`](crate::ResultNotifyLayer) makes one. It is not
/// `Clone`, so one request is one execution:
///
/// ```compile_fail
/// fn copy(call: toolfall_layers::ToolCall) -> toolfall_layers::ToolCall {
///     call.clone()
/// }
/// ```
pub struct ToolCall {
    pub(crate) view: CallView,
    pub(crate) decisions: MonotonicGuard,
}

impl ToolCall {
    pub(crate) fn mint(state: Arc<CallState>) -> Self {
        Self {
            view: CallView(state),
            decisions: MonotonicGuard::new(),
        }
    }

    /// What the decision stages outside this one have decided so far.
    pub fn decisions(&self) -> &MonotonicGuard {
        &self.decisions
    }
}

/// A call whose `ask`, if there was one, has been answered.
///
/// Only [`ApprovalLayer`](crate::ApprovalLayer) makes one, and it can be
/// neither forged nor copied:
///
/// ```compile_fail
/// fn copy(call: &toolfall_layers::DecidedCall) -> toolfall_layers::DecidedCall {
///     call.clone()
/// }
/// ```
pub struct DecidedCall {
    pub(crate) view: CallView,
}

/// A call that may run: it has passed the guards.
///
/// Only [`GuardLayer`](crate::GuardLayer) makes one, and
/// [`RetryLayer`](crate::RetryLayer) may issue it again. A clearance that is
/// kept past its call's result is refused at the body boundary. It can be
/// neither forged nor copied:
///
/// ```compile_fail,E0451
/// use toolfall_layers::{CallView, ClearedCall};
///
/// fn forge(view: CallView) -> ClearedCall {
///     ClearedCall { view }
/// }
/// ```
///
/// ```compile_fail
/// fn copy(call: &toolfall_layers::ClearedCall) -> toolfall_layers::ClearedCall {
///     call.clone()
/// }
/// ```
pub struct ClearedCall {
    pub(crate) view: CallView,
    pub(crate) replaced: Option<Replaced>,
    /// Whether the replacement follows the caller's token by itself.
    pub(crate) fused: bool,
}

impl ClearedCall {
    /// The same call under another cancellation token.
    ///
    /// For around stages only: no earlier form of a call has this method. The
    /// body stops when `token` or the caller's own token is cancelled; a
    /// wrapper can never detach the caller.
    ///
    /// ```compile_fail
    /// # use tokio_util::sync::CancellationToken;
    /// fn detach(call: toolfall_layers::DecidedCall) -> toolfall_layers::DecidedCall {
    ///     call.with_cancellation(CancellationToken::new())
    /// }
    /// ```
    pub fn with_cancellation(mut self, token: CancellationToken) -> Self {
        self.replaced = Some(Replaced::Token(token));
        self.fused = false;
        self
    }

    /// As [`with_cancellation`](Self::with_cancellation), for a child of the
    /// token that the call has here.
    pub(crate) fn with_child(mut self) -> (Self, Arc<Child>) {
        self.fused |= self.replaced.is_none();
        let child = Arc::new(Child::new(self.view.clone(), self.replaced.take()));
        self.replaced = Some(Replaced::Child(child.clone()));
        (self, child)
    }

    /// Issues the clearance again, for another attempt at the same call.
    pub(crate) fn reissue(&self) -> Self {
        Self {
            view: self.view.clone(),
            replaced: self.replaced.clone(),
            fused: self.fused,
        }
    }

    /// Whether the token here does not follow the caller's by itself.
    pub(crate) fn is_detached(&self) -> bool {
        self.replaced.is_some() && !self.fused
    }

    /// Whether the caller's token or the replacement is cancelled now.
    pub fn is_cancelled(&self) -> bool {
        self.view.cancellation().is_cancelled()
            || self.replaced.as_ref().is_some_and(Replaced::is_cancelled)
    }
}

impl Call for ToolCall {
    fn view(&self) -> &CallView {
        &self.view
    }
}

impl Call for DecidedCall {
    fn view(&self) -> &CallView {
        &self.view
    }
}

impl Call for ClearedCall {
    fn view(&self) -> &CallView {
        &self.view
    }

    fn cancellation(&self) -> &CancellationToken {
        match &self.replaced {
            Some(replaced) => replaced.token(),
            None => self.view.cancellation(),
        }
    }
}

macro_rules! debug_as_view {
    ($($name:ident),*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.view).finish()
            }
        }
    )*};
}

debug_as_view!(ToolCall, DecidedCall, ClearedCall);
