//! One run of a program: started, fed, read, ended.

use std::ffi::OsString;
use std::future::Future;
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe;
use tokio::process::Command;
use tokio::time::timeout;

use super::output::{Drained, Output, drain, head};
use crate::process::{Group, environment};
use crate::retain::RetainedText;

/// So long the end of the output of a program that has ended is waited for.
const LAST_OUTPUT: Duration = Duration::from_secs(2);

/// What a program is started as.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) folder: Option<PathBuf>,
    /// Whether the program sees this process's own environment.
    pub(crate) inherit: bool,
    /// The variables of this process that it sees nonetheless.
    pub(crate) passed: Vec<OsString>,
    pub(crate) set: Vec<(OsString, OsString)>,
    pub(crate) grace: Duration,
    pub(crate) stdout_limit: usize,
    pub(crate) stderr_limit: usize,
}

impl Spec {
    /// `program` with this process's environment and the usual bounds.
    pub(crate) fn new(program: OsString) -> Self {
        Self {
            program,
            args: Vec::new(),
            folder: None,
            inherit: true,
            passed: Vec::new(),
            set: Vec::new(),
            grace: Duration::from_secs(2),
            stdout_limit: 1 << 20,
            stderr_limit: 64 << 10,
        }
    }
}

/// How a run came to its end.
#[derive(Debug)]
pub(crate) enum Ended {
    Exited(std::io::Result<ExitStatus>),
    /// It was asked to end, and has.
    Stopped(std::io::Result<ExitStatus>),
    TooMuch,
}

/// A run that is over: no process of its group is left.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) ended: Ended,
    pub(crate) stdout: Vec<u8>,
    /// The end of standard error.
    pub(crate) stderr: RetainedText,
}

/// Runs the program with `input` on its standard input until it ends, writes
/// too much, or `stop` is ready.
///
/// Dropping the future kills the program's group.
///
/// # Errors
///
/// The program cannot be started.
pub(crate) async fn run(
    spec: &Spec,
    input: &[u8],
    stop: impl Future<Output = ()>,
) -> std::io::Result<Finished> {
    let mut group = Group::start(&mut command(spec))?;
    let mut stdout = Output::default();
    let mut stderr = Drained::tail(spec.stderr_limit);
    let pipes = (
        group.child.stdin.take(),
        group.child.stdout.take(),
        group.child.stderr.take(),
    );
    let ended = {
        let (Some(mut stdin), Some(out), Some(err)) = pipes else {
            return Err(std::io::Error::other("the program has no pipes"));
        };
        let feed = async move {
            // A program need not read what it is told.
            let _ = stdin.write_all(input).await;
            let _ = stdin.shutdown().await;
        };
        let read = async {
            head(out, spec.stdout_limit, &mut stdout).await;
            stdout.more
        };
        let drain = drain(err, &mut stderr);
        supervise(&mut group, spec.grace, stop, feed, read, drain).await
    };
    Ok(Finished {
        ended,
        stdout: stdout.bytes,
        stderr: stderr.finish(),
    })
}

/// A run whose output and errors were written to one stream, as on a
/// terminal.
#[derive(Debug)]
pub(crate) struct FinishedMerged {
    pub(crate) ended: Ended,
    pub(crate) output: RetainedText,
    /// How many malformed sequences stand in it as replacement characters, or
    /// were left out.
    pub(crate) malformed: u64,
}

/// Runs the program without input until it ends or `stop` is ready, and keeps
/// the first `head` and the last `tail` bytes of what it writes.
///
/// Dropping the future kills the program's group.
///
/// # Errors
///
/// The program cannot be started.
pub(crate) async fn run_merged(
    spec: &Spec,
    (head, tail): (usize, usize),
    stop: impl Future<Output = ()>,
) -> std::io::Result<FinishedMerged> {
    let (reader, writer) = std::io::pipe()?;
    let reader = pipe::Receiver::from_owned_fd(reader.into())?;
    let mut group = {
        let mut command = command(spec);
        command
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer);
        // The command holds the writing end: it goes before anything is read.
        Group::start(&mut command)?
    };
    let mut kept = Drained::head_and_tail(head, tail);
    let ended = {
        let drain = drain(reader, &mut kept);
        let (feed, read) = (async {}, async { false });
        supervise(&mut group, spec.grace, stop, feed, read, drain).await
    };
    Ok(FinishedMerged {
        ended,
        malformed: kept.malformed(),
        output: kept.finish(),
    })
}

/// Feeds, reads and drains until the program ends, is stopped, or writes
/// too much.
async fn supervise(
    group: &mut Group,
    grace: Duration,
    stop: impl Future<Output = ()>,
    feed: impl Future<Output = ()>,
    read: impl Future<Output = bool>,
    drain: impl Future<Output = ()>,
) -> Ended {
    tokio::pin!(feed, stop);
    let mut feeding = true;
    let mut output = Streams {
        read: pin!(read),
        drain: pin!(drain),
        reading: true,
        draining: true,
    };
    let status = loop {
        tokio::select! {
            biased;
            () = &mut stop => {
                let status = group.end(grace, async { output.ended().await; }).await;
                // Nobody writes any more; what was written is still read.
                let _ = timeout(LAST_OUTPUT, output.ended()).await;
                return Ended::Stopped(status);
            }
            too_much = &mut output.read, if output.reading => {
                output.reading = false;
                if too_much {
                    let _ = group.end(Duration::ZERO, async {}).await;
                    return Ended::TooMuch;
                }
            }
            () = &mut output.drain, if output.draining => output.draining = false,
            () = &mut feed, if feeding => feeding = false,
            status = group.wait() => break status,
        }
    };
    // The program has ended; what it wrote may still be on its way. One that
    // left its group may hold the pipes for ever.
    match timeout(LAST_OUTPUT, output.ended()).await {
        Ok(true) => Ended::TooMuch,
        _ => Ended::Exited(status),
    }
}

/// What a program writes, and which of it is still to be read.
struct Streams<'a, R, D> {
    read: Pin<&'a mut R>,
    drain: Pin<&'a mut D>,
    reading: bool,
    draining: bool,
}

impl<R: Future<Output = bool>, D: Future<Output = ()>> Streams<'_, R, D> {
    /// Ready when both have ended; says whether there was too much.
    ///
    /// Cancel safe: it goes on where it was.
    async fn ended(&mut self) -> bool {
        let mut too_much = false;
        while self.reading || self.draining {
            tokio::select! {
                more = &mut self.read, if self.reading => {
                    self.reading = false;
                    too_much |= more;
                }
                () = &mut self.drain, if self.draining => self.draining = false,
            }
        }
        too_much
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
    environment(&mut command, spec.inherit, &spec.passed, &spec.set);
    command
}
