//! Who answers when a policy asks.
//!
//! [`Answerers`] is the approver for hosts in which several parts may answer:
//! a terminal, a browser, an allow-list. The first answer counts; whoever
//! fails has not granted anything. Every question leaves a pair of records,
//! asked and decided, through an [`ApprovalAudit`], on every way it can end.
//!
//! ```
//! use tokio_util::sync::CancellationToken;
//! use toolfall::approval::Answerers;
//! use toolfall::{
//!     ApprovalOutcome, ApprovalRequest, CallRequest, CallView, Decision, Pipeline, Registry, Scope,
//! };
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let answerers = Answerers::new();
//! answerers.register(|request: ApprovalRequest| async move {
//!     (request.tool() == "deploy").then_some(ApprovalOutcome::Rejected)
//! }).keep();
//!
//! let pipeline = Pipeline::builder(Registry::new())
//!     .pre_decision(|_: &CallView| Decision::ask("it changes the world"))
//!     .approval(answerers)
//!     .build();
//! let call = |name: &'static str| {
//!     CallRequest::new("1", name, "{}", CancellationToken::new()).with_scope(Scope::new("agent"))
//! };
//! let result = pipeline.run(call("deploy")).await;
//! assert_eq!(result.text(), "Error: the user rejected tool \"deploy\"");
//!
//! let result = pipeline.run(call("release")).await;
//! assert_eq!(
//!     result.message(),
//!     Some("tool \"release\" requires approval, but no approval channel is available")
//! );
//! # }
//! ```

mod answerers;
mod audit;
mod bound;
pub mod channel;
mod digest;
mod mode;
mod question;
mod resume;
mod saved;
mod session;

pub use self::answerers::Answerers;
pub use self::audit::ApprovalAudit;
pub use self::bound::{AnswerError, BoundAnswer};
pub use self::channel::{ChannelApprover, PendingQuestion, PendingQuestions, Questions, Withdrawn};
pub use self::digest::{BadDigest, QuestionDigest};
pub use self::mode::{ApprovalMode, UnknownMode};
pub use self::question::Question;
pub use self::resume::SavedAnswers;
pub use self::saved::SavedQuestion;
