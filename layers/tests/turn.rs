//! A call's place in a batch: what the marks say, and what waits for what.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use support::{Leaf, Shelf, Tool, request, request_with};
use tokio_test::{assert_pending, assert_ready_ok, task};
use tokio_util::sync::CancellationToken;
use toolfall_layers::turn::{Mark, Turn, TurnControl, turn};
use toolfall_layers::*;
use tower::ServiceBuilder;
use tower_service::Service as _;

#[derive(Default)]
struct Counter(AtomicUsize);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn place() -> (Turn, TurnControl, Arc<Counter>) {
    let counter = Arc::new(Counter::default());
    let (turn, control) = turn(Waker::from(counter.clone()));
    (turn, control, counter)
}

macro_rules! stack {
    ($decision:expr) => {
        ServiceBuilder::new()
            .layer(Shelf::of(Tool::default()).stage())
            .layer(PostExecuteLayer::new(|_: &PostRequest| {
                PostDecision::accept()
            }))
            .layer(PreDecisionLayer::new(|_: &CallView| $decision))
            .layer(ApprovalLayer::unavailable())
            .layer(GuardLayer::new(|call: &CallView| {
                (call.name() == "guarded").then(|| Denial::new("no"))
            }))
            .service(Leaf::returning(1))
    };
}

#[tokio::test]
async fn an_allowed_call_is_admitted_settled_and_done() {
    let mut stack = stack!(Decision::Allow);
    let (turn, control, woken) = place();
    let mut call = task::spawn(stack.call(request("echo").with_turn(turn)));
    assert!(!control.has(Mark::Admitted));
    assert_pending!(call.poll());
    assert!(control.has(Mark::Admitted) && control.has(Mark::Settled));
    assert!(!control.has(Mark::Parked) && !control.has(Mark::Done));
    assert_eq!(
        woken.0.load(Ordering::SeqCst),
        2,
        "each mark wakes the scheduler"
    );
    control.grant_commit();
    assert!(call.is_woken());
    assert!(!assert_ready_ok!(call.poll()).is_error());
    assert!(control.has(Mark::Done));
}

#[tokio::test]
async fn a_call_that_is_refused_is_settled_without_having_been_admitted() {
    let token = CancellationToken::new();
    token.cancel();
    for (request, denies) in [
        (request("echo"), true),
        (request("guarded"), false),
        (request_with("echo", &token), false),
    ] {
        let (turn, control, _) = place();
        let request = request.with_turn(turn);
        let mut call = if denies {
            let mut stack = stack!(Decision::deny("no"));
            Box::pin(stack.call(request)) as std::pin::Pin<Box<dyn Future<Output = _>>>
        } else {
            let mut stack = stack!(Decision::Allow);
            Box::pin(stack.call(request))
        };
        assert_pending!(task::spawn(call.as_mut()).poll());
        assert!(control.has(Mark::Settled) && !control.has(Mark::Admitted));
        control.grant_commit();
        assert!(assert_ready_ok!(task::spawn(call.as_mut()).poll()).is_error());
        assert!(control.has(Mark::Done));
    }
}

#[tokio::test]
async fn marks_made_while_the_scheduler_polls_do_not_wake_it() {
    let mut stack = stack!(Decision::Allow);
    let (turn, control, woken) = place();
    let mut call = task::spawn(stack.call(request("echo").with_turn(turn)));
    control.watch(|| assert_pending!(call.poll()));
    assert!(control.has(Mark::Settled));
    assert_eq!(woken.0.load(Ordering::SeqCst), 0);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        control.watch(|| panic!("a bug in the poll"));
    }));
    assert!(panicked.is_err());
    drop(call);
    assert!(control.has(Mark::Done));
    assert!(
        woken.0.load(Ordering::SeqCst) > 0,
        "it is awake again after a panic"
    );
}

#[tokio::test]
async fn a_dropped_call_is_done_and_a_lost_scheduler_releases_every_wait() {
    let mut stack = stack!(Decision::Allow);
    for polls in 0..2 {
        let (turn, control, _) = place();
        let mut call = task::spawn(stack.call(request("echo").with_turn(turn)));
        for _ in 0..polls {
            assert_pending!(call.poll());
        }
        drop(call);
        assert!(control.has(Mark::Done));
    }
    let (turn, control, _) = place();
    let mut call = task::spawn(stack.call(request("echo").with_turn(turn)));
    assert_pending!(call.poll());
    drop(control);
    assert!(call.is_woken());
    assert!(!assert_ready_ok!(call.poll()).is_error());
}

/// Observers see a call that is not done yet; when the mark is set, all of
/// them were told.
#[tokio::test]
async fn done_comes_after_the_observers() {
    let (turn, control, _) = place();
    let control = Arc::new(control);
    let (seen, early) = (control.clone(), Arc::new(AtomicUsize::new(9)));
    let told = early.clone();
    let stage = Shelf::of(Tool::default())
        .stage()
        .observer(move |_: &CallView, _: &ToolResult| {
            told.store(usize::from(seen.has(Mark::Done)), Ordering::SeqCst);
        });
    let mut stack = ServiceBuilder::new()
        .layer(stage)
        .layer(ApprovalLayer::unavailable())
        .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
        .service(Leaf::returning(1));
    control.release();
    stack.call(request("echo").with_turn(turn)).await.unwrap();
    assert!(control.has(Mark::Done));
    assert_eq!(early.load(Ordering::SeqCst), 0, "told, and not done then");
}
