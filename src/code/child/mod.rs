//! Programs in processes of their own.
//!
//! A [`ChildRuntime`] runs each program in a process that is started for it
//! (or was, ahead of time), has an empty environment and a process group of
//! its own, speaks the [line protocol](super::protocol), and is used once. It
//! serves any language: a [`Launcher`] says what is started.
//!
//! # What holds, whatever the program does
//!
//! - Time: the process's own processor time from the run's beginning, and
//!   the wall clock. The process's limits are set from outside before it is
//!   given a program; that of processor time holds even if the host is gone.
//! - Memory: the process's address space is limited, and the host keeps no
//!   more of it than its [ledger](super::ledger) and one line.
//! - The end: the whole process group is killed and its first process waited
//!   for, at the outcome and when the future is dropped.
//!
//! # What does not
//!
//! A process is a user's process, with the user's rights to files, processes
//! and the network, unless its launcher puts it into a
//! [sandbox](Sandbox::Bwrap). A process that is started by a program and
//! leaves the group (`setsid`) outlives the run without a sandbox.

pub(in crate::code) mod calls;
mod end;
mod frames;
mod input;
mod launcher;
mod limits;
pub(in crate::code) mod logs;
mod pool;
mod raw;
mod runtime;
pub(in crate::code) mod supervise;
mod worker;

pub use self::launcher::{Launcher, Sandbox};
pub use self::runtime::ChildRuntime;
