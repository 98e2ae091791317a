//! One run, from a process that was given nothing to its outcome.

use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::Pid;
use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStdout;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::calls::Calls;
use super::input::Input;
use super::launcher::Launcher;
use super::limits::{Limits, cpu_time, innermost};
use super::logs::Logs;
use super::raw::Raw;
use super::worker::{Pipes, Worker, ending, used_up};
use crate::code::ledger::limit_message;
use crate::code::protocol::{
    Boot, BootNamespace, Call, Done, GuestFrame, HostFrame, IN_FLIGHT, Lines,
};
use crate::code::{Budgets, RunFailureKind, RunOutcome, RunRequest};

/// What frames need beside what they carry.
const FRAME: usize = 64 << 10;
/// So long a process may take to end by itself that has said its last word.
const LAST_WORD: Duration = Duration::from_millis(100);
/// So long the rest of its output is waited for once it is gone; only who
/// left the group can still hold the pipe then.
const LAST_OUTPUT: Duration = Duration::from_millis(250);
/// So long a process may live that closed its end of the protocol.
const SILENT: Duration = Duration::from_millis(500);
/// The shortest time between two looks at the processor time.
const LOOK: Duration = Duration::from_millis(5);

/// What one run is held to.
pub(super) struct Terms<'a> {
    pub(super) launcher: &'a Launcher,
    pub(super) budgets: &'a Budgets,
    pub(super) disposed: &'a CancellationToken,
}

/// Why a run ends.
enum End {
    Done(Done),
    Failed(RunFailureKind, String),
    /// The process is gone.
    Exited(Option<ExitStatus>),
}

/// Runs a program in `worker`.
///
/// Dropping the future kills the worker, and drops the calls.
pub(super) async fn supervise(
    worker: (Worker, Pipes),
    request: &RunRequest,
    terms: &Terms<'_>,
    mut logs: Logs,
) -> RunOutcome {
    let (mut worker, pipes) = worker;
    let mut run = Run {
        calls: Calls::new(&request.namespaces),
        held: None,
        input: Input::new(pipes.stdin),
        frames: Frames {
            pipe: Some(pipes.stdout),
            lines: Lines::new(longest(terms.budgets)),
        },
        raw: Raw::new(pipes.stderr),
        program: Some(&request.program),
        meter: None,
    };
    run.input.push(boot(request, terms));
    let end = run.drive(&mut worker, request, terms, &mut logs).await;
    run.settle(end, &mut worker, terms.budgets, logs).await
}

/// No honest line is longer.
fn longest(budgets: &Budgets) -> usize {
    budgets
        .output
        .saturating_add(toolfall_layers::MAX_TEXT)
        .saturating_add(FRAME)
}

fn limits(terms: &Terms<'_>) -> Limits {
    Limits {
        address_space: terms.budgets.heap.saturating_add(terms.launcher.own_memory),
        compute: terms.budgets.compute,
    }
}

fn boot(request: &RunRequest, terms: &Terms<'_>) -> String {
    let limits = limits(terms);
    let output = terms.budgets.output;
    let bytes = |size: usize| u64::try_from(size).unwrap_or(u64::MAX);
    let namespaces = request.namespaces.iter().map(|namespace| BootNamespace {
        global: namespace.global.clone(),
        names: namespace.members.clone(),
        error_class: namespace.error_class.clone(),
    });
    HostFrame::Boot(Boot {
        cpu_seconds: limits.cpu_seconds(Duration::ZERO),
        address_space_bytes: limits.address_space,
        max_log_bytes: bytes(terms.budgets.logs.unwrap_or(output).min(output)),
        max_value_bytes: bytes(output),
        namespaces: namespaces.collect(),
    })
    .write()
}

struct Run<'a> {
    calls: Calls<'a>,
    /// A call beyond what may be in flight; nothing is read behind it.
    held: Option<Call>,
    input: Input,
    frames: Frames,
    raw: Raw,
    /// Until it is sent.
    program: Option<&'a str>,
    meter: Option<Meter>,
}

struct Frames {
    pipe: Option<ChildStdout>,
    lines: Lines,
}

impl Frames {
    /// Reads some more; for ever where there is no more to come.
    ///
    /// Cancel safe.
    async fn read(&mut self) {
        let Some(pipe) = &mut self.pipe else {
            return std::future::pending().await;
        };
        if !matches!(pipe.read_buf(self.lines.spare()).await, Ok(1..)) {
            self.pipe = None;
        }
    }
}

impl Run<'_> {
    async fn drive(
        &mut self,
        worker: &mut Worker,
        request: &RunRequest,
        terms: &Terms<'_>,
        logs: &mut Logs,
    ) -> End {
        let mut wall = pin!(sleep(terms.budgets.wall));
        let mut late = pin!(sleep(terms.launcher.boot));
        let mut look = pin!(sleep(terms.budgets.compute));
        let mut silent = pin!(sleep(Duration::ZERO));
        let mut is_silent = false;
        loop {
            let waits = self.program.is_some();
            let reads = self.held.is_none();
            tokio::select! {
                biased;
                () = request.cancel.token().cancelled() => {
                    return End::Failed(RunFailureKind::Abort, cause(request));
                }
                () = terms.disposed.cancelled() => return End::disposed(),
                () = &mut wall => {
                    let message = terms.budgets.wall_message();
                    return End::Failed(RunFailureKind::Timeout, message);
                }
                () = &mut late, if waits => {
                    let message = format!(
                        "worker did not answer within {}ms",
                        terms.launcher.boot.as_millis()
                    );
                    return End::Failed(RunFailureKind::WorkerExit, message);
                }
                () = &mut look, if self.meter.is_some() => {
                    let left = self.meter.as_ref().map_or(Duration::ZERO, Meter::left);
                    if left.is_zero() {
                        return used_up_end(terms.budgets);
                    }
                    look.set(sleep(left.max(LOOK)));
                }
                () = &mut silent, if is_silent => {
                    let message = "worker closed its output before completing".to_owned();
                    return End::Failed(RunFailureKind::WorkerExit, message);
                }
                reply = self.calls.next() => self.input.push(HostFrame::Reply(reply).write()),
                () = self.input.write() => {}
                () = self.raw.read(), if self.raw.is_open() => {
                    if !self.raw.lines(|line| logs.push_raw(line)) {
                        return End::over(terms.budgets);
                    }
                }
                () = self.frames.read(), if reads => {}
                status = worker.wait() => return self.rest(status, terms, logs).await,
            }
            if let Some(end) = self.take(worker, terms, logs) {
                return end;
            }
            if waits && self.program.is_none() {
                look.set(sleep(terms.budgets.compute));
            }
            if self.frames.pipe.is_none() && !is_silent {
                is_silent = true;
                silent.set(sleep(SILENT));
            }
        }
    }

    /// Takes the frames that are there, as far as calls may begin.
    fn take(&mut self, worker: &Worker, terms: &Terms<'_>, logs: &mut Logs) -> Option<End> {
        let full = |run: &Self| run.calls.len() + run.input.len() >= IN_FLIGHT;
        loop {
            if let Some(call) = self.held.take() {
                if full(self) {
                    self.held = Some(call);
                    return None;
                }
                self.calls.begin(call);
            }
            let frame = match self.frames.lines.line() {
                Ok(Some(line)) => GuestFrame::read(line),
                Ok(None) => return None,
                Err(_) => return Some(End::over(terms.budgets)),
            };
            match frame {
                Some(GuestFrame::BootAck) => self.begin(worker, terms),
                // Before it is given a program, a process has nothing to say.
                _ if self.program.is_some() => {}
                Some(GuestFrame::Call(call)) => self.held = Some(call),
                Some(GuestFrame::Log(log)) => {
                    if !logs.push(log) {
                        return Some(End::over(terms.budgets));
                    }
                }
                Some(GuestFrame::Done(done)) => return Some(End::Done(done)),
                None => {}
            }
        }
    }

    /// Sets the limits and sends the program.
    fn begin(&mut self, worker: &Worker, terms: &Terms<'_>) {
        let Some(program) = self.program.take() else {
            return;
        };
        if let Some(pid) = worker.pid() {
            let pid = innermost(pid);
            let used = cpu_time(pid).unwrap_or_default();
            limits(terms).set(pid, used);
            self.meter = Some(Meter {
                pid,
                until: used.saturating_add(terms.budgets.compute),
            });
        }
        let program = program.to_owned();
        self.input.push(HostFrame::Run { program }.write());
    }

    /// What a process that is gone had still said.
    async fn rest(
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
                    Ok(None) if self.frames.pipe.is_none() => return End::Exited(status),
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
    async fn settle(
        mut self,
        end: End,
        worker: &mut Worker,
        budgets: &Budgets,
        mut logs: Logs,
    ) -> RunOutcome {
        self.input.close();
        self.frames.pipe = None;
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

impl End {
    fn disposed() -> Self {
        Self::Failed(RunFailureKind::Abort, "runtime disposed".to_owned())
    }

    fn over(budgets: &Budgets) -> Self {
        let message = limit_message(budgets.output);
        Self::Failed(RunFailureKind::OutputLimit, message)
    }
}

/// What is said of a run that was cancelled.
pub(in crate::code) fn cause(request: &RunRequest) -> String {
    request.cancel.cause().unwrap_or("cancelled").to_owned()
}

fn used_up_end(budgets: &Budgets) -> End {
    End::Failed(RunFailureKind::Timeout, budgets.compute_message())
}

/// The processor time that a process may still use.
struct Meter {
    pid: Pid,
    until: Duration,
}

impl Meter {
    /// All of it where the process is gone: that shows elsewhere.
    fn left(&self) -> Duration {
        let used = cpu_time(self.pid).unwrap_or_default();
        self.until.saturating_sub(used)
    }
}
