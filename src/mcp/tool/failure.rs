//! Failures of a server's tools, with their codes.

use super::CallFailure;
use crate::{BoxError, CodedError, codes};

/// JSON-RPC's code for arguments that do not fit.
const INVALID_PARAMS: i64 = -32_602;

/// Why a call came to no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failed {
    /// There is no answer of the tool's.
    Call(CallFailure),
    /// The tool says that it failed, in these words.
    Tool(String),
    /// The tool would have to run as a task; nothing was sent.
    TaskRequired(String),
    /// The server made a task of the call.
    TaskAnswer,
}

impl From<CallFailure> for Failed {
    fn from(failure: CallFailure) -> Self {
        Self::Call(failure)
    }
}

impl From<Failed> for BoxError {
    fn from(failed: Failed) -> Self {
        let (name, code) = match &failed {
            Failed::Call(CallFailure::Aborted) => ("AbortError", codes::ABORTED),
            Failed::Call(CallFailure::TimedOut(_)) => ("McpError", "MCP_TIMEOUT"),
            Failed::Call(CallFailure::Closed(_)) => ("McpError", "MCP_CLOSED"),
            Failed::Call(CallFailure::NotConnected) => ("McpError", "MCP_NOT_CONNECTED"),
            Failed::Call(CallFailure::Malformed(_)) => ("McpError", "MCP_MALFORMED"),
            Failed::Call(CallFailure::Protocol { code, .. }) if *code == INVALID_PARAMS => {
                ("McpError", "MCP_INVALID_ARGS")
            }
            Failed::Call(CallFailure::Protocol { .. }) => ("McpError", "MCP_PROTOCOL_ERROR"),
            Failed::Tool(_) => ("McpToolError", "MCP_TOOL_ERROR"),
            Failed::TaskRequired(_) | Failed::TaskAnswer => ("McpError", "MCP_TASK_REQUIRED"),
        };
        let message = match failed {
            Failed::Call(failure) => failure.to_string(),
            Failed::Tool(text) => text,
            Failed::TaskRequired(tool) => {
                format!("tool \"{tool}\" requires task-based execution, which is not supported")
            }
            Failed::TaskAnswer => "the MCP server answered with a task, which is not supported: \
                                   expected a result"
                .to_owned(),
        };
        CodedError::new(name, code, message).into()
    }
}
