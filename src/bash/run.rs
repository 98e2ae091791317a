//! One command, from its arguments to its report.

use std::future::Future;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::Signal;

use super::arguments::BashArguments;
use super::{BashReport, BashTool};
use crate::command::process::{Ended, run_merged};
use crate::retain::RetainedText;
use crate::{BoxError, CodedError, ToolContext};

pub(super) async fn run(
    tool: &BashTool,
    arguments: BashArguments,
    ctx: &ToolContext,
) -> Result<BashReport, BoxError> {
    let mut spec = tool.spec.clone();
    spec.folder = Some(folder(tool, arguments.cwd.as_deref()).await?);
    spec.args = ["-c".into(), arguments.command.into()].into();
    let asked = arguments
        .timeout_ms
        .map(|ms| Duration::from_millis(ms.get()));
    let timeout = asked.unwrap_or(tool.timeout).min(tool.max_timeout);
    let head = tool.output_limit / 2;
    let mut timed_out = false;
    let finished = {
        let stop = stop(ctx, timeout, &mut timed_out);
        run_merged(&spec, (head, tool.output_limit - head), stop).await
    };
    let finished = finished.map_err(|error| {
        let program = spec.program.display();
        failure(
            "BASH_NOT_STARTED",
            format!("the shell {program} cannot be started: {error}"),
        )
    })?;
    let mut report = BashReport {
        omitted_bytes: finished.output.omitted.count().unwrap_or(0),
        malformed: finished.malformed,
        incomplete: finished.output.incomplete,
        timed_out_after_ms: timed_out
            .then(|| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)),
        output: with_gap(finished.output),
        ..BashReport::default()
    };
    match finished.ended {
        Ended::Exited(Ok(status)) | Ended::Stopped(Ok(status)) => tell(status, &mut report),
        Ended::Exited(Err(error)) | Ended::Stopped(Err(error)) => {
            let message = format!("the shell's end could not be told: {error}");
            return Err(failure("BASH_FAILED", message));
        }
        Ended::TooMuch => {}
    }
    Ok(report)
}

/// Ready when the command must end: the call was cancelled, or its time is
/// over.
async fn stop(ctx: &ToolContext, timeout: Duration, timed_out: &mut bool) {
    let cancelled: std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>> =
        Box::pin(ctx.cancellation().cancelled());
    *timed_out = tokio::time::timeout(timeout, cancelled).await.is_err();
}

/// The folder to begin in: below the root, wherever links lead.
async fn folder(tool: &BashTool, cwd: Option<&std::path::Path>) -> Result<PathBuf, BoxError> {
    let Some(cwd) = cwd else {
        return Ok(tool.root.to_path_buf());
    };
    let wanted = tool.root.join(cwd);
    let found = tokio::task::spawn_blocking(move || wanted.canonicalize())
        .await
        .map_err(std::io::Error::other)
        .flatten()
        .map_err(|error| {
            let message = format!(
                "expected a folder at {:?}: {error}",
                cwd.display().to_string()
            );
            failure("BASH_FOLDER", message)
        })?;
    if !found.starts_with(&tool.root) {
        let message = format!(
            "expected a folder below the root, found {:?}",
            cwd.display().to_string()
        );
        return Err(failure("BASH_FOLDER", message));
    }
    if !found.is_dir() {
        let message = format!("expected a folder, found {:?}", cwd.display().to_string());
        return Err(failure("BASH_FOLDER", message));
    }
    Ok(found)
}

fn tell(status: ExitStatus, report: &mut BashReport) {
    report.exit_code = status.code();
    report.signal = status.signal().map(|number| {
        let known = Signal::from_named_raw(number);
        known.map_or_else(|| number.to_string(), |signal| format!("SIG{signal:?}"))
    });
}

/// What was kept, with a line where something was left out.
fn with_gap(kept: RetainedText) -> String {
    let RetainedText {
        mut text,
        gap,
        omitted,
        ..
    } = kept;
    if let (Some(gap), Some(count)) = (gap, omitted.count()) {
        text.insert_str(gap, &format!("\n[{count} bytes omitted]\n"));
    }
    text
}

fn failure(code: &'static str, message: String) -> BoxError {
    CodedError::new("BashError", code, message).into()
}
