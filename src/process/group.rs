//! A program and everything that it starts.

use std::process::ExitStatus;

#[cfg(any(feature = "workspace", feature = "mcp-client"))]
use rustix::process::test_kill_process_group;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};
#[cfg(any(feature = "workspace", feature = "mcp-client"))]
use {
    std::future::Future,
    std::time::Duration,
    tokio::time::{Instant, sleep, timeout, timeout_at},
};

/// How often an ending group is looked at.
#[cfg(any(feature = "workspace", feature = "mcp-client"))]
const LOOK: Duration = Duration::from_millis(5);
/// So long the killed rest of a group is waited for. It is gone at once, but
/// for what nobody collects: its first process may not do so in a container.
#[cfg(any(feature = "workspace", feature = "mcp-client"))]
const GONE: Duration = Duration::from_millis(250);

/// The leader of a process group and, with it, the group.
///
/// Dropped while it runs, the whole group is killed.
pub(crate) struct Group {
    pub(crate) child: Child,
    group: Option<Pid>,
}

impl Group {
    pub(crate) fn start(command: &mut Command) -> std::io::Result<Self> {
        // Zero stands for a new group with the child as its leader.
        let child = command.process_group(0).spawn()?;
        let group = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        Ok(Self { child, group })
    }

    /// Sends `signal` to whoever is left in the group. That nobody is, is
    /// what we want.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, signal);
        }
    }

    /// Waits for the leader, then kills what it left behind.
    ///
    /// The leader's number is free once it was waited for; that another group
    /// gets it before the very next line is not possible on systems that hand
    /// numbers out in a circle.
    pub(crate) async fn wait(&mut self) -> std::io::Result<ExitStatus> {
        let ended = self.child.wait().await;
        self.signal(Signal::KILL);
        if ended.is_ok() {
            self.group = None;
        }
        ended
    }

    /// Asks the group to end, waits until it has or `grace` is over, and
    /// kills the rest. `closed` is ready when nobody holds the group's output
    /// any more.
    #[cfg(any(feature = "workspace", feature = "mcp-client"))]
    pub(crate) async fn end(
        &mut self,
        grace: Duration,
        closed: impl Future<Output = ()>,
    ) -> std::io::Result<ExitStatus> {
        self.signal(Signal::TERM);
        // A sum beyond the clock's range is a grace without end.
        let deadline = Instant::now()
            .checked_add(grace)
            .unwrap_or_else(|| Instant::now() + Duration::from_secs(86_400 * 365));
        let group = self.group;
        let quiet = async {
            // The leader may go before those that it started.
            let _ = self.child.wait().await;
            tokio::select! {
                () = gone(group) => {}
                () = closed => {}
            }
        };
        let _ = timeout_at(deadline, quiet).await;
        self.signal(Signal::KILL);
        let ended = self.child.wait().await;
        let _ = timeout(GONE, gone(group)).await;
        if ended.is_ok() {
            self.group = None;
        }
        ended
    }
}

/// Ready when nobody is left in the group.
#[cfg(any(feature = "workspace", feature = "mcp-client"))]
async fn gone(group: Option<Pid>) {
    while group.is_some_and(|group| test_kill_process_group(group).is_ok()) {
        sleep(LOOK).await;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
