//! One call of a tool.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest};
use serde_json::Value;
use tokio::time::{Instant, sleep_until};
use toolfall_layers::printable;

use super::Inner;
use super::ask::{Refused, ask};
use super::watch::Sink;
use crate::mcp::tool::{CallFailure, RawCall};

pub(super) async fn call(inner: &Arc<Inner>, call: RawCall) -> Result<Value, CallFailure> {
    if call.cancellation.is_cancelled() {
        return Err(CallFailure::Aborted);
    }
    let mut params = CallToolRequestParams::new(call.name);
    params.arguments = Some(call.arguments);
    let mut request = CallToolRequest::new(params);
    let told = Told(Sink::new(call.progress));
    request.extensions.insert(told.0.clone());
    let prolongs = inner.options.progress_prolongs;
    let answer = tokio::select! {
        biased;
        answer = ask(inner, ClientRequest::CallToolRequest(request)) => answer,
        () = call.cancellation.cancelled() => return Err(CallFailure::Aborted),
        () = expired(call.timeout, &told.0, prolongs) => {
            return Err(CallFailure::TimedOut(call.timeout));
        }
    };
    drop(told);
    match answer {
        Ok(result) => complete(result),
        Err(Refused::Closed(how)) => Err(CallFailure::Closed(how)),
        Err(Refused::Protocol { code, message }) => Err(CallFailure::Protocol { code, message }),
        Err(Refused::Malformed(what)) => Err(CallFailure::Malformed(what)),
    }
}

/// Hears of a call's progress until it ends in whatever way.
struct Told(Sink);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.close();
    }
}

async fn expired(timeout: Duration, progress: &Sink, prolongs: bool) {
    loop {
        // A time beyond the clock's range never comes.
        let Some(deadline) = Instant::now().checked_add(timeout) else {
            return std::future::pending().await;
        };
        tokio::select! {
            biased;
            () = progress.step(), if prolongs => {}
            () = sleep_until(deadline) => return,
        }
    }
}

/// The object of a result that is one.
fn complete(result: Value) -> Result<Value, CallFailure> {
    let Some(object) = result.as_object() else {
        let found = match result {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) | Value::Object(_) => "an array",
        };
        return Err(CallFailure::Malformed(format!(
            "expected a result that is an object, found {found}"
        )));
    };
    match object.get("resultType").map(Value::as_str) {
        // A task is not for us to judge.
        None | Some(Some("complete" | "task")) => Ok(result),
        Some(kind) => Err(CallFailure::Malformed(format!(
            "expected a complete result, found one of the type {}",
            printable(kind.unwrap_or("that is no text"), 80)
        ))),
    }
}
