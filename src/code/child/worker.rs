//! One process, from its start until it is gone.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::Arc;

use rustix::process::{Pid, Signal};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::launcher::Launcher;
use crate::process::Group;

/// How many processes of a runtime there are.
#[derive(Clone, Debug)]
pub(super) struct Living(Arc<watch::Sender<usize>>);

impl Living {
    pub(super) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }

    fn count(&self) -> Counted {
        self.0.send_modify(|count| *count += 1);
        Counted(self.clone())
    }

    /// Ready when there are none.
    pub(super) async fn none(&self) {
        // The sender is ours, so that it does not go.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

/// One process, counted until it was waited for.
#[derive(Debug)]
struct Counted(Living);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count -= 1);
    }
}

/// A process that has been started and given nothing.
///
/// Dropped, it is killed with its group, and waited for on a task of its own.
pub(super) struct Worker {
    group: Option<(Group, Counted)>,
    pid: Option<Pid>,
}

/// What a host reads and writes of a process.
pub(super) struct Pipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

impl Worker {
    /// # Panics
    ///
    /// Outside a tokio runtime, as every start of a process.
    pub(super) fn start(launcher: &Launcher, living: &Living) -> std::io::Result<(Self, Pipes)> {
        let mut group = Group::start(&mut launcher.command())?;
        let pid = group
            .child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        let child = &mut group.child;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(std::io::Error::other("the process has no pipes"));
        };
        let group = Some((group, living.count()));
        let pipes = Pipes {
            stdin,
            stdout,
            stderr,
        };
        Ok((Self { group, pid }, pipes))
    }

    /// The process's number, as long as it was not waited for.
    pub(super) fn pid(&self) -> Option<Pid> {
        self.pid
    }

    /// Whether it has not ended yet.
    pub(super) fn is_alive(&mut self) -> bool {
        match &mut self.group {
            Some((group, _)) => matches!(group.child.try_wait(), Ok(None)),
            None => false,
        }
    }

    /// Waits for the process and kills what it left in its group.
    ///
    /// Cancel safe.
    pub(super) async fn wait(&mut self) -> Option<ExitStatus> {
        let (group, _) = self.group.as_mut()?;
        let status = group.wait().await.ok();
        self.pid = None;
        status
    }

    /// Kills the group, and waits until its first process is gone.
    pub(super) async fn kill(&mut self) -> Option<ExitStatus> {
        if let Some((group, _)) = &self.group {
            group.signal(Signal::KILL);
        }
        self.wait().await
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let Some((mut group, counted)) = self.group.take() else {
            return;
        };
        if matches!(group.child.try_wait(), Ok(Some(_))) {
            return;
        }
        group.signal(Signal::KILL);
        // Without a runtime the drop of the child leaves it to tokio.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                let _ = group.wait().await;
                drop(counted);
            });
        }
    }
}

/// How a process ended that should not have.
pub(super) fn ending(status: Option<ExitStatus>) -> String {
    let how = match status {
        None => "in a way that cannot be told".to_owned(),
        Some(status) => match (status.code(), status.signal()) {
            (Some(code), _) => format!("with code {code}"),
            (None, Some(signal)) => format!("by signal {signal}"),
            (None, None) => status.to_string(),
        },
    };
    format!("worker exited {how} before completing")
}

/// Whether the system ended the process because of its processor time.
pub(super) fn used_up(status: Option<ExitStatus>) -> bool {
    status.and_then(|status| status.signal()) == Some(Signal::XCPU.as_raw())
}
