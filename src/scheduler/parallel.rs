//! Running futures together where one error is the end of all.

use std::future::Future;
use std::num::NonZeroUsize;

use futures_util::stream::{FuturesOrdered, StreamExt as _};
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
    let mut items = items.into_iter();
    let mut running = FuturesOrdered::new();
    let mut outputs = Vec::new();
    let mut failed = None;
    loop {
        while failed.is_none() && running.len() < limit.get() {
            let Some(item) = items.next() else { break };
            let future = work(item, cancel.clone());
            let cancel = cancel.clone();
            running.push_back(async move {
                let output = future.await;
                // At once, not when it is this one's turn.
                if output.is_err() {
                    cancel.cancel();
                }
                output
            });
        }
        match running.next().await {
            None => break,
            Some(Ok(output)) => outputs.push(output),
            Some(Err(error)) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(outputs), Err)
}
