//! Runs the tool calls that a language model asks for, through a tower stack.
pub mod approval;
pub mod pairing;
pub mod pipeline;
pub mod policy;
pub mod registry;
pub mod scheduler;
pub mod schema;
pub mod session;
pub mod tool;
pub mod tool_service;
pub mod wire;

pub use toolfall_layers::{
    ApprovalLayer, ApprovalOutcome, ApprovalRequest, Arguments, ArgumentsError, ArgumentsErrorKind,
    BodyContext, BoxError, Call, CallId, CallRequest, CallView, Catalog, ClearedCall, CodedError,
    ContentBlock, ContextMessage, ContextSource, DecidedBy, DecidedCall, Decision, Definition,
    Denial, Effect, ErrorInfo, ExecutionToken, Extensions, FailureKind, Guard, GuardLayer,
    GuardList, GuardRegistration, GuardRelaxed, IntoArguments, MonotonicGuard, Observer,
    PostDecision, PostExecuteLayer, PostRequest, PreDecisionLayer, Reason, Recorded, Recorder,
    Rendered, ResultNotifyLayer, RetryLayer, Scope, StageError, TimeoutLayer, ToolCall,
    ToolOutcome, ToolResult, code,
};

pub use self::pipeline::{Pipeline, PipelineBuilder};
pub use self::registry::{RegisterError, Registration, Registry, ToolSchema};
pub use self::scheduler::{Batch, BatchEvent, Scheduler};
pub use self::tool::{
    CallToolError, ExecutionMode, Progress, ProgressSink, Tool, ToolContext, ToolDef, Validation,
    raw_tool, service_tool, tool_fn,
};
pub use self::tool_service::ToolService;
