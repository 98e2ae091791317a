//! The contract of `toolfall` and its stage layers.
//!
//! A tool call falls through one fixed order of [`tower::Layer`]s. Each stage
//! takes one form of the call and hands on the next, so the types carry the
//! proof that the stages before were passed:
//!
//! ```text
//! CallRequest
//!   ▼ ResultNotifyLayer   CallRequest → ToolCall      owns the ending
//!   ▼ PostExecuteLayer    ToolCall                    accept, replace, block
//!   ▼ PreDecisionLayer    ToolCall                    allow, ask, deny
//!   ▼ ApprovalLayer       ToolCall → DecidedCall      resolves an ask once
//!   ▼ GuardLayer          DecidedCall → ClearedCall   deny or abstain
//!   ▼ TimeoutLayer, …     ClearedCall                 around the dispatch
//!   ▼ a body              ClearedCall::enter
//! ToolOutcome ▲ … ▲ ToolResult
//! ```
//!
//! Write a custom layer against the [`Call`] trait, which all forms
//! implement, and it fits anywhere. Depend on this crate to write layers, on
//! `toolfall` to use them.
//!
//! ```
//! # use tower::ServiceExt;
//! # use tokio_util::sync::CancellationToken;
//! use toolfall_layers::*;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let stack = tower::ServiceBuilder::new()
//!     .layer(ResultNotifyLayer::new())
//!     .layer(PreDecisionLayer::new(|call: &CallView| match call.name() {
//!         "rm" => Decision::deny("nothing is removed here"),
//!         _ => Decision::Allow,
//!     }))
//!     .layer(ApprovalLayer::unavailable())
//!     .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
//!     .service_fn(|_: ClearedCall| async { Ok::<_, BoxError>(ToolOutcome::failure("no tools")) });
//!
//! let call = CallRequest::new("call_1", "rm", "{}", CancellationToken::new());
//! let result = stack.oneshot(call).await.unwrap();
//! assert_eq!(result.text(), "Error: nothing is removed here");
//! assert_eq!(result.effect(), Effect::NotStarted);
//! # }
//! ```

pub mod approval;
mod arguments;
pub mod body;
mod call;
pub mod catalog;
mod content;
mod error;
pub mod guard;
mod outcome;
pub mod panic;
pub mod policy;
pub mod post_execute;
pub mod pre_decision;
mod ready;
pub mod result_notify;
pub mod retry;
mod span;
mod sync;
#[cfg(feature = "testing")]
pub mod testing;
pub mod timeout;
pub mod turn;

pub use self::approval::{ApprovalAnswer, ApprovalLayer, ApprovalOutcome, ApprovalRequest};
pub use self::arguments::{
    Arguments, ArgumentsError, ArgumentsErrorKind, CheckError, DecodeError, Digest, MAX_DEPTH,
    MAX_TEXT, Malformed, Member, check_json, check_value, discard_value, json_members, printable,
    read_json, to_value,
};
pub use self::body::{BodyContext, BodyFuture, BoxBody};
pub use self::call::{
    Call, CallId, CallRequest, CallView, ClearedCall, DecidedCall, ExecutionToken, Extensions,
    IntoArguments, RefusedArguments, Scope, ScopeId, ToolCall, WeakScope,
};
pub use self::catalog::{Catalog, Definition, Rendered};
pub use self::content::{ContentBlock, EmbeddedResource, ResourceContents};
pub use self::error::{BoxError, CodedError, Part, StageError};
pub use self::guard::{Denial, Guard, GuardLayer, GuardList, GuardRegistration};
pub use self::outcome::{
    ContextMessage, ContextSource, DecidedBy, Effect, ErrorInfo, FailureKind, ToolOutcome,
    ToolResult, codes,
};
pub use self::post_execute::{PostDecision, PostExecuteLayer, PostRequest};
pub use self::pre_decision::{Decision, GuardRelaxed, MonotonicGuard, PreDecisionLayer, Reason};
pub use self::result_notify::{Observer, Recorded, Recorder, ResultNotifyLayer};
pub use self::retry::RetryLayer;
pub use self::timeout::TimeoutLayer;
pub use self::turn::Turn;
