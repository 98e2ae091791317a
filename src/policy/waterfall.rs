//! Listeners that delegate to the next or answer themselves.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use toolfall_layers::panic::{PanicError, catch};
use toolfall_layers::policy::{Answer, Asked, IntoAnswer, Policy};
use toolfall_layers::{BoxError, Scope};

use super::{Contained, Heard, ListenerRegistration, Listeners, Subject};

type Answering<Out> = Pin<Box<dyn Future<Output = Result<Out, BoxError>> + Send>>;
type Listener<Req, Out> = dyn Fn(Req, Next<Req, Out>) -> Answering<Out> + Send + Sync;

/// A live list of listeners as the policy of one stage.
///
/// The first registered is the outermost: it is asked first, and its answer
/// is the stage's. A listener answers itself, or hands the question to the
/// next with [`Next::run`] and then gives that answer, or another one. The
/// innermost answer, which is reached if everybody delegates, is given at
/// construction. A listener that fails or panics fails the question for every
/// listener outside it that does not catch the error.
///
/// The list is fixed when a stage starts: who registers while a call is
/// judged takes part from the next call on. No lock is held while a listener
/// runs. Clones share the list.
///
/// ```
/// use tokio_util::sync::CancellationToken;
/// use toolfall::policy::{Next, Waterfall};
/// use toolfall::{BoxError, CallView, Decision, Registry, Pipeline};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let listeners = Waterfall::new(Decision::Allow);
/// let _outer = listeners.register(|call: CallView, next: Next<_, _>| async move {
///     match call.name() {
///         "status" => Ok(Decision::Allow),
///         _ => next.run().await,
///     }
/// });
/// let night = listeners.register(|_: CallView, _: Next<_, _>| async {
///     Decision::deny("nothing runs at night")
/// });
///
/// let pipeline = Pipeline::builder(Registry::new()).pre_decision(listeners.clone()).build();
/// let denied = pipeline.call("1", "deploy", "{}", CancellationToken::new()).await;
/// assert_eq!(denied.text(), "Error: nothing runs at night");
///
/// let waved_through = pipeline.call("2", "status", "{}", CancellationToken::new()).await;
/// assert_eq!(waved_through.text(), "Error: unknown tool \"status\"");
///
/// drop(night);
/// assert_eq!(listeners.len(), 1);
/// # }
/// ```
pub struct Waterfall<Req, Out> {
    listeners: Arc<Listeners<Listener<Req, Out>>>,
    innermost: Arc<Out>,
}

impl<Req, Out> Waterfall<Req, Out>
where
    Req: Subject + Clone + Send + 'static,
    Out: Clone + Send + Sync + 'static,
{
    /// A list without listeners; `innermost` is the answer when nobody gives
    /// one: [`Decision::Allow`](crate::Decision::Allow) or
    /// [`PostDecision::accept`](crate::PostDecision::accept), for instance.
    pub fn new(innermost: Out) -> Self {
        Self {
            listeners: Listeners::new(),
            innermost: Arc::new(innermost),
        }
    }

    /// Adds a listener inside those added before.
    pub fn register<F, Fut, R>(&self, listener: F) -> ListenerRegistration
    where
        F: Fn(Req, Next<Req, Out>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoAnswer<Out> + 'static,
    {
        self.insert(listener, None, false)
    }

    /// Adds a listener outside all those added before.
    pub fn register_outermost<F, Fut, R>(&self, listener: F) -> ListenerRegistration
    where
        F: Fn(Req, Next<Req, Out>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoAnswer<Out> + 'static,
    {
        self.insert(listener, None, true)
    }

    /// Adds a listener that hears the calls from `scope` and from scopes
    /// nested in it, and nobody else's.
    pub fn register_in<F, Fut, R>(&self, scope: &Scope, listener: F) -> ListenerRegistration
    where
        F: Fn(Req, Next<Req, Out>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoAnswer<Out> + 'static,
    {
        self.insert(listener, Some(scope), false)
    }

    fn insert<F, Fut, R>(
        &self,
        listener: F,
        scope: Option<&Scope>,
        outermost: bool,
    ) -> ListenerRegistration
    where
        F: Fn(Req, Next<Req, Out>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoAnswer<Out> + 'static,
    {
        let listener = move |request: Req, next: Next<Req, Out>| -> Answering<Out> {
            let answer = listener(request, next);
            Box::pin(async move { answer.await.into_answer() })
        };
        self.listeners.insert(Arc::new(listener), scope, outermost)
    }

    /// Takes away the listeners of `scope` and of what is nested in it. Calls
    /// that are being judged keep those that they started with.
    pub fn dispose(&self, scope: &Scope) {
        self.listeners.dispose(scope);
    }

    /// How many listeners are registered.
    pub fn len(&self) -> usize {
        self.listeners.len()
    }

    /// Whether no listener is registered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<Req, Out> Policy<Req, Out> for Waterfall<Req, Out>
where
    Req: Subject + Clone + Send + 'static,
    Out: Clone + Send + Sync + 'static,
{
    type Future = Delegated<Out>;

    fn ask(&self, request: &Req) -> Asked<Out, Self::Future> {
        let mut heard = self.listeners.heard();
        // A call that nobody listens to costs no future.
        match heard.next(request.call()) {
            None => Answer::Now(Ok(Out::clone(&self.innermost))),
            Some(listener) => Answer::Later(ask(
                &*listener,
                Next {
                    request: request.clone(),
                    heard,
                    innermost: self.innermost.clone(),
                },
            )),
        }
    }
}

impl<Req, Out> Clone for Waterfall<Req, Out> {
    fn clone(&self) -> Self {
        Self {
            listeners: self.listeners.clone(),
            innermost: self.innermost.clone(),
        }
    }
}

impl<Req, Out> fmt::Debug for Waterfall<Req, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waterfall").finish_non_exhaustive()
    }
}

/// The listeners inside one, for it to delegate to. Dropping it is not
/// delegating.
pub struct Next<Req, Out> {
    request: Req,
    heard: Heard<Listener<Req, Out>>,
    innermost: Arc<Out>,
}

impl<Req, Out> Next<Req, Out>
where
    Req: Subject + Clone + Send + 'static,
    Out: Clone + Send + Sync + 'static,
{
    /// Asks the next listener; its answer may be kept, changed or ignored.
    ///
    /// # Errors
    ///
    /// What an inner listener failed or panicked with. Passing it on fails
    /// the call; answering instead overrules the failure.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the inner listeners where they are.
    pub fn run(mut self) -> Delegated<Out> {
        match self.heard.next(self.request.call()) {
            None => Delegated(State::Innermost(Some(self.innermost))),
            Some(listener) => ask(&*listener, self),
        }
    }
}

impl<Req, Out> fmt::Debug for Next<Req, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").finish_non_exhaustive()
    }
}

fn ask<Req: Clone, Out>(listener: &Listener<Req, Out>, next: Next<Req, Out>) -> Delegated<Out> {
    let request = next.request.clone();
    Delegated(match catch(|| listener(request, next)) {
        Ok(answering) => State::Asked(Contained::new(answering)),
        Err(panic) => State::Panicked(Some(panic)),
    })
}

/// The future of [`Next::run`].
#[must_use = "futures do nothing unless polled"]
pub struct Delegated<Out>(State<Out>);

enum State<Out> {
    Innermost(Option<Arc<Out>>),
    Asked(Contained<Answering<Out>>),
    Panicked(Option<PanicError>),
}

impl<Out: Clone> Future for Delegated<Out> {
    type Output = Result<Out, BoxError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Innermost(answer) => {
                let answer = answer.take().expect("polled after completion");
                Poll::Ready(Ok(Out::clone(&answer)))
            }
            State::Asked(answering) => match Pin::new(answering).poll(cx) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(Ok(answer)) => Poll::Ready(answer),
                Poll::Ready(Err(panic)) => Poll::Ready(Err(panic.into())),
            },
            State::Panicked(panic) => {
                let panic = panic.take().expect("polled after completion");
                Poll::Ready(Err(panic.into()))
            }
        }
    }
}

impl<Out> fmt::Debug for Delegated<Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delegated").finish_non_exhaustive()
    }
}
