//! A whole stack whose every hook can be made to panic or to cancel, and the
//! books that say what really happened.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use toolfall_layers::*;
use tower_service::Service;

use super::{Answered, CallService, Leaf, context};

/// What happens at the chosen hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mischief {
    Nothing,
    Panic,
    Cancel,
}

/// Counts hooks and does mischief at one of them.
#[derive(Clone)]
pub struct Chaos(Arc<Hooks>);

struct Hooks {
    armed: AtomicBool,
    hits: AtomicUsize,
    target: usize,
    mischief: Mischief,
    token: CancellationToken,
    place: Mutex<Option<&'static str>>,
}

impl Chaos {
    pub fn new(mischief: Mischief, target: usize, token: CancellationToken) -> Self {
        Self(Arc::new(Hooks {
            armed: AtomicBool::new(false),
            hits: AtomicUsize::new(0),
            target,
            mischief,
            token,
            place: Mutex::new(None),
        }))
    }

    pub fn arm(&self) {
        self.0.armed.store(true, Ordering::SeqCst);
    }

    /// Where the mischief was done.
    pub fn place(&self) -> Option<&'static str> {
        *self.0.place.lock().unwrap()
    }

    pub fn hit(&self, place: &'static str) {
        if !self.0.armed.load(Ordering::SeqCst) {
            return;
        }
        let hit = self.0.hits.fetch_add(1, Ordering::SeqCst);
        if hit != self.0.target || self.0.mischief == Mischief::Nothing {
            return;
        }
        *self.0.place.lock().unwrap() = Some(place);
        match self.0.mischief {
            Mischief::Nothing => {}
            Mischief::Cancel => self.0.token.cancel(),
            // A second panic while unwinding would abort the test itself.
            Mischief::Panic if std::thread::panicking() => {}
            Mischief::Panic => panic!("chaos at {place}"),
        }
    }

    /// Waits for a few polls, with a hook in each.
    async fn wait(&self, place: &'static str) {
        let mut left = 2;
        std::future::poll_fn(|cx| {
            self.hit(place);
            if left == 0 {
                return Poll::Ready(());
            }
            left -= 1;
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

/// A hook in a destructor.
struct InDrop(Chaos, &'static str);

impl Drop for InDrop {
    fn drop(&mut self) {
        self.0.hit(self.1);
    }
}

/// What really happened to one call.
#[derive(Default)]
pub struct Books {
    pub entered: AtomicUsize,
    pub open: AtomicUsize,
    pub completed: AtomicUsize,
    /// Bodies that were dropped before their end.
    pub abandoned: AtomicUsize,
    pub first_observer: Mutex<Vec<ToolResult>>,
    pub second_observer: Mutex<Vec<ToolResult>>,
    pub recorded_calls: AtomicUsize,
    pub recorded_starts: AtomicUsize,
    pub recorded_results: Mutex<Vec<ToolResult>>,
}

fn count(counter: &AtomicUsize) -> usize {
    counter.load(Ordering::SeqCst)
}

impl Books {
    pub fn entered(&self) -> usize {
        count(&self.entered)
    }

    pub fn completed(&self) -> usize {
        count(&self.completed)
    }

    /// The one result, after checking that all books agree with it.
    pub fn close(&self, context: &str) -> ToolResult {
        let first = self.first_observer.lock().unwrap();
        assert_eq!(first.len(), 1, "{context}: notifications");
        let result = first[0].clone();
        for others in [&self.second_observer, &self.recorded_results] {
            let others = others.lock().unwrap();
            assert_eq!(others.len(), 1, "{context}: second observer or recorder");
            assert!(others[0].ptr_eq(&result), "{context}: another result");
        }
        assert!(
            count(&self.recorded_calls) <= 1,
            "{context}: recorded twice"
        );
        assert_eq!(count(&self.open), 0, "{context}: a body is left running");
        let effect = match (self.entered(), count(&self.abandoned)) {
            (0, _) => Effect::NotStarted,
            (_, 0) => Effect::Stopped,
            (_, _) => Effect::Unknown,
        };
        assert_eq!(
            result.effect(),
            effect,
            "{context}: effect of {:?}",
            result.text()
        );
        match result.code() {
            Some(codes::ABORTED_BEFORE_DISPATCH) => assert_eq!(self.entered(), 0, "{context}"),
            Some(codes::ABORTED) => assert!(self.entered() > 0, "{context}"),
            _ => assert_ne!(result.kind(), Some(FailureKind::Cancelled), "{context}"),
        }
        if self.entered() > 0 {
            assert_eq!(
                count(&self.recorded_starts),
                1,
                "{context}: starts recorded"
            );
        }
        result
    }
}

/// Counts a body as open for as long as it lives.
struct Presence {
    books: Arc<Books>,
    done: bool,
    chaos: Chaos,
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.books.open.fetch_sub(1, Ordering::SeqCst);
        // A body that panics has come to its own end.
        if !self.done && !std::thread::panicking() {
            self.books.abandoned.fetch_add(1, Ordering::SeqCst);
        }
        self.chaos.hit("body drop");
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Works for 10 ms.
    Quick,
    Fails,
    Panics,
    /// Fails the first time.
    Flaky,
    /// Stops once its token is cancelled, after a moment.
    Cooperative,
    /// Works for 2 s whatever its token says.
    Deaf,
    /// Works for 2 s, then fails.
    DeafAndFails,
}

/// What an around layer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrap {
    Pass,
    /// Races the dispatch against a timer of so many ms and drops the loser.
    Race(u64),
    /// Lets the dispatch begin, drops it and fails.
    Break,
    /// Answers itself.
    Author,
    /// Runs the dispatch on a task of its own and waits for it.
    Spawn,
}

/// One shape of a call.
#[derive(Clone, Debug)]
pub struct Shape {
    pub name: &'static str,
    pub body: Body,
    pub decision: Decision,
    pub approval: ApprovalOutcome,
    pub guard_denies: bool,
    pub policy_fails: bool,
    pub budget: Option<u64>,
    pub grace: Option<u64>,
    pub outer: Wrap,
    pub inner: Wrap,
    /// When the caller cancels.
    pub cancel_at: Option<u64>,
}

impl Shape {
    pub const fn new(name: &'static str, body: Body) -> Self {
        Self {
            name,
            body,
            decision: Decision::Allow,
            approval: ApprovalOutcome::AllowedOnce,
            guard_denies: false,
            policy_fails: false,
            budget: None,
            grace: None,
            outer: Wrap::Pass,
            inner: Wrap::Pass,
            cancel_at: None,
        }
    }

    fn leaf(&self, chaos: &Chaos, books: &Arc<Books>) -> Leaf {
        let (kind, chaos, books) = (self.body, chaos.clone(), books.clone());
        Leaf::made_by(move |body: BodyContext| {
            let attempt = books.entered.fetch_add(1, Ordering::SeqCst);
            books.open.fetch_add(1, Ordering::SeqCst);
            let mut presence = Presence {
                books: books.clone(),
                done: false,
                chaos: chaos.clone(),
            };
            let chaos = chaos.clone();
            chaos.hit("body start");
            Box::pin(async move {
                body.defer_context(context("deferred"));
                chaos.wait("body poll").await;
                let ended = match kind {
                    Body::Quick => {
                        sleep(Duration::from_millis(10)).await;
                        Ok(json!("done"))
                    }
                    Body::Fails => Err("body failed".into()),
                    Body::Panics => panic!("body panicked"),
                    Body::Flaky if attempt == 0 => Err("flaky".into()),
                    Body::Flaky => Ok(json!("done")),
                    Body::Cooperative => {
                        body.cancellation().cancelled().await;
                        sleep(Duration::from_millis(1)).await;
                        Ok(json!("stopped"))
                    }
                    Body::Deaf => {
                        sleep(Duration::from_secs(2)).await;
                        Ok(json!("done"))
                    }
                    Body::DeafAndFails => {
                        sleep(Duration::from_secs(2)).await;
                        Err(CodedError::new("OwnError", "OWN", "own failure").into())
                    }
                };
                chaos.wait("body end").await;
                presence.done = true;
                presence.books.completed.fetch_add(1, Ordering::SeqCst);
                ended
            })
        })
    }

    /// The whole standard stack with a hook wherever user code runs.
    pub fn stack(&self, chaos: &Chaos, books: &Arc<Books>) -> impl CallService + use<> {
        let catalog = ChaosShelf {
            tool: Arc::new(ChaosTool {
                budget: self.budget.map(Duration::from_millis),
                chaos: chaos.clone(),
            }),
            chaos: chaos.clone(),
        };
        let observe = |second: bool| {
            let (chaos, books) = (chaos.clone(), books.clone());
            move |_: &CallView, result: &ToolResult| {
                let seen = if second {
                    &books.second_observer
                } else {
                    &books.first_observer
                };
                seen.lock().unwrap().push(result.clone());
                chaos.hit("observer");
            }
        };
        let stage = ResultNotifyLayer::new()
            .catalog(Arc::new(catalog))
            .recorder(Arc::new(ChaosRecorder {
                books: books.clone(),
                chaos: chaos.clone(),
            }))
            .observer(observe(false))
            .observer(observe(true));
        let [post, pre, sync, approver, guard] = [(); 5].map(|()| chaos.clone());
        let (decision, approval) = (self.decision.clone(), self.approval);
        let (guard_denies, policy_fails) = (self.guard_denies, self.policy_fails);
        let timeout = match self.grace {
            None => TimeoutLayer::declared(),
            Some(grace) => TimeoutLayer::declared().with_grace(Duration::from_millis(grace)),
        };
        let wrap = |kind| WrapLayer(kind, chaos.clone());
        tower::ServiceBuilder::new()
            .layer(stage)
            .layer(PostExecuteLayer::new(move |_: PostRequest| {
                post.hit("post ask");
                let post = post.clone();
                async move {
                    let _drop = InDrop(post.clone(), "post drop");
                    post.wait("post poll").await;
                    PostDecision::accept().with_context(context("post"))
                }
            }))
            .layer(PreDecisionLayer::new(move |_: CallView| {
                pre.hit("pre ask");
                let (pre, decision) = (pre.clone(), decision.clone());
                async move {
                    let _drop = InDrop(pre.clone(), "pre drop");
                    pre.wait("pre poll").await;
                    if policy_fails {
                        Err("policy failed")
                    } else {
                        Ok(decision)
                    }
                }
            }))
            .layer(PreDecisionLayer::new(move |_: &CallView| {
                sync.hit("pre sync");
                Decision::Allow
            }))
            .layer(ApprovalLayer::new(move |_: ApprovalRequest| {
                approver.hit("approver ask");
                let approver = approver.clone();
                async move {
                    let _drop = InDrop(approver.clone(), "approver drop");
                    approver.wait("approver poll").await;
                    approval
                }
            }))
            .layer(GuardLayer::new(move |_: &CallView| {
                guard.hit("guard");
                guard_denies.then(|| Denial::new("guard denied"))
            }))
            .layer(timeout)
            .layer(RetryLayer::new(std::num::NonZeroU32::new(2).unwrap()))
            .layer(wrap(self.outer))
            .layer(wrap(self.inner))
            .service(self.leaf(chaos, books))
    }
}

struct WrapLayer(Wrap, Chaos);

impl<S> tower_layer::Layer<S> for WrapLayer {
    type Service = Wrapped<S>;

    fn layer(&self, inner: S) -> Wrapped<S> {
        Wrapped {
            inner,
            kind: self.0,
            chaos: self.1.clone(),
        }
    }
}

struct Wrapped<S> {
    inner: S,
    kind: Wrap,
    chaos: Chaos,
}

impl<S: Clone> Clone for Wrapped<S> {
    fn clone(&self) -> Self {
        self.chaos.hit("around clone");
        Self {
            inner: self.inner.clone(),
            kind: self.kind,
            chaos: self.chaos.clone(),
        }
    }
}

impl<S> Service<ClearedCall> for Wrapped<S>
where
    S: Service<ClearedCall, Response = ToolOutcome, Error = BoxError>,
    S::Future: Send + 'static,
{
    type Response = ToolOutcome;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Answered> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.chaos.hit("around poll_ready");
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: ClearedCall) -> Self::Future {
        self.chaos.hit("around call");
        let (chaos, kind) = (self.chaos.clone(), self.kind);
        if kind == Wrap::Author {
            return Box::pin(async move {
                let _drop = InDrop(chaos.clone(), "around drop");
                chaos.wait("around poll").await;
                Ok(ToolOutcome::success(json!("authored")))
            });
        }
        let mut dispatch = Box::pin(self.inner.call(call));
        let dropped = InDrop(self.chaos.clone(), "around drop");
        Box::pin(async move {
            let _dropped = dropped;
            chaos.wait("around before").await;
            let outcome = match kind {
                Wrap::Pass | Wrap::Author => dispatch.await,
                Wrap::Race(ms) => tokio::select! {
                    biased;
                    outcome = &mut dispatch => outcome,
                    () = sleep(Duration::from_millis(ms)) => {
                        Ok(ToolOutcome::failure("raced"))
                    }
                },
                Wrap::Break => {
                    let _ = futures_util::future::select(
                        &mut dispatch,
                        Box::pin(sleep(Duration::from_millis(1))),
                    )
                    .await;
                    Err("wrapper broke".into())
                }
                Wrap::Spawn => match tokio::spawn(dispatch).await {
                    Ok(outcome) => outcome,
                    Err(error) => Err(error.into()),
                },
            };
            chaos.wait("around after").await;
            outcome
        })
    }
}

struct ChaosShelf {
    tool: Arc<ChaosTool>,
    chaos: Chaos,
}

impl Catalog for ChaosShelf {
    fn resolve(&self, _: &CallView) -> Option<Arc<dyn Definition>> {
        self.chaos.hit("catalog resolve");
        Some(self.tool.clone())
    }

    fn generation(&self) -> u64 {
        self.chaos.hit("catalog generation");
        0
    }

    fn refuse(&self, _: &CallView) -> Option<ToolOutcome> {
        self.chaos.hit("catalog refuse");
        None
    }
}

struct ChaosTool {
    budget: Option<Duration>,
    chaos: Chaos,
}

impl Definition for ChaosTool {
    fn budget(&self) -> Option<Duration> {
        self.chaos.hit("tool budget");
        self.budget
    }

    fn is_repeatable(&self) -> bool {
        self.chaos.hit("tool repeatable");
        true
    }

    fn check_arguments(&self, _: &CallView, _: &Arguments) -> Result<(), ToolOutcome> {
        self.chaos.hit("tool check");
        Ok(())
    }

    fn render(&self, _: &CallView, value: Value) -> Result<Rendered, ToolOutcome> {
        self.chaos.hit("tool render");
        let content = vec![ContentBlock::text(value.to_string())];
        Ok(Rendered {
            value,
            content,
            meta: None,
        })
    }

    fn has_finalizer(&self) -> bool {
        self.chaos.hit("tool has_finalizer");
        true
    }

    fn finalize(
        &self,
        _: &CallView,
        _: &ToolOutcome,
    ) -> Result<Option<Vec<ContentBlock>>, BoxError> {
        self.chaos.hit("tool finalize");
        Ok(None)
    }
}

struct ChaosRecorder {
    books: Arc<Books>,
    chaos: Chaos,
}

impl Recorder for ChaosRecorder {
    fn call(&self, _: &CallView) -> Recorded {
        self.books.recorded_calls.fetch_add(1, Ordering::SeqCst);
        self.chaos.hit("recorder call");
        let chaos = self.chaos.clone();
        Recorded::Later(Box::pin(async move {
            let _drop = InDrop(chaos.clone(), "recorder drop");
            chaos.wait("recorder poll").await;
            Ok(())
        }))
    }

    fn started(&self, _: &CallView) -> Recorded {
        self.chaos.hit("recorder started");
        self.books.recorded_starts.fetch_add(1, Ordering::SeqCst);
        Recorded::Now(Ok(()))
    }

    fn result(&self, _: &CallView, result: &ToolResult) -> Result<(), BoxError> {
        self.books
            .recorded_results
            .lock()
            .unwrap()
            .push(result.clone());
        self.chaos.hit("recorder result");
        Ok(())
    }
}
