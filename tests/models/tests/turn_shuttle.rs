//! How several calls and their scheduler talk, in many orders of steps.

#[path = "support/sleeper.rs"]
mod sleeper;
#[path = "../../../layers/src/turn/mod.rs"]
#[allow(dead_code, reason = "printing is not modelled")]
mod turn;
#[path = "support/turns.rs"]
mod turns;
#[path = "support/waker.rs"]
mod waker;

/// What stands in for the layers' own `sync` module. shuttle takes every
/// access for a sequentially consistent one, and those of the turn are.
mod sync {
    pub(crate) use std::sync::Arc;

    pub(crate) use super::waker::AtomicWaker;

    pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicU8, Ordering};
    pub(crate) use shuttle::sync::{Condvar, Mutex};
    pub(crate) use shuttle::thread::spawn;
}

#[test]
fn no_mark_is_lost() {
    shuttle::check_dfs(turns::no_mark_is_lost, Some(100_000));
}

#[test]
fn no_grant_is_lost() {
    shuttle::check_dfs(turns::no_grant_is_lost, Some(100_000));
}

#[test]
fn a_dropped_control_releases_every_wait() {
    shuttle::check_dfs(turns::a_dropped_control_releases_every_wait, Some(100_000));
}

#[test]
fn a_whole_batch_keeps_its_order() {
    shuttle::check_random(|| turns::a_whole_batch_of(3), 10_000);
}

#[test]
fn a_whole_batch_keeps_its_order_under_odd_priorities() {
    shuttle::check_pct(|| turns::a_whole_batch_of(4), 5_000, 4);
}
