//! Runs the tool calls that a language model asks for, through a tower stack.
//!
//! Between "the model wrote a call" and "the model reads a result" every call
//! falls through one fixed order of stages, each a [`tower::Layer`], and no
//! code path reaches a tool's body without passing them.
//!
//! - [`tool`] and [`registry`]: what can be called.
//! - [`pipeline`]: the standard stack, and how to write it by hand.
//! - [`scheduler`]: whole batches, in model order.
//! - [`policy`] and [`approval`]: who may call what, and who is asked.
//! - [`permission`]: presets and the approval policy of a session.
//! - [`session`]: the durable record, its recovery and its checker.
//! - [`card`]: what people see of calls and results, live and from a log.
//! - [`redaction`]: what people, logs and traces do not get to see.
//! - `code` and `sdk` (feature `code`): programs of the model's that call the
//!   tools, and how the tools are declared to it.
//! - [`retain`] and [`spill`]: output within a budget, and where the rest goes.
//! - [`wire`] and [`pairing`]: providers' messages.
//! - [`layers`]: the contract, for custom layers.
//!
//! # Example
//!
//! ```
//! use tokio_util::sync::CancellationToken;
//! use toolfall::*;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BoxError> {
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Read { path: String }
//!
//! let registry = Registry::new();
//! let read = tool_fn("read", "Reads a file", |args: Read, _: ToolContext| async move {
//!     Ok::<_, BoxError>(format!("the contents of {}", args.path))
//! });
//! registry.register(read.parallel())?.keep();
//!
//! let pipeline = Pipeline::builder(registry)
//!     .pre_decision(|call: &CallView| match call.name() {
//!         "read" => Decision::Allow,
//!         _ => Decision::deny("only reading is allowed"),
//!     })
//!     .build();
//!
//! let cancel = CancellationToken::new();
//! let calls = [
//!     CallRequest::new("1", "read", r#"{"path":"a.txt"}"#, cancel.clone()),
//!     CallRequest::new("2", "write", "{}", cancel.clone()),
//! ];
//! let report = pipeline.scheduler().batch(calls, cancel).run().await;
//! let texts: Vec<String> = report.committed.iter().map(|call| call.result.text()).collect();
//! assert_eq!(texts, ["the contents of a.txt", "Error: only reading is allowed"]);
//! # Ok(()) }
//! ```

pub mod approval;
#[cfg(all(feature = "workspace", unix))]
pub mod bash;
pub mod card;
#[cfg(feature = "code")]
pub mod code;
#[cfg(all(feature = "workspace", unix))]
pub mod command;
#[cfg(all(feature = "workspace", unix))]
pub mod hooks;
pub mod host;
#[cfg(any(feature = "mcp-client", feature = "mcp-server"))]
pub mod mcp;
pub mod pairing;
pub mod permission;
pub mod pipeline;
pub mod policy;
#[cfg(any(
    all(feature = "workspace", unix),
    all(feature = "mcp-client", unix),
    all(feature = "code-child", target_os = "linux")
))]
mod process;
pub mod redaction;
pub mod registry;
#[cfg(feature = "workspace")]
pub mod replay;
pub mod retain;
pub mod scheduler;
pub mod schema;
#[cfg(feature = "code")]
pub mod sdk;
pub mod session;
pub mod spill;
pub mod tool;
pub mod tool_service;
pub mod wire;
#[cfg(feature = "workspace")]
pub mod workspace;

/// The contract crate, whole: what a custom layer depends on.
pub use toolfall_layers as layers;
#[cfg(feature = "testing")]
pub use toolfall_layers::testing;
pub use toolfall_layers::{
    ApprovalAnswer, ApprovalLayer, ApprovalOutcome, ApprovalRequest, Arguments, ArgumentsError,
    ArgumentsErrorKind, BodyContext, BoxError, Call, CallId, CallRequest, CallView, Catalog,
    ClearedCall, CodedError, ContentBlock, ContextMessage, ContextSource, DecidedBy, DecidedCall,
    Decision, Definition, Denial, Effect, EmbeddedResource, ErrorInfo, ExecutionToken, Extensions,
    FailureKind, Guard, GuardLayer, GuardList, GuardRegistration, GuardRelaxed, IntoArguments,
    MonotonicGuard, Observer, PostDecision, PostExecuteLayer, PostRequest, PreDecisionLayer,
    Reason, Recorded, Recorder, Rendered, ResourceContents, ResultNotifyLayer, RetryLayer, Scope,
    ScopeId, StageError, TimeoutLayer, ToolCall, ToolOutcome, ToolResult, codes,
};

pub use self::pipeline::{Pipeline, PipelineBuilder};
pub use self::registry::{
    Filter, RegisterError, Registration, Registry, RestrictError, RestrictionSet, ToolSchema,
};
pub use self::scheduler::{Batch, BatchEvent, Scheduler};
pub use self::tool::{
    CallToolError, ExecutionMode, Progress, ProgressSink, Tool, ToolContext, ToolDef, Validation,
    raw_tool, service_tool, tool_fn,
};
pub use self::tool_service::ToolService;

/// The README's examples run as tests.
#[cfg(all(
    doctest,
    feature = "testing",
    feature = "rules",
    feature = "code-ts",
    target_os = "linux"
))]
#[doc = include_str!("../README.md")]
struct Readme;
