//! One run, from a process that was given nothing to its outcome.

use std::pin::pin;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::calls::Calls;
use super::end::End;
use super::frames::Frames;
use super::input::Input;
use super::launcher::Launcher;
use super::limits::{Limits, Meter, cpu_time, innermost};
use super::logs::Logs;
use super::raw::Raw;
use super::worker::{Pipes, Worker};
use crate::code::protocol::{Boot, BootNamespace, Call, GuestFrame, HostFrame, IN_FLIGHT};
use crate::code::{Budgets, RunFailureKind, RunOutcome, RunRequest};

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
        frames: Frames::new(pipes.stdout, terms.budgets),
        raw: Raw::new(pipes.stderr),
        program: Some(&request.program),
        meter: None,
    };
    run.input.push(boot(request, terms));
    let end = run.drive(&mut worker, request, terms, &mut logs).await;
    run.settle(end, &mut worker, terms.budgets, logs).await
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

pub(super) struct Run<'a> {
    pub(super) calls: Calls<'a>,
    /// A call beyond what may be in flight; nothing is read behind it.
    pub(super) held: Option<Call>,
    pub(super) input: Input,
    pub(super) frames: Frames,
    pub(super) raw: Raw,
    /// Until it is sent.
    pub(super) program: Option<&'a str>,
    pub(super) meter: Option<Meter>,
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
                        let message = terms.budgets.compute_message();
                        return End::Failed(RunFailureKind::Timeout, message);
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
            if !self.frames.is_open() && !is_silent {
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
                    let fits = logs.push(log);
                    if !fits {
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
}

/// What is said of a run that was cancelled.
pub(in crate::code) fn cause(request: &RunRequest) -> String {
    request.cancel.cause().unwrap_or("cancelled").to_owned()
}
