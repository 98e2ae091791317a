//! The generic helper in which one error is the end of all.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::sleep;
use toolfall::scheduler::run_parallel;

fn limit(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).unwrap()
}

#[tokio::test(start_paused = true)]
async fn outputs_come_in_the_order_of_the_items_and_the_pool_rolls() {
    let (open, most, log) = (
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        Mutex::new(Vec::new()),
    );
    let durations = [100, 10, 10, 10, 10];
    let start = tokio::time::Instant::now();
    let outputs = run_parallel(limit(2), durations.into_iter().enumerate(), |(n, ms), _| {
        let (open, most, log) = (&open, &most, &log);
        async move {
            most.fetch_max(open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            sleep(Duration::from_millis(ms)).await;
            open.fetch_sub(1, Ordering::SeqCst);
            log.lock().unwrap().push(n);
            Ok::<_, ()>(n)
        }
    })
    .await;
    assert_eq!(outputs, Ok(vec![0, 1, 2, 3, 4]));
    assert_eq!(*log.lock().unwrap(), [1, 2, 3, 4, 0]);
    assert_eq!(most.into_inner(), 2);
    assert_eq!(
        start.elapsed(),
        Duration::from_millis(100),
        "a slow first item does not hold the rest up"
    );
}

#[tokio::test(start_paused = true)]
async fn the_first_error_in_time_wins_over_those_it_causes() {
    let ended = Arc::new(Mutex::new(Vec::new()));
    let log = ended.clone();
    let result = run_parallel(limit(2), 0..5, move |n, cancel| {
        let log = log.clone();
        async move {
            if n == 1 {
                sleep(Duration::from_millis(10)).await;
                return Err("the cause");
            }
            cancel.cancelled().await;
            sleep(Duration::from_millis(10)).await;
            log.lock().unwrap().push(n);
            Err::<(), _>("cancelled")
        }
    })
    .await;
    assert_eq!(result, Err("the cause"));
    assert_eq!(
        *ended.lock().unwrap(),
        [0],
        "driven to its end, and 2 to 4 never began"
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_begins_after_an_error_behind_a_slow_head() {
    let begun = AtomicUsize::new(0);
    let result = run_parallel(limit(2), 0..10, |n, _| {
        begun.fetch_add(1, Ordering::SeqCst);
        async move {
            match n {
                0 => sleep(Duration::from_millis(50)).await,
                _ => return Err(n),
            }
            Ok(n)
        }
    })
    .await;
    assert_eq!(result, Err(1));
    assert_eq!(begun.into_inner(), 2);
}

#[tokio::test]
async fn no_items_no_outputs() {
    let nothing = run_parallel(
        limit(1),
        Vec::<u8>::new(),
        |n, _| async move { Ok::<_, ()>(n) },
    );
    assert_eq!(nothing.await, Ok(Vec::new()));
}
