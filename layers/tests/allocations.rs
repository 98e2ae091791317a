//! What the stages allocate beside the boxed body and its outcome.
//!
//! One test, because the counter is the whole process's. The figures are upper
//! bounds: a change that needs more has to say so here.

mod support;

use std::alloc::System;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use serde_json::{Value, json};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use support::{Around, Leaf, Shelf, request, request_with};
use tokio_util::sync::CancellationToken;
use toolfall_layers::*;
use tower::ServiceBuilder;
use tower_service::Service;

#[global_allocator]
static COUNTED: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Renders a constant: one vector and one string.
struct Plain(Option<Duration>);

impl Definition for Plain {
    fn budget(&self) -> Option<Duration> {
        self.0
    }

    fn render(&self, _: &CallView, value: Value) -> Result<Rendered, ToolOutcome> {
        let content = vec![ContentBlock::text("ok")];
        Ok(Rendered {
            value,
            content,
            meta: None,
        })
    }
}

/// The boxed body, the box in which `enter` makes it at its first poll (a leaf
/// over `enter_with` has none), the rendering's vector and string, and the
/// shared outcome.
const BODY_AND_OUTCOME: usize = 5;

fn leaf() -> Leaf {
    Leaf::new(|_| async { Ok(json!(1)) })
}

/// Allocations of one call of `stack`, and the size of its future.
fn measure<S>(mut stack: S) -> (usize, usize)
where
    S: Service<CallRequest, Response = ToolResult, Error = std::convert::Infallible>,
{
    let mut measured = (usize::MAX, 0);
    // The first call warms up what is made once, and the harness's own thread
    // allocates now and then; the least is what the call itself needs.
    for _ in 0..5 {
        let request = request("echo");
        let region = Region::new(COUNTED);
        let mut call = std::pin::pin!(stack.call(request));
        measured.1 = size_of_val(&*call);
        let Poll::Ready(Ok(result)) = call.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        else {
            panic!("these stages wait for nothing");
        };
        let change = region.change();
        assert!(!result.is_error(), "{}", result.text());
        let made = change.allocations + change.reallocations - BODY_AND_OUTCOME;
        measured.0 = measured.0.min(made);
    }
    measured
}

fn shelf(budget: Option<Duration>) -> Shelf {
    let shelf = Shelf::default();
    shelf.put(Some(Arc::new(Plain(budget))));
    shelf
}

/// The seven stages; `$pre` and `$post` answer.
macro_rules! whole {
    ($shelf:expr, $pre:expr, $post:expr) => {
        ServiceBuilder::new()
            .layer($shelf.stage().observer(|_: &CallView, _: &ToolResult| ()))
            .layer(PostExecuteLayer::new($post))
            .layer(PreDecisionLayer::new($pre))
            .layer(ApprovalLayer::new(|_: &ApprovalRequest| {
                ApprovalOutcome::AllowedOnce
            }))
            .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
            .layer(TimeoutLayer::declared())
            .layer(RetryLayer::new(std::num::NonZeroU32::new(2).unwrap()))
            .service(leaf())
    };
}

/// conformance: DISP-25
#[tokio::test(start_paused = true)]
async fn the_stages_allocate_no_more_than_they_did() {
    let allow = |_: &CallView| Decision::Allow;
    let accept = |_: &PostRequest| PostDecision::accept();
    let figures = [
        ("result, approval and guard alone", 1, 160, {
            measure(
                ServiceBuilder::new()
                    .layer(shelf(None).stage())
                    .layer(ApprovalLayer::unavailable())
                    .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
                    .service(leaf()),
            )
        }),
        (
            "all seven stages",
            1,
            288,
            measure(whole!(shelf(None), allow, accept)),
        ),
        ("asynchronous policy", 1, 288, {
            measure(whole!(
                shelf(None),
                |_: CallView| async { Decision::Allow },
                accept
            ))
        }),
        ("asynchronous post policy", 1, 288, {
            let accept = |_: PostRequest| async { PostDecision::accept() };
            measure(whole!(shelf(None), allow, accept))
        }),
        ("a boxed asynchronous policy", 2, 288, {
            type Later = std::pin::Pin<Box<dyn Future<Output = Decision> + Send>>;
            let boxed = |_: CallView| -> Later { Box::pin(async { Decision::Allow }) };
            measure(whole!(shelf(None), boxed, accept))
        }),
        ("an ask that is granted at once", 4, 288, {
            measure(whole!(
                shelf(None),
                |_: &CallView| Decision::ask("why"),
                accept
            ))
        }),
        ("a deadline", 3, 288, {
            measure(whole!(shelf(Some(Duration::from_secs(1))), allow, accept))
        }),
    ];
    for (what, allocations, size, (found, future)) in figures {
        println!("{what}: {found} allocations, a future of {future} bytes");
        assert!(
            found <= allocations,
            "{what}: {found} allocations, at most {allocations}"
        );
        assert!(
            future <= size,
            "{what}: a future of {future} bytes, at most {size}"
        );
    }
    nothing_is_left_behind();
}

/// Many calls under one long-lived token leave nothing on it.
fn nothing_is_left_behind() {
    let token = CancellationToken::new();
    let fused = Around(|mut inner: Leaf, call: ClearedCall| {
        inner.call(call.with_cancellation(CancellationToken::new()))
    });
    let mut stack = support::around(
        &shelf(None),
        fused,
        Leaf::new(|body: BodyContext| async move {
            let _own = body.cancellation().clone();
            support::polls(1).await;
            Ok(json!(1))
        }),
    );
    let mut run = |calls: usize| {
        let region = Region::new(COUNTED);
        for _ in 0..calls {
            let mut call = std::pin::pin!(stack.call(request_with("echo", &token)));
            let mut cx = Context::from_waker(Waker::noop());
            while call.as_mut().poll(&mut cx).is_pending() {}
        }
        let change = region.change();
        (
            change.allocations.abs_diff(change.deallocations),
            change.bytes_allocated.abs_diff(change.bytes_deallocated),
        )
    };
    run(10);
    // The harness's own thread allocates now and then; what calls leave behind
    // they leave behind every time.
    let kept = (0..5).map(|_| run(1_000)).min();
    assert_eq!(kept, Some((0, 0)), "allocations and bytes that stay");
}
