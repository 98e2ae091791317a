//! A process that runs one program.

use std::cell::RefCell;
use std::io::{self, Read as _, Write as _};
use std::process;
use std::rc::Rc;

use serde_json::Value;
use toolfall_layers::Arguments;

use super::edge::{Call, Ending, Limits, Outside, Reply, Roster};
use super::engine::ARGUMENTS;
use super::outbox::Outbox;
use super::program::Job;
use crate::code::ledger::{LogBuffer, Pushed};
use crate::code::protocol::{
    self, Boot, BootNamespace, Done, GuestFrame, HostFrame, Lines, Log, encode,
};
use crate::code::{RunFailure, RunFailureKind};

/// The one argument that a worker is started with.
pub(super) const ARGUMENT: &str = "toolfall-code-worker";

/// What the process itself takes of its address space: its code, its stacks,
/// what the allocator reserves. Reserved, not used.
pub(super) const OWN_MEMORY: u64 = 768 << 20;

/// How the process ends whose program has no memory left.
const OUT_OF_MEMORY: i32 = 12;
/// How it ends that was told nothing it understands.
const NO_PROTOCOL: i32 = 2;

/// Turns this process into a worker, if it was started as one: then it runs
/// one program and ends. Otherwise returns at once.
///
/// A program that uses [`QuickJsRuntime`](super::QuickJsRuntime) calls it
/// first in `main`, before anything else is set up: the runtime starts the
/// program's own executable for every run. It is recognised by its only
/// argument, `toolfall-code-worker`.
///
/// ```
/// // First in `main`:
/// toolfall::code::quickjs::worker();
/// // This process is no worker: it goes on with what it is for.
/// assert!(std::env::args().all(|argument| argument != "toolfall-code-worker"));
/// ```
pub fn worker() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|it| it == ARGUMENT) && arguments.next().is_none() {
        serve();
    }
}

/// Runs one program for whoever is at the other end of standard input and
/// output, and ends the process. For programs that recognise a worker in
/// their own way; all others call [`worker`].
pub fn serve() -> ! {
    let mut input = Input::new();
    let Some(HostFrame::Boot(boot)) = input.frame() else {
        process::exit(NO_PROTOCOL);
    };
    send(&GuestFrame::BootAck);
    let Some(HostFrame::Run { program }) = input.frame() else {
        process::exit(NO_PROTOCOL);
    };
    let log_bytes = size(boot.max_log_bytes);
    let job = Job {
        program,
        limits: limits(&boot),
        namespaces: boot.namespaces.into_iter().map(Roster::from).collect(),
        stop: std::sync::Arc::default(),
    };
    let stack = match job.stack() {
        Ok(stack) => stack,
        Err(message) => end(Ending::exception(message)),
    };
    let thread = std::thread::Builder::new()
        .stack_size(stack)
        .spawn(move || {
            let globals = job.namespaces.iter().map(|it| it.global.clone()).collect();
            let host = Rc::new(Host {
                globals,
                input: RefCell::new(input),
                logs: RefCell::new(LogBuffer::new(log_bytes)),
                outbox: Outbox::default(),
            });
            let ending = job.run(host);
            // Nothing is torn down: the process ends.
            end(ending)
        });
    if let Ok(thread) = thread {
        let _ = thread.join();
    }
    process::exit(OUT_OF_MEMORY)
}

fn limits(boot: &Boot) -> Limits {
    Limits {
        heap_bytes: size(boot.address_space_bytes.saturating_sub(OWN_MEMORY)),
        // Counted from outside, where it can be enforced.
        compute: None,
        log_bytes: size(boot.max_log_bytes),
        value_bytes: size(boot.max_value_bytes),
    }
}

fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

impl From<BootNamespace> for Roster {
    fn from(namespace: BootNamespace) -> Self {
        let class = namespace.error_class;
        Self {
            global: namespace.global,
            names: namespace.names,
            error_class: class.map(|class| (class.name, class.member_property)),
        }
    }
}

/// Says how the program ended. How much of it is too much, the host counts.
fn end(ending: Ending) -> ! {
    let failed = |kind, message| Done::Failed(RunFailure { kind, message });
    let done = match ending {
        Ending::Completed(value) => Done::Completed(value),
        Ending::Failed(kind, message) => failed(kind, message),
        // The host has its own message.
        Ending::TooLarge => failed(RunFailureKind::OutputLimit, String::new()),
        Ending::OutOfMemory => process::exit(OUT_OF_MEMORY),
        // Nobody is there to be told, or somebody who counts time is.
        Ending::Spent | Ending::Stopped => process::exit(0),
    };
    send(&GuestFrame::Done(done));
    process::exit(0)
}

fn send(frame: &GuestFrame) {
    let sent = io::stdout().lock().write_all(frame.write().as_bytes());
    // Nobody reads any more.
    if sent.and_then(|()| io::stdout().lock().flush()).is_err() {
        process::exit(0);
    }
}

/// What the host sends.
struct Input {
    pipe: io::Stdin,
    lines: Lines,
}

impl Input {
    fn new() -> Self {
        Self {
            pipe: io::stdin(),
            // The host is trusted; its values are bounded by memory.
            lines: Lines::new(usize::MAX),
        }
    }

    /// The next frame; nothing if the host is gone or says something else.
    fn frame(&mut self) -> Option<HostFrame> {
        loop {
            if let Ok(Some(line)) = self.lines.line() {
                return HostFrame::read(line);
            }
            let mut chunk = [0; 16 * 1024];
            let bytes = self.pipe.lock().read(&mut chunk).ok()?;
            if bytes == 0 {
                return None;
            }
            self.lines.spare().extend_from_slice(&chunk[..bytes]);
        }
    }
}

/// The host, as the engine sees it.
struct Host {
    globals: Vec<String>,
    input: RefCell<Input>,
    logs: RefCell<LogBuffer>,
    outbox: Outbox,
}

impl Outside for Host {
    fn log(&self, text: String) {
        let mut logs = self.logs.borrow_mut();
        let (text, truncated) = match logs.push(&text) {
            Pushed::Whole => (text, false),
            Pushed::Cut(begin) => (begin.to_owned(), true),
            Pushed::Dropped => return,
        };
        send(&GuestFrame::Log(Log { text, truncated }));
    }

    fn call(&self, call: Call) -> Result<(), String> {
        if let Some(call) = self.outbox.push(on_wire(&self.globals, call)?)? {
            send(&GuestFrame::Call(call));
        }
        Ok(())
    }

    fn reply(&self) -> Option<Reply> {
        loop {
            let HostFrame::Reply(reply) = self.input.borrow_mut().frame()? else {
                continue;
            };
            if let Some(call) = self.outbox.answered() {
                send(&GuestFrame::Call(call));
            }
            let result = reply.result;
            if let Some(id) = reply.id.number().as_u64() {
                return Some(Reply { id, result });
            }
        }
    }
}

/// A call as it is told to a host.
pub(super) fn on_wire(globals: &[String], call: Call) -> Result<protocol::Call, String> {
    Ok(protocol::Call {
        id: call.id.into(),
        global: globals.get(call.namespace).cloned().unwrap_or_default(),
        name: call.member,
        args: Ok(arguments(call.arguments)?),
    })
}

/// A call's arguments as text.
fn arguments(value: Option<Value>) -> Result<Arguments, String> {
    let mut text = String::new();
    encode(&value.unwrap_or(Value::Null), &mut text);
    Arguments::from_text(text).map_err(|_| ARGUMENTS.to_owned())
}
