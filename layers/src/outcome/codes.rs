//! The stable codes of pipeline failures.

/// The tool is unknown, or hidden from the caller.
pub const UNKNOWN_TOOL: &str = "UNKNOWN_TOOL";
/// The arguments break the tool's schema, or are no JSON at all.
pub const INVALID_ARGS: &str = "INVALID_ARGS";
/// The body's value, or what is derived from it, breaks the output contract.
pub const INVALID_TOOL_OUTPUT: &str = "INVALID_TOOL_OUTPUT";
/// Cancelled before any body was entered: nothing ran.
pub const ABORTED_BEFORE_DISPATCH: &str = "ABORTED_BEFORE_DISPATCH";
/// Cancelled after a body was entered: side effects are possible.
pub const ABORTED: &str = "ABORTED";
/// The tool's budget elapsed.
pub const TOOL_TIMEOUT: &str = "TOOL_TIMEOUT";
/// The wait for an approver's answer had a deadline, and nobody answered.
pub const APPROVAL_TIMEOUT: &str = "APPROVAL_TIMEOUT";
/// A load-shedding layer around the dispatch refused the call.
pub const OVERLOADED: &str = "OVERLOADED";
/// The process ended while the call ran.
pub const INTERRUPTED: &str = "INTERRUPTED";
/// The model's reply was cut off: the call never runs.
pub const TRUNCATED: &str = "TRUNCATED";
/// A program that calls tools failed.
pub const CODE_RUN_FAILED: &str = "CODE_RUN_FAILED";
