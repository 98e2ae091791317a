//! Running futures together where one error is the end of all.

use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio_util::sync::CancellationToken;

/// Runs `work` on every item, at most `limit` at a time, and gives the
/// outputs in the order of the items.
///
/// The generic helper, for work that belongs together: the first error
/// cancels the token that the others were given. Those that have begun are
/// driven to their end before the error is returned; the rest never begins. A
/// batch of tool calls is different: there a failure disturbs nobody, see
/// [`Scheduler`](super::Scheduler).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use std::num::NonZeroUsize;
/// use toolfall::scheduler::run_parallel;
///
/// let limit = NonZeroUsize::new(2).unwrap();
/// let doubled = run_parallel(limit, [1, 2, 3], |n, _cancel| async move { Ok::<_, ()>(n * 2) });
/// assert_eq!(doubled.await, Ok(vec![2, 4, 6]));
///
/// let failed = run_parallel(limit, [1, 2, 3], |n, cancel| async move {
///     if n == 2 {
///         return Err("two");
///     }
///     cancel.cancelled().await;
///     Ok(n)
/// });
/// assert_eq!(failed.await, Err("two"));
/// # }
/// ```
///
/// # Errors
///
/// The first error, in time.
///
/// # Cancel safety
///
/// Dropping the future drops the work that has begun.
pub async fn run_parallel<I, T, E, F, Fut>(
    limit: NonZeroUsize,
    items: I,
    mut work: F,
) -> Result<Vec<T>, E>
where
    I: IntoIterator,
    F: FnMut(I::Item, CancellationToken) -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    let cancel = CancellationToken::new();
    let failed = Mutex::new(None);
    let mut items = items.into_iter().enumerate();
    let mut running = FuturesUnordered::new();
    let mut outputs = Vec::new();
    loop {
        while running.len() < limit.get() && !has_failed(&failed) {
            let Some((place, item)) = items.next() else {
                break;
            };
            let future = work(item, cancel.clone());
            let (failed, cancel) = (&failed, cancel.clone());
            running.push(async move {
                match future.await {
                    Ok(output) => Some((place, output)),
                    Err(error) => {
                        // At once, so that errors which the cancellation
                        // causes come later.
                        lock(failed).get_or_insert(error);
                        cancel.cancel();
                        None
                    }
                }
            });
        }
        match running.next().await {
            None => break,
            Some(output) => outputs.extend(output),
        }
    }
    drop(running);
    if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    outputs.sort_unstable_by_key(|(place, _)| *place);
    Ok(outputs.into_iter().map(|(_, output)| output).collect())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn has_failed<E>(failed: &Mutex<Option<E>>) -> bool {
    lock(failed).is_some()
}
