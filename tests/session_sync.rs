//! When a session log syncs, and what it does when the disk fails.

#[path = "support/session_sink.rs"]
mod session_sink;

use std::error::Error;
use std::sync::atomic::Ordering;
use std::time::Duration;

use session_sink::TestSink;
use tokio::time::{advance, sleep};
use tokio_test::{assert_pending, assert_ready_ok, task};
use toolfall::session::{LogError, Options, SessionLog, StartedRecord, SyncPolicy, check::check};

fn open(sink: &TestSink, policy: SyncPolicy) -> SessionLog {
    let options = Options::new().sync(policy).clock(|| None);
    SessionLog::with_sink(sink.clone(), options).unwrap().0
}

fn record(call: u64) -> StartedRecord {
    StartedRecord { call }
}

#[tokio::test]
async fn every_is_ready_only_after_a_sync_that_began_after_the_write() {
    let sink = TestSink::default();
    let mut syncing = sink.watch();
    let log = open(&sink, SyncPolicy::Every);
    assert_eq!(sink.syncs(), 0, "an empty log owes nothing");
    sink.shut(true);
    let mut first = task::spawn(log.append(record(1)).unwrap().synced());
    assert_pending!(first.poll());
    syncing.recv().await.unwrap();
    assert_pending!(first.poll());
    // This one comes too late for the sync that is on its way.
    let mut second = task::spawn(log.append(record(2)).unwrap().synced());
    assert_pending!(second.poll());
    sink.shut(false);
    first.await.unwrap();
    second.await.unwrap();
    assert_eq!(sink.syncs(), 2);
}

#[tokio::test]
async fn waiters_share_one_sync() {
    let sink = TestSink::default();
    let mut syncing = sink.watch();
    let log = open(&sink, SyncPolicy::Every);
    sink.shut(true);
    let mut leader = task::spawn(log.append(record(0)).unwrap().synced());
    assert_pending!(leader.poll());
    syncing.recv().await.unwrap();
    let mut group: Vec<_> = (1..=50)
        .map(|call| task::spawn(log.append(record(call)).unwrap().synced()))
        .collect();
    for waiter in &mut group {
        assert_pending!(waiter.poll());
    }
    sink.shut(false);
    leader.await.unwrap();
    for waiter in group {
        waiter.await.unwrap();
    }
    assert_eq!(sink.syncs(), 2, "one for the leader, one for fifty");
}

#[tokio::test]
async fn a_dropped_leader_leaves_the_others_served() {
    let sink = TestSink::default();
    let log = open(&sink, SyncPolicy::Every);
    sink.shut(true);
    let mut leader = task::spawn(log.append(record(1)).unwrap().synced());
    assert_pending!(leader.poll());
    let mut other = task::spawn(log.append(record(2)).unwrap().synced());
    assert_pending!(other.poll());
    drop(leader);
    sink.shut(false);
    other.await.unwrap();
}

#[tokio::test]
async fn a_synced_record_is_ready_at_once_the_second_time() {
    let sink = TestSink::default();
    let log = open(&sink, SyncPolicy::Every);
    let earlier = log.append(record(1)).unwrap();
    log.append(record(2)).unwrap().synced().await.unwrap();
    assert_ready_ok!(task::spawn(earlier.synced()).poll());
    assert_ready_ok!(task::spawn(log.flush()).poll());
    assert_eq!(sink.syncs(), 1);
}

#[test]
fn every_works_without_a_runtime() {
    let sink = TestSink::default();
    let log = open(&sink, SyncPolicy::Every);
    let synced = log.append(record(1)).unwrap().synced();
    park_on(synced).unwrap();
    assert_eq!(sink.syncs(), 1);
}

/// Waits by parking the thread, with no runtime in sight.
fn park_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
    let mut future = std::pin::pin!(future);
    loop {
        let mut cx = std::task::Context::from_waker(&waker);
        if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return output;
        }
        std::thread::park();
    }
}

#[tokio::test(start_paused = true)]
async fn interval_syncs_in_the_background_and_not_more_often() {
    let sink = TestSink::default();
    let mut syncing = sink.watch();
    let log = open(&sink, SyncPolicy::Interval(Duration::from_secs(5)));
    for call in 1..=3 {
        let synced = log.append(record(call)).unwrap().synced();
        assert_ready_ok!(task::spawn(synced).poll());
    }
    tokio::task::yield_now().await;
    advance(Duration::from_millis(4_999)).await;
    tokio::task::yield_now().await;
    assert!(syncing.try_recv().is_err(), "before the interval is over");
    advance(Duration::from_millis(1)).await;
    syncing.recv().await.unwrap();
    log.flush().await.unwrap();
    assert_eq!(sink.syncs(), 1, "three records, one sync");
    // Nothing new is nothing to sync.
    sleep(Duration::from_secs(60)).await;
    assert_eq!(sink.syncs(), 1);
    log.append(record(4)).unwrap();
    sleep(Duration::from_secs(6)).await;
    assert_eq!(sink.syncs(), 2);
}

#[tokio::test(start_paused = true)]
async fn interval_syncs_what_is_left_on_close_and_on_drop() {
    let sink = TestSink::default();
    let interval = SyncPolicy::Interval(Duration::from_secs(3600));
    let log = open(&sink, interval);
    log.append(record(1)).unwrap();
    log.close().await.unwrap();
    assert_eq!(sink.syncs(), 1);
    let log = open(&sink, interval);
    assert_eq!(sink.syncs(), 2, "what was there may not have been synced");
    log.append(record(2)).unwrap();
    let clone = log.clone();
    drop(log);
    assert_eq!(sink.syncs(), 2);
    drop(clone);
    assert_eq!(sink.syncs(), 3);
}

#[test]
fn interval_needs_a_runtime_and_says_so() {
    let options = Options::new().sync(SyncPolicy::Interval(Duration::from_secs(1)));
    let error = SessionLog::with_sink(TestSink::default(), options).unwrap_err();
    assert!(matches!(error, LogError::NoRuntime));
}

#[tokio::test]
async fn never_syncs_only_when_told() {
    let sink = TestSink::default();
    let log = open(&sink, SyncPolicy::Never);
    log.append(record(1)).unwrap().synced().await.unwrap();
    assert_eq!(sink.syncs(), 0);
    log.flush().await.unwrap();
    assert_eq!(sink.syncs(), 1);
    log.append(record(2)).unwrap();
    log.close().await.unwrap();
    assert_eq!(sink.syncs(), 1);
}

/// A full disk takes half a line; what follows must not continue it.
#[test]
fn a_half_written_line_is_cut_off_and_the_log_goes_on() {
    let sink = TestSink::default();
    let log = open(&sink, SyncPolicy::Never);
    log.append(record(1)).unwrap();
    let before = sink.text();
    *sink.0.room.lock().unwrap() = Some(10);
    let error = log.append(record(2)).unwrap_err();
    let LogError::Write { kind, source, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(kind, "tool/started");
    assert_eq!(source.kind(), std::io::ErrorKind::StorageFull);
    assert!(!error.to_string().contains(&source.to_string()));
    assert_eq!(sink.text(), before);
    assert_eq!(log.records().unwrap().len(), 1);
    *sink.0.room.lock().unwrap() = None;
    assert_eq!(log.append(record(3)).unwrap().seq(), 2, "no place is lost");
    assert_eq!(log.records().unwrap().len(), 2);
}

#[test]
fn a_line_that_cannot_be_cut_off_breaks_the_log_until_it_is_opened_again() {
    let sink = TestSink::default();
    let log = open(&sink, SyncPolicy::Never);
    log.append(record(1)).unwrap();
    *sink.0.room.lock().unwrap() = Some(10);
    sink.0.truncate_fails.store(true, Ordering::SeqCst);
    assert!(matches!(log.append(record(2)), Err(LogError::Write { .. })));
    *sink.0.room.lock().unwrap() = None;
    sink.0.truncate_fails.store(false, Ordering::SeqCst);
    let error = log.append(record(3)).unwrap_err();
    assert!(matches!(error, LogError::Broken { .. }), "{error:?}");
    assert!(error.to_string().contains("could not be cut off"));
    assert_eq!(error.source().unwrap().to_string(), "read only");
    let again = open(&sink, SyncPolicy::Never);
    again.append(record(4)).unwrap();
    let findings = check(&again.records().unwrap());
    assert!(findings.iter().all(|f| f.to_string().contains("no call")));
}

#[test]
fn a_sink_that_panics_is_a_failed_write() {
    let sink = TestSink::default();
    let log = open(&sink, SyncPolicy::Never);
    sink.0.append_panics.store(true, Ordering::SeqCst);
    assert!(matches!(log.append(record(1)), Err(LogError::Write { .. })));
    sink.0.append_panics.store(false, Ordering::SeqCst);
    log.append(record(1)).unwrap();
    assert_eq!(log.records().unwrap().len(), 1);
}

/// A failed sync cannot be repeated: the system may have dropped the pages.
#[tokio::test]
async fn a_failed_sync_reaches_every_waiter_and_breaks_the_log() {
    let sink = TestSink::default();
    let log = open(&sink, SyncPolicy::Every);
    sink.shut(true);
    sink.0.sync_fails.store(true, Ordering::SeqCst);
    let mut waiters: Vec<_> = (1..=3)
        .map(|call| task::spawn(log.append(record(call)).unwrap().synced()))
        .collect();
    for waiter in &mut waiters {
        assert_pending!(waiter.poll());
    }
    sink.shut(false);
    for waiter in waiters {
        let error = waiter.await.unwrap_err();
        assert!(matches!(error, LogError::Sync { .. }), "{error:?}");
        assert_eq!(error.source().unwrap().to_string(), "the disk is gone");
    }
    sink.0.sync_fails.store(false, Ordering::SeqCst);
    let error = log.append(record(4)).unwrap_err();
    assert!(matches!(error, LogError::Broken { .. }), "{error:?}");
    assert!(log.flush().await.is_err());
}

#[test]
fn a_log_that_cannot_be_synced_does_not_open() {
    let sink = TestSink::default();
    open(&sink, SyncPolicy::Never).append(record(1)).unwrap();
    sink.0.sync_fails.store(true, Ordering::SeqCst);
    let options = Options::new().sync(SyncPolicy::Every);
    let error = SessionLog::with_sink(sink, options).unwrap_err();
    assert!(matches!(error, LogError::Sync { .. }), "{error:?}");
}

/// A sync that is on its way does not keep the next writer out.
#[tokio::test]
async fn the_file_is_free_when_the_log_is_closed_or_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let options = Options::new().sync(SyncPolicy::Every);
    for round in 0..200 {
        let (log, recovery) = SessionLog::open(&path, options.clone()).unwrap();
        assert_eq!(recovery.records, round);
        let synced = log.append(record(round)).unwrap().synced();
        match round % 3 {
            0 => log.close().await.unwrap(),
            1 => synced.await.unwrap(),
            // Polled once, so that the sync is on its way when the log goes.
            _ => drop(task::spawn(synced).poll()),
        }
    }
}

/// The waiter of a runtime that shuts down is not the only one left to lead.
#[test]
fn a_runtime_that_ends_leaves_the_log_usable() {
    let sink = TestSink::default();
    let log = open(&sink, SyncPolicy::Every);
    for call in 1..=3 {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let synced = log.append(record(call)).unwrap().synced();
        if call == 2 {
            runtime.spawn(synced);
            runtime.block_on(tokio::task::yield_now());
            runtime.shutdown_background();
        } else {
            runtime.block_on(synced).unwrap();
        }
    }
    assert!(sink.syncs() >= 2);
}
