//! Programs on threads of this process.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::rc::Rc;
use std::sync::{Arc, mpsc as std_mpsc};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::edge::{Call, Ending, Limits, Outside, Reply, Roster, Stop};
use super::outbox::Outbox;
use super::program::Job;
use super::seats::{Seats, Shared, Stuck, lock};
use super::worker::on_wire;
use crate::code::child::calls::Calls;
use crate::code::child::logs::Logs;
use crate::code::child::supervise::cause;
use crate::code::protocol::{self, IN_FLIGHT, Log};
use crate::code::{Budgets, Misuse, RunFailureKind, RunOutcome, RunRequest};

/// So much a thread may be ahead of the run that listens to it.
const EVENTS: usize = 2 * IN_FLIGHT;
/// So long a disposal waits for threads that do not end.
const LAST: Duration = Duration::from_secs(1);

/// Runs programs on threads.
#[derive(Debug)]
pub(super) struct Threads {
    budgets: Budgets,
    seats: Arc<Seats>,
    disposed: CancellationToken,
}

enum Event {
    Log(String),
    Call(protocol::Call),
    End(Ending),
}

/// How a run is over.
enum End {
    Engine(Ending),
    Failed(RunFailureKind, String),
    /// It put out too much.
    Over,
}

impl Threads {
    pub(super) fn new(budgets: Budgets, threads: usize, stuck: usize) -> Self {
        Self {
            budgets,
            seats: Seats::new(threads, stuck),
            disposed: CancellationToken::new(),
        }
    }

    pub(super) fn stuck(&self) -> usize {
        self.seats.left()
    }

    pub(super) async fn dispose(&self) {
        self.disposed.cancel();
        let _ = timeout(LAST, self.seats.none()).await;
    }

    pub(super) async fn run(&self, request: RunRequest) -> Result<RunOutcome, Misuse> {
        if self.disposed.is_cancelled() {
            return Err(Misuse::Disposed);
        }
        request.check()?;
        let mut logs = Logs::new(self.budgets.output, self.budgets.logs);
        if request.cancel.token().is_cancelled() {
            return Ok(logs.ledger.failed(RunFailureKind::Abort, cause(&request)));
        }
        let end = self.to_its_end(&request, &mut logs).await?;
        let ledger = logs.ledger;
        Ok(match end {
            End::Failed(kind, message) | End::Engine(Ending::Failed(kind, message)) => {
                ledger.failed(kind, message)
            }
            End::Over | End::Engine(Ending::TooLarge) => {
                ledger.failed(RunFailureKind::OutputLimit, "")
            }
            End::Engine(Ending::Completed(value)) => ledger.completed(value),
            End::Engine(Ending::Spent) => {
                ledger.failed(RunFailureKind::Timeout, self.budgets.compute_message())
            }
            End::Engine(Ending::OutOfMemory) => {
                let heap = self.budgets.heap;
                let message = format!("out of memory: a program may have {heap} bytes");
                ledger.failed(RunFailureKind::WorkerExit, message)
            }
            End::Engine(Ending::Stopped) => {
                let message = "worker exited before completing".to_owned();
                ledger.failed(RunFailureKind::WorkerExit, message)
            }
        })
    }

    /// Runs until the program ends or something ends it. Nothing of the wait
    /// for a seat is free.
    async fn to_its_end(&self, request: &RunRequest, logs: &mut Logs) -> Result<End, Misuse> {
        let mut wall = pin!(sleep(self.budgets.wall));
        let mut seat = pin!(self.seats.take());
        let mut running: Option<Running> = None;
        let mut calls = Calls::new(&request.namespaces);
        loop {
            tokio::select! {
                biased;
                () = request.cancel.token().cancelled() => {
                    return Ok(End::Failed(RunFailureKind::Abort, cause(request)));
                }
                () = self.disposed.cancelled() => {
                    let message = "runtime disposed".to_owned();
                    return Ok(End::Failed(RunFailureKind::Abort, message));
                }
                () = &mut wall => {
                    let message = self.budgets.wall_message();
                    return Ok(End::Failed(RunFailureKind::Timeout, message));
                }
                seat = &mut seat, if running.is_none() => {
                    let seat = seat.map_err(not_started)?;
                    match self.start(request, Arc::new(seat.into()))? {
                        Ok(thread) => running = Some(thread),
                        Err(message) => {
                            return Ok(End::Failed(RunFailureKind::Exception, message));
                        }
                    }
                }
                reply = calls.next() => if let Some(running) = &running {
                    running.answer(reply);
                },
                event = Running::event(&mut running) => match event {
                    Some(Event::Log(text)) => {
                        if !logs.push(Log { text, truncated: false }) {
                            return Ok(End::Over);
                        }
                    }
                    Some(Event::Call(call)) => calls.begin(call),
                    Some(Event::End(ending)) => return Ok(End::Engine(ending)),
                    None => return Ok(End::Engine(Ending::Stopped)),
                },
            }
        }
    }

    /// Starts the thread; an error's text inside is the program's exception.
    fn start(&self, request: &RunRequest, seat: Shared) -> Result<Result<Running, String>, Misuse> {
        let stop = Arc::<Stop>::default();
        let output = self.budgets.output;
        let job = Job {
            program: request.program.clone(),
            namespaces: request.namespaces.iter().map(Roster::from).collect(),
            limits: Limits {
                heap_bytes: usize::try_from(self.budgets.heap).unwrap_or(usize::MAX),
                compute: Some(self.budgets.compute),
                log_bytes: self.budgets.logs.unwrap_or(output).min(output),
                value_bytes: output,
            },
            stop: Arc::clone(&stop),
        };
        let stack = match job.stack() {
            Ok(stack) => stack,
            Err(message) => return Ok(Err(message)),
        };
        let (send, events) = mpsc::channel(EVENTS);
        let (answers, replies) = std_mpsc::channel();
        let of_thread = Arc::clone(&seat);
        std::thread::Builder::new()
            .name("toolfall-quickjs".to_owned())
            .stack_size(stack)
            .spawn(move || {
                let host = Rc::new(Host {
                    globals: job.namespaces.iter().map(|it| it.global.clone()).collect(),
                    events: send.clone(),
                    replies,
                    outbox: Outbox::default(),
                });
                let ending = std::panic::catch_unwind(AssertUnwindSafe(|| job.run(host)));
                // The engine is gone before the run is told.
                lock(&of_thread).end();
                let _ = send.blocking_send(Event::End(ending.unwrap_or(Ending::Stopped)));
            })
            .map_err(|error| Misuse::NotStarted {
                what: "a thread".to_owned(),
                why: error.to_string(),
            })?;
        Ok(Ok(Running {
            stop,
            events,
            answers: Some(answers),
            seat,
        }))
    }
}

fn not_started(stuck: Stuck) -> Misuse {
    Misuse::NotStarted {
        what: "a thread".to_owned(),
        why: format!("{} threads of earlier programs do not end", stuck.0),
    }
}

/// A thread that runs. Dropped, it is told to end, and left to itself.
struct Running {
    stop: Arc<Stop>,
    events: mpsc::Receiver<Event>,
    answers: Option<std_mpsc::Sender<Reply>>,
    seat: Shared,
}

impl Running {
    /// The next event; for ever before there is a thread.
    ///
    /// Cancel safe.
    async fn event(running: &mut Option<Self>) -> Option<Event> {
        match running {
            Some(running) => running.events.recv().await,
            None => std::future::pending().await,
        }
    }

    fn answer(&self, reply: protocol::Reply) {
        if let (Some(answers), Some(id)) = (&self.answers, reply.id.number().as_u64()) {
            let result = reply.result;
            // A thread that has ended needs no answer.
            let _ = answers.send(Reply { id, result });
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.stop();
        // Wakes a thread that waits for an answer, or for room to speak.
        self.answers = None;
        self.events.close();
        lock(&self.seat).leave();
    }
}

/// The run, as the engine sees it.
struct Host {
    globals: Vec<String>,
    events: mpsc::Sender<Event>,
    replies: std_mpsc::Receiver<Reply>,
    outbox: Outbox,
}

impl Host {
    fn send(&self, call: protocol::Call) -> Result<(), String> {
        let sent = self.events.blocking_send(Event::Call(call));
        sent.map_err(|_| "the run is over".to_owned())
    }
}

impl Outside for Host {
    fn log(&self, text: String) {
        // A run that is over listens no more.
        let _ = self.events.blocking_send(Event::Log(text));
    }

    fn call(&self, call: Call) -> Result<(), String> {
        match self.outbox.push(on_wire(&self.globals, call)?)? {
            Some(call) => self.send(call),
            None => Ok(()),
        }
    }

    fn reply(&self) -> Option<Reply> {
        let reply = self.replies.recv().ok()?;
        if let Some(call) = self.outbox.answered() {
            self.send(call).ok()?;
        }
        Some(reply)
    }
}
