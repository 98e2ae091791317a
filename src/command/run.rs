//! A call of a command tool: its arguments in, its answer out.

use std::sync::Arc;

use serde_json::Value;

use super::output::shown;
use super::process::{self, Ended, Spec};
use crate::{Arguments, BoxError, CodedError, ToolContext, codes};

/// So much of standard error goes into a failure's message, in characters.
const SHOWN: usize = 2_000;

pub(super) async fn run(
    spec: Arc<Spec>,
    arguments: Arguments,
    ctx: ToolContext,
) -> Result<Value, BoxError> {
    let stop = ctx.cancellation().cancelled();
    let finished = process::run(&spec, arguments.json().as_bytes(), stop)
        .await
        .map_err(|error| {
            failure(
                "COMMAND_NOT_STARTED",
                format!(
                    "the program {} cannot be started: {error}",
                    spec.program.display()
                ),
            )
        })?;
    match finished.ended {
        // The body's token is cancelled: the pipeline makes the outcome.
        Ended::Stopped(_) => Ok(Value::Null),
        Ended::TooMuch => Err(failure(
            "COMMAND_OUTPUT_TOO_LARGE",
            format!(
                "expected at most {} bytes on standard output, found more",
                spec.stdout_limit
            ),
        )),
        Ended::Exited(Err(error)) => Err(failure(
            "COMMAND_FAILED",
            format!("the program's end could not be told: {error}"),
        )),
        Ended::Exited(Ok(status)) if status.success() => answer(&finished.stdout),
        Ended::Exited(Ok(status)) => {
            let said = shown(&finished.stderr, SHOWN);
            let said = if said.is_empty() {
                "it wrote nothing on standard error".to_owned()
            } else {
                said
            };
            Err(failure(
                "COMMAND_FAILED",
                format!("the program ended with {status}: {said}"),
            ))
        }
    }
}

/// The one JSON value on standard output.
fn answer(bytes: &[u8]) -> Result<Value, BoxError> {
    let invalid = |found: String| {
        failure(
            codes::INVALID_TOOL_OUTPUT,
            format!("expected one JSON value on standard output, {found}"),
        )
    };
    let text = std::str::from_utf8(bytes)
        .map_err(|error| invalid(format!("found no UTF-8 from byte {}", error.valid_up_to())))?;
    if text.trim().is_empty() {
        return Err(invalid("found nothing".to_owned()));
    }
    // The same check as for arguments: nothing is rounded, nothing dropped.
    let checked = Arguments::from_text(text)
        .map_err(|error| invalid(format!("found one that cannot be kept exactly: {error}")))?;
    if let Some(malformed) = checked.malformed() {
        return Err(invalid(format!("found something else: {malformed}")));
    }
    if text.trim() == "null" {
        return Ok(Value::Null);
    }
    Ok(checked.value().clone())
}

fn failure(code: &'static str, message: String) -> BoxError {
    CodedError::new("CommandError", code, message).into()
}
