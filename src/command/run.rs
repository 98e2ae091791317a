//! One run of a program.

use std::collections::VecDeque;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

use super::Spec;
use super::group::Group;
use super::output::{Output, head, shown, tail};
use crate::{Arguments, BoxError, CodedError, ToolContext, code};

/// So long the end of the output of a program that has ended is waited for.
const LAST_OUTPUT: Duration = Duration::from_secs(2);
/// So much of standard error goes into a failure's message, in characters.
const SHOWN: usize = 2_000;

/// How a run came to its end.
enum Ended {
    Exited(std::io::Result<ExitStatus>),
    Cancelled,
    TooMuch,
}

pub(super) async fn run(
    spec: Arc<Spec>,
    arguments: Arguments,
    ctx: ToolContext,
) -> Result<Value, BoxError> {
    let mut group = Group::start(&mut command(&spec)).map_err(|error| {
        failure(
            "COMMAND_NOT_STARTED",
            format!(
                "the program {} cannot be started: {error}",
                spec.program.display()
            ),
        )
    })?;
    let mut stdout = Output::default();
    let (mut stderr, mut stderr_more) = (VecDeque::new(), false);
    let pipes = (
        group.child.stdin.take(),
        group.child.stdout.take(),
        group.child.stderr.take(),
    );
    let ended = {
        let (Some(mut stdin), Some(out), Some(err)) = pipes else {
            return Err(failure(
                "COMMAND_NOT_STARTED",
                format!("the program {} has no pipes", spec.program.display()),
            ));
        };
        let feed = async move {
            // A program need not read what it is told.
            let _ = stdin.write_all(arguments.json().as_bytes()).await;
            let _ = stdin.shutdown().await;
        };
        let read = async {
            head(out, spec.stdout_limit, &mut stdout).await;
            stdout.more
        };
        let drain = tail(err, spec.stderr_limit, &mut stderr, &mut stderr_more);
        supervise(&mut group, &spec, &ctx, feed, read, drain).await
    };
    let stderr = stderr.make_contiguous();
    match ended {
        // The body's token is cancelled: the pipeline makes the outcome.
        Ended::Cancelled => Ok(Value::Null),
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
        Ended::Exited(Ok(status)) if status.success() => answer(&stdout.bytes),
        Ended::Exited(Ok(status)) => {
            let said = shown(stderr, stderr_more, SHOWN);
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

/// Feeds, reads and drains until the program ends, is cancelled, or writes
/// too much.
async fn supervise(
    group: &mut Group,
    spec: &Spec,
    ctx: &ToolContext,
    feed: impl Future<Output = ()>,
    read: impl Future<Output = bool>,
    drain: impl Future<Output = ()>,
) -> Ended {
    let cancelled = ctx.cancellation().cancelled();
    tokio::pin!(feed, read, drain, cancelled);
    // Which of the three are still to be polled.
    let (mut feeding, mut reading, mut draining) = (true, true, true);
    let status = loop {
        tokio::select! {
            biased;
            () = &mut cancelled => {
                let closed = async {
                    if reading {
                        read.await;
                    }
                    if draining {
                        drain.await;
                    }
                };
                let _ = group.end(spec.grace, closed).await;
                return Ended::Cancelled;
            }
            too_much = &mut read, if reading => {
                reading = false;
                if too_much {
                    let _ = group.end(Duration::ZERO, async {}).await;
                    return Ended::TooMuch;
                }
            }
            () = &mut drain, if draining => draining = false,
            () = &mut feed, if feeding => feeding = false,
            status = group.wait() => break status,
        }
    };
    // The program has ended; what it wrote may still be on its way. One that
    // left its group may hold the pipes for ever.
    let rest = async {
        let too_much = reading && read.await;
        if draining {
            drain.await;
        }
        too_much
    };
    match timeout(LAST_OUTPUT, rest).await {
        Ok(true) => Ended::TooMuch,
        _ => Ended::Exited(status),
    }
}

fn command(spec: &Spec) -> Command {
    let mut command = Command::new(&spec.program);
    command
        .args(&spec.args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    if let Some(folder) = &spec.folder {
        command.current_dir(folder);
    }
    if !spec.inherit {
        command.env_clear();
        for name in &spec.passed {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
    }
    command.envs(spec.set.iter().map(|(name, value)| (name, value)));
    command
}

/// The one JSON value on standard output.
fn answer(bytes: &[u8]) -> Result<Value, BoxError> {
    let invalid = |found: String| {
        failure(
            code::INVALID_TOOL_OUTPUT,
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
