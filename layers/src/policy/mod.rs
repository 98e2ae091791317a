//! How the stages ask their policies: at once, or by waiting.
//!
//! A [`Policy`] answers a request either now, which costs no future and no
//! allocation, or later. Closures and tower services become policies through
//! [`IntoPolicy`]: a synchronous closure borrows the request, an asynchronous
//! one owns a cheap copy of it, a service is readied and called.

mod future;

use std::future::Future;
use std::marker::PhantomData;

use tower::util::Oneshot;
use tower_service::Service;

pub(crate) use self::future::Asking;
use crate::error::BoxError;

/// An answer that is there, or a future of it.
#[derive(Debug)]
pub enum Answer<T, F> {
    /// The answer itself.
    Now(T),
    /// The answer has to be waited for.
    Later(F),
}

/// What [`Policy::ask`] returns.
pub type Asked<Out, F> = Answer<Result<Out, BoxError>, F>;

/// Judges a request.
///
/// # Errors
///
/// A policy that fails has not answered: the call fails and nothing runs.
pub trait Policy<Req, Out> {
    /// The future of an answer that must be waited for.
    type Future: Future<Output = Result<Out, BoxError>> + Send;

    /// Judges `request`. A panic counts as a failure.
    fn ask(&self, request: &Req) -> Asked<Out, Self::Future>;
}

/// What can serve as a [`Policy`].
///
/// `M` only tells the kinds apart and is always inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no policy that answers `{Out}` to `{Req}`",
    label = "expected a closure `|request: &{Req}| -> {Out}`, a closure `|request: {Req}| async move {{ .. }}`, or a `tower::Service<{Req}, Response = {Out}>`",
    note = "annotate the closure's argument; a service must be `Clone + Send + Sync + 'static` with a `Send` future"
)]
pub trait IntoPolicy<Req, Out, M> {
    /// The policy it becomes.
    type Policy: Policy<Req, Out>;

    /// Makes the policy.
    fn into_policy(self) -> Self::Policy;
}

/// An answer, or a result of one: what a closure may return.
pub trait IntoAnswer<Out> {
    /// Makes it a result.
    fn into_answer(self) -> Result<Out, BoxError>;
}

impl<Out> IntoAnswer<Out> for Out {
    fn into_answer(self) -> Result<Out, BoxError> {
        Ok(self)
    }
}

impl<Out, E: Into<BoxError>> IntoAnswer<Out> for Result<Out, E> {
    fn into_answer(self) -> Result<Out, BoxError> {
        self.map_err(Into::into)
    }
}

/// A synchronous closure as a policy; see [`IntoPolicy`].
#[derive(Debug)]
pub struct FnPolicy<F, R>(F, PhantomData<fn() -> R>);

// Derived, it would ask that answers can be cloned, which errors cannot.
impl<F: Clone, R> Clone for FnPolicy<F, R> {
    fn clone(&self) -> Self {
        Self(self.0.clone(), PhantomData)
    }
}

/// An asynchronous closure as a policy; see [`IntoPolicy`].
#[derive(Clone, Copy, Debug)]
pub struct AsyncFnPolicy<F>(F);

/// A tower service as a policy; see [`IntoPolicy`].
#[derive(Clone, Copy, Debug)]
pub struct ServicePolicy<S>(S);

impl<F, R, Req, Out> Policy<Req, Out> for FnPolicy<F, R>
where
    F: Fn(&Req) -> R,
    R: IntoAnswer<Out>,
    Out: Send,
{
    type Future = std::future::Ready<Result<Out, BoxError>>;

    fn ask(&self, request: &Req) -> Asked<Out, Self::Future> {
        Answer::Now((self.0)(request).into_answer())
    }
}

impl<F, Fut, R, Req, Out> Policy<Req, Out> for AsyncFnPolicy<F>
where
    F: Fn(Req) -> Fut,
    Fut: Future<Output = R> + Send,
    R: IntoAnswer<Out>,
    Req: Clone,
{
    type Future = future::IntoAnswerFuture<Fut, Out>;

    fn ask(&self, request: &Req) -> Asked<Out, Self::Future> {
        Answer::Later(future::IntoAnswerFuture::new((self.0)(request.clone())))
    }
}

impl<S, Req, Out> Policy<Req, Out> for ServicePolicy<S>
where
    S: Service<Req> + Clone,
    S::Future: Send,
    S: Send,
    Result<S::Response, S::Error>: IntoAnswer<Out>,
    Req: Clone + Send,
    Out: Send,
{
    type Future = future::IntoAnswerFuture<Oneshot<S, Req>, Out>;

    fn ask(&self, request: &Req) -> Asked<Out, Self::Future> {
        let answer = Oneshot::new(self.0.clone(), request.clone());
        Answer::Later(future::IntoAnswerFuture::new(answer))
    }
}

/// Tells a ready-made policy apart; never named.
#[derive(Debug)]
pub enum IsPolicy {}
/// Tells a synchronous closure apart; never named.
#[derive(Debug)]
pub struct IsFn<R>(PhantomData<R>);
/// Tells an asynchronous closure apart; never named.
#[derive(Debug)]
pub struct IsAsyncFn<Fut, R>(PhantomData<(Fut, R)>);
/// Tells a service apart; never named.
#[derive(Debug)]
pub enum IsService {}

impl<P, Req, Out> IntoPolicy<Req, Out, IsPolicy> for P
where
    P: Policy<Req, Out>,
{
    type Policy = P;

    fn into_policy(self) -> P {
        self
    }
}

impl<F, R, Req, Out> IntoPolicy<Req, Out, IsFn<R>> for F
where
    F: Fn(&Req) -> R,
    R: IntoAnswer<Out>,
    Out: Send,
{
    type Policy = FnPolicy<F, R>;

    fn into_policy(self) -> Self::Policy {
        FnPolicy(self, PhantomData)
    }
}

impl<F, Fut, R, Req, Out> IntoPolicy<Req, Out, IsAsyncFn<Fut, R>> for F
where
    F: Fn(Req) -> Fut,
    Fut: Future<Output = R> + Send,
    R: IntoAnswer<Out>,
    Req: Clone,
{
    type Policy = AsyncFnPolicy<F>;

    fn into_policy(self) -> Self::Policy {
        AsyncFnPolicy(self)
    }
}

impl<S, Req, Out> IntoPolicy<Req, Out, IsService> for S
where
    S: Service<Req> + Clone + Send,
    S::Future: Send,
    Result<S::Response, S::Error>: IntoAnswer<Out>,
    Req: Clone + Send,
    Out: Send,
{
    type Policy = ServicePolicy<S>;

    fn into_policy(self) -> Self::Policy {
        ServicePolicy(self)
    }
}
