//! Questions and answers over channels, for user interfaces.
//!
//! [`ChannelApprover`] puts questions; the other end, [`Questions`], receives
//! them one by one. A [`PendingQuestion`] is answered by the task that holds
//! it. Whatever is dropped settles as cancelled: a question unanswered, the
//! receiver with questions still inside. Questions put after that find nobody.
//!
//! ```
//! use std::num::NonZeroUsize;
//! use tokio_util::sync::CancellationToken;
//! use toolfall::approval::ChannelApprover;
//! use toolfall::{CallRequest, CallView, Decision, Pipeline, Registry, Scope};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let (approver, mut questions) = ChannelApprover::new(NonZeroUsize::new(16).unwrap());
//! let pipeline = Pipeline::builder(Registry::new())
//!     .pre_decision(|_: &CallView| Decision::ask("it changes the world"))
//!     .approval(approver)
//!     .build();
//!
//! let interface = async move {
//!     let question = questions.recv().await.unwrap();
//!     assert_eq!(question.request().reason(), Some("it changes the world"));
//!     question.reject_with("not on a Friday").unwrap();
//! };
//! let call = CallRequest::new("1", "deploy", "{}", CancellationToken::new())
//!     .with_scope(Scope::new("agent"));
//! let (result, ()) = tokio::join!(pipeline.run(call), interface);
//! assert_eq!(result.message(), Some("the user rejected tool \"deploy\": not on a Friday"));
//! # }
//! ```
//!
//! # Answers by reference
//!
//! Where the person sits elsewhere, [`PendingQuestions`] holds the open
//! questions. It gives them out as [data](super::SavedQuestion), and takes
//! [answers](super::BoundAnswer) that name the question and the digest of what
//! was shown.
//!
//! ```
//! # use std::num::NonZeroUsize;
//! # use tokio_util::sync::CancellationToken;
//! use toolfall::approval::{AnswerError, BoundAnswer, ChannelApprover, PendingQuestions};
//! # use toolfall::{ApprovalOutcome, CallRequest, CallView, Decision, Pipeline, Registry, Scope};
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! # let (approver, mut questions) = ChannelApprover::new(NonZeroUsize::new(16).unwrap());
//! # let pipeline = Pipeline::builder(Registry::new())
//! #     .pre_decision(|_: &CallView| Decision::ask("it changes the world"))
//! #     .approval(approver)
//! #     .build();
//! let pending = PendingQuestions::new();
//! let interface = async {
//!     pending.hold(questions.recv().await.unwrap());
//!     // Over the wire and back:
//!     let shown = serde_json::to_value(pending.list()).unwrap();
//!     let text = serde_json::json!({
//!         "question": shown[0]["id"],
//!         "digest": shown[0]["digest"],
//!         "outcome": "rejected",
//!     });
//!     let answer: BoundAnswer = serde_json::from_value(text).unwrap();
//!     pending.answer(answer.clone()).unwrap();
//!     let again = pending.answer(answer);
//!     assert!(matches!(again, Err(AnswerError::Unknown { .. })));
//! };
//! # let call = CallRequest::new("1", "deploy", "{}", CancellationToken::new())
//! #     .with_scope(Scope::new("agent"));
//! let (result, ()) = tokio::join!(pipeline.run(call), interface);
//! assert_eq!(result.message(), Some("the user rejected tool \"deploy\""));
//! # }
//! ```

mod approver;
mod pending;
mod question;

pub use self::approver::{AnswererFuture, ChannelApprover};
pub use self::pending::PendingQuestions;
pub use self::question::{PendingQuestion, Questions, Withdrawn};
