//! Keeping a panic of user code where it happened.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use toolfall_layers::panic::{PanicError, catch};

pin_project! {
    /// Drives a future and gives its panic back as an error.
    pub(crate) struct Contained<F> {
        #[pin]
        future: F,
    }
}

impl<F> Contained<F> {
    pub(crate) const fn new(future: F) -> Self {
        Self { future }
    }
}

impl<F: Future> Future for Contained<F> {
    type Output = Result<F::Output, PanicError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let future = self.project().future;
        match catch(|| future.poll(cx)) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    }
}
