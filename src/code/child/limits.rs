//! What the system holds a process to, and what it has used.

use std::fs;
use std::time::Duration;

use rustix::param::clock_ticks_per_second;
use rustix::process::{Pid, Resource, Rlimit, prlimit};

/// So many files may be open in a process.
const FILES: u64 = 64;

/// The limits of one run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) address_space: u64,
    /// What may be computed from now on.
    pub(super) compute: Duration,
}

impl Limits {
    /// So many seconds of processor time a process may have that has used
    /// `used`: more than the budget, which is watched more closely than this.
    pub(super) fn cpu_seconds(&self, used: Duration) -> u64 {
        used.saturating_add(self.compute)
            .as_secs()
            .saturating_add(2)
    }

    /// Holds the process `pid` to the limits. A process that is gone, or not
    /// ours, has none of them; that shows when it is to answer.
    pub(super) fn set(&self, pid: Pid, used: Duration) {
        let cpu = self.cpu_seconds(used);
        let limits = [
            (Resource::As, self.address_space, self.address_space),
            // The first makes a process that does not ignore it end as one
            // that used up its time, the second ends every other.
            (Resource::Cpu, cpu, cpu.saturating_add(1)),
            (Resource::Nofile, FILES, FILES),
            (Resource::Core, 0, 0),
            (Resource::Fsize, 0, 0),
        ];
        for (resource, current, maximum) in limits {
            let limit = Rlimit {
                current: Some(current),
                maximum: Some(maximum),
            };
            // A limit cannot be raised above what the host itself is under.
            let _ = prlimit(Some(pid), resource, limit);
        }
    }
}

/// The processor time that `pid` and those that it waited for have used, to
/// about 10 ms. Nothing if the process is gone.
pub(super) fn cpu_time(pid: Pid) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The name, in brackets, may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let ticks: u64 = rest
        .split_ascii_whitespace()
        .skip(11)
        .take(4)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    let millis = ticks.checked_mul(1_000)? / clock_ticks_per_second().max(1);
    Some(Duration::from_millis(millis))
}

/// The innermost process that `pid` started: what a sandbox runs.
pub(super) fn innermost(mut pid: Pid) -> Pid {
    // A sandbox is one or two processes; a program has not run yet.
    for _ in 0..4 {
        let raw = pid.as_raw_nonzero();
        let children = fs::read_to_string(format!("/proc/{raw}/task/{raw}/children"));
        let child = children
            .ok()
            .and_then(|text| text.split_ascii_whitespace().next()?.parse().ok())
            .and_then(Pid::from_raw);
        match child {
            Some(child) => pid = child,
            None => break,
        }
    }
    pid
}

/// The processor time that a process may still use.
pub(super) struct Meter {
    pub(super) pid: Pid,
    pub(super) until: Duration,
}

impl Meter {
    /// All of it where the process is gone: that shows elsewhere.
    pub(super) fn left(&self) -> Duration {
        let used = cpu_time(self.pid).unwrap_or_default();
        self.until.saturating_sub(used)
    }
}
