//! One command, from its arguments to its report.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
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
    let cancelled = ctx.cancellation().cancelled();
    *timed_out = tokio::time::timeout(timeout, cancelled).await.is_err();
}

/// The folder to begin in: below the root, wherever links lead.
async fn folder(tool: &BashTool, cwd: Option<&Path>) -> Result<PathBuf, BoxError> {
    let Some(cwd) = cwd else {
        return Ok(tool.root.to_path_buf());
    };
    let wanted = tool.root.join(cwd);
    let found = tokio::task::spawn_blocking(move || {
        let found = wanted.canonicalize()?;
        let is_dir = found.is_dir();
        Ok((found, is_dir))
    });
    let why = match found.await.map_err(std::io::Error::other).flatten() {
        Ok((found, true)) if found.starts_with(&tool.root) => return Ok(found),
        Ok((_, true)) => "it is outside of the root".to_owned(),
        Ok((_, false)) => "it is no folder".to_owned(),
        Err(error) => error.to_string(),
    };
    let cwd = cwd.display().to_string();
    let message = format!("expected a folder below the root, found {cwd:?}: {why}");
    Err(failure("BASH_FOLDER", message))
}

fn tell(status: ExitStatus, report: &mut BashReport) {
    report.exit_code = status.code();
    report.signal = status.signal().map(|number| {
        let known = SIGNALS.iter().find(|(signal, _)| signal.as_raw() == number);
        known.map_or_else(|| number.to_string(), |(_, name)| (*name).to_owned())
    });
}

/// The signals that end programs, by the names that people know.
const SIGNALS: [(Signal, &str); 17] = [
    (Signal::HUP, "SIGHUP"),
    (Signal::INT, "SIGINT"),
    (Signal::QUIT, "SIGQUIT"),
    (Signal::ILL, "SIGILL"),
    (Signal::TRAP, "SIGTRAP"),
    (Signal::ABORT, "SIGABRT"),
    (Signal::BUS, "SIGBUS"),
    (Signal::FPE, "SIGFPE"),
    (Signal::KILL, "SIGKILL"),
    (Signal::USR1, "SIGUSR1"),
    (Signal::SEGV, "SIGSEGV"),
    (Signal::USR2, "SIGUSR2"),
    (Signal::PIPE, "SIGPIPE"),
    (Signal::ALARM, "SIGALRM"),
    (Signal::TERM, "SIGTERM"),
    (Signal::XCPU, "SIGXCPU"),
    (Signal::XFSZ, "SIGXFSZ"),
];

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
