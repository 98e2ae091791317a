//! One run of one hook.

use std::ffi::OsString;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::set::Prepared;
use super::{Dialect, HookDecision, HookFault, HookOutput, HookPoint, HookSession, OnFault};
use crate::command::process::{self, Ended};

/// A hook that has run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HookRun {
    /// Its name.
    pub id: String,
    /// Where it ran.
    pub point: HookPoint,
    /// Its answer.
    pub output: HookOutput,
    /// How long it took, by tokio's clock.
    pub duration: Duration,
    /// Whether it was stopped because its call was cancelled; its answer is
    /// empty then.
    pub cancelled: bool,
    pub(super) on_fault: OnFault,
}

impl HookRun {
    /// The answer that counts: a fault that is not ignored is a refusal, and
    /// stays one whatever else the hook said.
    pub(super) fn counted(&self) -> HookOutput {
        let mut output = self.output.clone();
        if let Some(fault) = &self.output.fault
            && self.on_fault == OnFault::Deny
            && output.decision.map(HookDecision::plain) != Some(HookDecision::Deny)
        {
            output.decision = Some(HookDecision::Deny);
            output.reason = Some(format!(
                "the hook {:?} gave no valid answer: {fault}",
                self.id
            ));
        }
        output
    }

    fn warn(&self) {
        let Self { id, point, .. } = self;
        if let Some(fault) = &self.output.fault {
            tracing::warn!(hook = id, %fault, "{point} hook failed");
        }
        if self.output.updated_input.is_some() {
            tracing::warn!(hook = id, "updatedInput of a {point} hook is not used");
        }
        if let Some(message) = &self.output.system_message {
            tracing::warn!(hook = id, message, "systemMessage of a {point} hook");
        }
    }
}

/// Runs `hook` with `input`. Ends when the hook has, or when it has been
/// killed after its timeout or after `cancel`; dropped, it kills the hook.
pub(super) async fn run(
    hook: &Prepared,
    dialect: Dialect,
    session: &HookSession,
    input: &str,
    default_timeout: Duration,
    cancel: &CancellationToken,
) -> HookRun {
    let began = Instant::now();
    let timeout = hook.timeout.unwrap_or(default_timeout);
    let (mut timed_out, mut cancelled) = (false, false);
    let stop = async {
        tokio::select! {
            biased;
            () = cancel.cancelled() => cancelled = true,
            () = sleep(timeout) => timed_out = true,
        }
    };
    let mut spec = hook.spec.clone();
    if spec.folder.is_none() {
        spec.folder = Some(session.folder().to_owned());
    }
    if dialect == Dialect::ClaudeCode {
        let project = OsString::from("CLAUDE_PROJECT_DIR");
        // What is set for the hook itself comes later, and wins.
        let folder = session.folder().as_os_str().to_owned();
        spec.set.insert(0, (project, folder));
    }
    let finished = process::run(&spec, input.as_bytes(), stop).await;
    let output = match finished {
        Err(error) => HookOutput::failed(HookFault::NotStarted(error.to_string()), ""),
        Ok(finished) => {
            let stderr = &finished.stderr.text;
            match finished.ended {
                Ended::Stopped(_) if timed_out => {
                    HookOutput::failed(HookFault::TimedOut(timeout), stderr)
                }
                Ended::Stopped(_) => HookOutput::default(),
                Ended::TooMuch => {
                    HookOutput::failed(HookFault::TooMuchOutput(spec.stdout_limit), stderr)
                }
                Ended::Exited(Err(_)) => HookOutput::failed(HookFault::NoExitCode, stderr),
                Ended::Exited(Ok(status)) => match status.code() {
                    None => HookOutput::failed(HookFault::NoExitCode, stderr),
                    code => answer(hook.point, dialect, code, &finished.stdout, stderr),
                },
            }
        }
    };
    let run = HookRun {
        id: hook.id.clone(),
        point: hook.point,
        output,
        duration: began.elapsed(),
        cancelled,
        on_fault: hook.on_fault,
    };
    run.warn();
    run
}

fn answer(
    point: HookPoint,
    dialect: Dialect,
    code: Option<i32>,
    stdout: &[u8],
    stderr: &str,
) -> HookOutput {
    let Ok(text) = std::str::from_utf8(stdout) else {
        let mut output = HookOutput::decode(code, "", stderr, Some(point));
        output.fault.get_or_insert_with(|| {
            HookFault::NotAnObject("found bytes that are no UTF-8".to_owned())
        });
        return output;
    };
    let mut output = HookOutput::decode(code, text, stderr, Some(point));
    // What such a Codex hook says in plain words is meant for the model.
    if dialect == Dialect::Codex
        && matches!(point, HookPoint::SessionStart | HookPoint::UserPromptSubmit)
        && matches!(output.fault, Some(HookFault::NotAnObject(_)))
        && !output.stdout.starts_with(['{', '['])
    {
        output.fault = None;
        output.additional_context = Some(output.stdout.clone());
    }
    output
}
