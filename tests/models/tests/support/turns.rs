//! What a call and its scheduler do, once for each checker. A wake that is
//! lost shows as a deadlock.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::sleeper::Sleeper;
use crate::sync::{Mutex, spawn};
use crate::turn::{Mark, Turn, TurnControl, turn};

fn wait(mut poll: impl FnMut(&mut Context<'_>) -> Poll<()>) {
    let sleeper = Arc::new(Sleeper::default());
    let waker = Waker::from(sleeper.clone());
    while poll(&mut Context::from_waker(&waker)).is_pending() {
        sleeper.sleep();
    }
}

fn place(scheduler: &Arc<Sleeper>) -> (Turn, TurnControl) {
    turn(Waker::from(scheduler.clone()))
}

/// Marks made anywhere are seen, also while the scheduler is polling.
pub(crate) fn no_mark_is_lost() {
    let scheduler = Arc::new(Sleeper::default());
    let (turn, control) = place(&scheduler);
    let call = spawn(move || {
        turn.admit();
        drop(turn);
    });
    while !control.has(Mark::Admitted) {
        control.watch(|| ());
        if !control.has(Mark::Admitted) {
            scheduler.sleep();
        }
    }
    while !control.has(Mark::Done) {
        control.watch(|| ());
        if !control.has(Mark::Done) {
            scheduler.sleep();
        }
    }
    call.join().unwrap();
}

/// A grant reaches a call that is about to wait for it.
pub(crate) fn no_grant_is_lost() {
    let (turn, control) = place(&Arc::default());
    let call = spawn(move || {
        wait(|cx| turn.poll_slot(cx));
        wait(|cx| turn.poll_commit(cx));
    });
    control.grant_slot();
    control.grant_commit();
    call.join().unwrap();
    assert!(control.has(Mark::Done));
}

/// A scheduler that is lost hangs nobody.
pub(crate) fn a_dropped_control_releases_every_wait() {
    let (turn, control) = place(&Arc::default());
    let call = spawn(move || {
        wait(|cx| turn.poll_slot(cx));
        wait(|cx| turn.poll_commit(cx));
    });
    drop(control);
    call.join().unwrap();
}

/// Calls that ask a person, give their slot away, get it back, and commit in
/// their order.
pub(crate) fn a_whole_batch_of(calls: usize) {
    let scheduler = Arc::new(Sleeper::default());
    let committed = Arc::new(Mutex::new(Vec::new()));
    let (mut controls, mut threads) = (Vec::new(), Vec::new());
    for call in 0..calls {
        let (turn, control) = place(&scheduler);
        let committed = committed.clone();
        controls.push(control);
        threads.push(spawn(move || {
            turn.admit();
            turn.park();
            turn.unpark();
            wait(|cx| turn.poll_slot(cx));
            turn.settle();
            wait(|cx| turn.poll_commit(cx));
            committed.lock().unwrap().push(call);
            turn.done();
        }));
    }
    let mut next = 0;
    loop {
        for control in &controls {
            control.watch(|| ());
            if control.has(Mark::WantsSlot) {
                control.grant_slot();
            }
        }
        while next < calls && controls[next].has(Mark::Done) {
            next += 1;
        }
        if next == calls {
            break;
        }
        if controls[next].has(Mark::Settled) {
            controls[next].grant_commit();
        }
        if !controls[next].has(Mark::Done) {
            scheduler.sleep();
        }
    }
    for thread in threads {
        thread.join().unwrap();
    }
    let committed = committed.lock().unwrap().clone();
    assert_eq!(committed, (0..calls).collect::<Vec<_>>());
}
