//! Every request has a cancellation token, and only around stages may replace it.

use tokio_util::sync::CancellationToken;
use toolfall_layers::{CallRequest, CallView, DecidedCall, ToolCall};

fn before_the_decision(call: ToolCall) -> ToolCall {
    call.with_cancellation(CancellationToken::new())
}

fn before_the_guard(call: DecidedCall) -> DecidedCall {
    call.with_cancellation(CancellationToken::new())
}

fn in_a_wrapper(call: &mut toolfall_layers::ClearedCall) {
    call.view.0.name = "another tool".into();
}

fn without_a_token() -> CallRequest {
    CallRequest::new("call_1", "echo", "{}")
}

fn in_a_policy(call: &mut CallView) {
    *call.cancellation() = CancellationToken::new();
}

fn main() {}
