//! The body of `run_code`.

use std::fmt::Write as _;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::lane::{Lane, Setting};
use super::mode::Inner;
use super::sub_calls::Tools;
use crate::code::{ErrorClass, Namespace, RunFailure, RunOutcome, RunRequest};
use crate::policy::Contained;
use crate::registry::WeakRegistry;
use crate::scheduler::Cancel;
use crate::{Arguments, BoxError, CallToolError, CodedError, ToolContext, codes};

/// What a model gives.
#[derive(Deserialize)]
struct Given {
    code: String,
    description: String,
}

/// Runs the program that `arguments` hold.
///
/// The calls that it makes are driven beside it, on the same task: whoever
/// drops this future, or the pipeline that does, ends them.
pub(super) async fn run(
    mode: Arc<Inner>,
    registry: WeakRegistry,
    arguments: Arguments,
    ctx: ToolContext,
) -> Result<Value, BoxError> {
    let given: Given = arguments.decode()?;
    if given.description.trim().is_empty() {
        return Err(invalid("invalid description: expected a non-empty string"));
    }
    let runtime = mode.slot.current()?;
    let entry = ctx.entry()?;
    let registry = registry.upgrade().ok_or(CallToolError::PipelineGone)?;
    // As its author was told of them, which is by name.
    let mut names = registry.names(ctx.call().scope());
    names.sort();
    let run = ctx.cancellation().child_token();
    let (lane, calls) = Lane::open(Setting {
        ctx,
        entry,
        registry,
        names: names.clone(),
        limit: mode.config.max_parallel_sub_calls,
        run: run.clone(),
        log: mode.log.clone(),
    });
    let request = RunRequest::new(given.code)
        .namespace(Namespace {
            global: "tools".to_owned(),
            members: names,
            error_class: Some(ErrorClass {
                name: "ToolCallError".to_owned(),
                member_property: "toolName".to_owned(),
            }),
            binding: Arc::new(Tools(calls)),
        })
        .cancelled_by(Cancel::new(run));
    let program = Contained::new(async move { runtime.run(request).await });
    let (ended, finished) = lane.drive(program).await;
    match ended {
        Err(panic) => Err(format!("the code runtime panicked: {panic}").into()),
        Ok(Err(misuse)) => Err(misuse.into()),
        Ok(Ok(RunOutcome {
            logs,
            error: Some(failure),
            ..
        })) => Err(failed(&failure, &logs, finished)),
        Ok(Ok(RunOutcome { logs, value, .. })) => {
            let mut output = Map::new();
            output.insert("logs".to_owned(), logs.into());
            if let Some(value) = value {
                output.insert("result".to_owned(), value);
            }
            Ok(Value::Object(output))
        }
    }
}

fn invalid(message: &'static str) -> BoxError {
    CodedError::new("ToolArgsError", codes::INVALID_ARGS, message).into()
}

/// The failure of a program: what it printed is not lost, and that calls had
/// finished, whose effects stand.
fn failed(failure: &RunFailure, logs: &[String], finished: usize) -> BoxError {
    let RunFailure { kind, message } = failure;
    let mut text = format!("code run failed ({kind}): {message}");
    if !logs.is_empty() {
        text.push_str("\nCaptured output:\n");
        text.push_str(&logs.join("\n"));
    }
    if finished > 0 {
        // Writing to a string cannot fail.
        let _ = write!(text, "\nTool calls finished before: {finished}");
    }
    CodedError::new("CodeRunFailedError", codes::CODE_RUN_FAILED, text).into()
}
