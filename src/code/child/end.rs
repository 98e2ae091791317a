//! How a run ends.

use std::process::ExitStatus;
use std::time::Duration;

use tokio::time::timeout;

use super::logs::Logs;
use super::supervise::{Run, Terms};
use super::worker::{Worker, ending, used_up};
use crate::code::ledger::limit_message;
use crate::code::protocol::{Done, GuestFrame};
use crate::code::{Budgets, RunFailureKind, RunOutcome};

/// So long a process may take to end by itself that has said its last word.
const LAST_WORD: Duration = Duration::from_millis(100);
/// So long the rest of its output is waited for once it is gone; only who
/// left the group can still hold the pipe then.
const LAST_OUTPUT: Duration = Duration::from_millis(250);

/// Why a run ends.
pub(super) enum End {
    Done(Done),
    Failed(RunFailureKind, String),
    /// The process is gone.
    Exited(Option<ExitStatus>),
}

impl End {
    pub(super) fn disposed() -> Self {
        Self::Failed(RunFailureKind::Abort, "runtime disposed".to_owned())
    }

    pub(super) fn over(budgets: &Budgets) -> Self {
        let message = limit_message(budgets.output);
        Self::Failed(RunFailureKind::OutputLimit, message)
    }
}

impl Run<'_> {
    /// What a process that is gone had still said.
    pub(super) async fn rest(
        &mut self,
        status: Option<ExitStatus>,
        terms: &Terms<'_>,
        logs: &mut Logs,
    ) -> End {
        let read = async {
            loop {
                match self
                    .frames
                    .lines
                    .line()
                    .map(|line| line.map(GuestFrame::read))
                {
                    Ok(Some(Some(GuestFrame::Done(done)))) if self.program.is_none() => {
                        return End::Done(done);
                    }
                    Ok(Some(Some(GuestFrame::Log(log)))) if self.program.is_none() => {
                        if !logs.push(log) {
                            return End::over(terms.budgets);
                        }
                    }
                    Ok(Some(_)) => {}
                    Ok(None) if !self.frames.is_open() => return End::Exited(status),
                    Ok(None) => self.frames.read().await,
                    Err(_) => return End::over(terms.budgets),
                }
            }
        };
        timeout(LAST_OUTPUT, read)
            .await
            .unwrap_or(End::Exited(status))
    }

    /// Ends the process, takes the rest of its output, and says what became
    /// of the program.
    pub(super) async fn settle(
        mut self,
        end: End,
        worker: &mut Worker,
        budgets: &Budgets,
        mut logs: Logs,
    ) -> RunOutcome {
        self.input.close();
        self.frames.close();
        // No call outlives the run.
        drop(self.calls);
        let raw = &mut self.raw;
        let mut drain = async |logs: &mut Logs| {
            while raw.is_open() && raw.lines(|line| logs.push_raw(line)) {
                raw.read().await;
            }
        };
        if matches!(end, End::Done(_)) {
            let gone = async {
                tokio::select! {
                    _ = worker.wait() => {}
                    () = async { drain(&mut logs).await; std::future::pending().await } => {}
                }
            };
            let _ = timeout(LAST_WORD, gone).await;
        }
        worker.kill().await;
        let _ = timeout(LAST_OUTPUT, drain(&mut logs)).await;
        self.raw.close();
        self.raw.lines(|line| logs.push_raw(line));
        let ledger = logs.ledger;
        match end {
            End::Done(Done::Completed(value)) => ledger.completed(value),
            End::Done(Done::Lossy) => ledger.lossy(),
            End::Done(Done::Failed(failure)) => match failure.kind {
                RunFailureKind::InvalidOutput => ledger.lossy(),
                kind => ledger.failed(kind, failure.message),
            },
            End::Failed(kind, message) => ledger.failed(kind, message),
            End::Exited(status) if used_up(status) => {
                ledger.failed(RunFailureKind::Timeout, budgets.compute_message())
            }
            End::Exited(status) => ledger.failed(RunFailureKind::WorkerExit, ending(status)),
        }
    }
}
