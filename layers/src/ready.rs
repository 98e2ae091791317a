//! Readying a service and calling it, for stages that wait first.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use tower_service::Service;

pin_project! {
    /// Readies `service`, calls it and drives the answer.
    ///
    /// tower's `Oneshot` with one difference: the service is dropped as soon
    /// as it was called, so it holds nothing while the answer is awaited.
    #[project = ReadyCallProj]
    pub(crate) enum ReadyCall<S, Req>
    where
        S: Service<Req>,
    {
        NotReady { service: S, request: Option<Req> },
        Called { #[pin] future: S::Future },
    }
}

impl<S: Service<Req>, Req> ReadyCall<S, Req> {
    pub(crate) const fn new(service: S, request: Req) -> Self {
        Self::NotReady {
            service,
            request: Some(request),
        }
    }
}

impl<S: Service<Req>, Req> Future for ReadyCall<S, Req> {
    type Output = Result<S::Response, S::Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            match self.as_mut().project() {
                ReadyCallProj::NotReady { service, request } => {
                    ready!(service.poll_ready(cx))?;
                    let request = request.take().expect("polled after completion");
                    let future = service.call(request);
                    self.set(Self::Called { future });
                }
                ReadyCallProj::Called { future } => return future.poll(cx),
            }
        }
    }
}
