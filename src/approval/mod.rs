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
//!
//! # Refusals
//!
//! An answerer may give an [`ApprovalAnswer`](crate::ApprovalAnswer) instead
//! of a bare outcome: a refusal that tells the model why, and one that also
//! ends the model's turn. The other calls of the batch still come to their own
//! results; then [`BatchEnd::concludes`](crate::scheduler::BatchEnd::concludes)
//! says that the turn is over, and so it does if the call was nested in
//! another tool's.
//!
//! # A deadline
//!
//! [`Answerers::deadline`] limits the wait. What was not answered by then is
//! denied, with the code `APPROVAL_TIMEOUT`.
//!
//! # User interfaces
//!
//! [`channel`] puts questions into a channel, and takes answers that are bound
//! to what was shown.
//!
//! # A question that outlives its process
//!
//! The log of a process that ended with a question open gives it back, once:
//! see [`Recovery::questions`](crate::session::Recovery::questions). A new
//! process shows it, keeps the answer in [`SavedAnswers`], and makes the call
//! again.
//!
//! ```
//! use std::sync::Arc;
//! use tokio_util::sync::CancellationToken;
//! use toolfall::approval::{Answerers, BoundAnswer, SavedAnswers};
//! use toolfall::session::{Options, SessionLog, SessionRecorder};
//! use toolfall::{
//!     ApprovalAnswer, CallRequest, CallView, Decision, Pipeline, Registry, Scope,
//! };
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("session.jsonl");
//! # let lines = r#"{"seq":1,"type":"tool/call","call":1,"id":"c1","name":"deploy","arguments":"{}","agent":"agent"}
//! # {"seq":2,"type":"approval/asked","id":"q","call":1,"call_id":"c1","tool":"deploy","digest":"DIGEST"}
//! # "#;
//! # let digest = toolfall::approval::QuestionDigest::of(Some("agent"), "c1", "deploy", "{}");
//! # std::fs::write(&path, lines.replace("DIGEST", &digest.to_string()))?;
//! let (log, recovery) = SessionLog::open(&path, Options::new())?;
//! let recorder = Arc::new(SessionRecorder::new(log));
//! let answers = SavedAnswers::new();
//! let answerers = Answerers::audited(recorder.clone());
//! answerers.register_first(answers.answerer()).keep();
//! let pipeline = Pipeline::builder(Registry::new())
//!     .pre_decision(|_: &CallView| Decision::ask("it changes the world"))
//!     .approval(answerers)
//!     .recorder(recorder)
//!     .build();
//!
//! let question = &recovery.questions[0];
//! assert_eq!((question.tool(), question.arguments()), ("deploy", "{}"));
//! let refusal = ApprovalAnswer::rejected("not any more");
//! answers.add(question, BoundAnswer::to(question, refusal))?;
//!
//! let call = recovery.interrupted[0].clone();
//! let again = CallRequest::new(call.id, call.name, call.arguments, CancellationToken::new())
//!     .with_scope(Scope::new(call.agent.unwrap_or_default()));
//! let result = pipeline.run(again).await;
//! assert_eq!(result.message(), Some("the user rejected tool \"deploy\": not any more"));
//! # Ok(())
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
mod session_mode;

pub use self::answerers::Answerers;
pub use self::audit::ApprovalAudit;
pub use self::bound::{AnswerError, BoundAnswer};
pub use self::channel::{ChannelApprover, PendingQuestion, PendingQuestions, Questions, Withdrawn};
pub use self::digest::{BadDigest, QuestionDigest};
pub use self::mode::{ApprovalMode, UnknownMode};
pub use self::question::Question;
pub use self::resume::SavedAnswers;
pub use self::saved::SavedQuestion;
pub use self::session_mode::SessionMode;
pub(crate) use self::session_mode::Writing;
