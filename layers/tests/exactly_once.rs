//! One result, one notification, and the truth about the effect: for every
//! shape of a call, whatever is dropped, panics or is cancelled, and whenever.

mod support;

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use support::chaos::{Body, Books, Chaos, Mischief, Shape, Wrap};
use support::request_with;
use tokio_util::sync::CancellationToken;
use toolfall_layers::turn::{Mark, turn};
use toolfall_layers::*;
use tower_service::Service as _;

/// How a run went.
struct Run {
    books: Arc<Books>,
    returned: Option<ToolResult>,
    place: Option<&'static str>,
    polls: usize,
    context: String,
}

impl Run {
    /// Checks the books and gives back the one result.
    fn close(&self) -> ToolResult {
        let result = self.books.close(&self.context);
        if let Some(returned) = &self.returned {
            assert!(
                returned.ptr_eq(&result),
                "{}: another result came back",
                self.context
            );
        }
        if !result.is_error() {
            assert!(result.value().is_some(), "{}", self.context);
        }
        result
    }
}

/// Runs one call; its future is dropped after `limit` polls.
fn run(shape: &Shape, mischief: Mischief, target: usize, limit: usize, in_batch: bool) -> Run {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let token = CancellationToken::new();
    let chaos = Chaos::new(mischief, target, token.clone());
    let books = Arc::new(Books::default());
    let mut stack = shape.stack(&chaos, &books);
    let mut request = request_with("echo", &token);
    let mut control = None;
    if in_batch {
        let (place, side) = turn(std::task::Waker::noop().clone());
        side.release();
        request = request.with_turn(place);
        control = Some(side);
    }
    let mut polls = 0;
    let returned = runtime.block_on(async {
        if let Some(at) = shape.cancel_at {
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(at)).await;
                token.cancel();
            });
        }
        chaos.arm();
        let mut call = Box::pin(stack.call(request));
        let whole = std::future::poll_fn(|cx| {
            if polls == limit {
                return Poll::Ready(None);
            }
            polls += 1;
            call.as_mut().poll(cx).map(Some)
        });
        let ended = tokio::time::timeout(Duration::from_secs(86_400), whole).await;
        let returned = ended.unwrap_or_else(|_| panic!("{} hangs", shape.name));
        drop(call);
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        returned.map(Result::unwrap)
    });
    drop(stack);
    let place = chaos.place();
    let context = format!("{}, {mischief:?} at {place:?}, {polls} polls", shape.name);
    if let Some(control) = control {
        assert!(control.has(Mark::Done), "{context}: the turn is not done");
    }
    Run {
        books,
        returned,
        place,
        polls,
        context,
    }
}

const NEVER: usize = usize::MAX;

fn shapes() -> Vec<Shape> {
    let ask = Decision::ask("why");
    vec![
        Shape::new("success", Body::Quick),
        Shape::new("body fails", Body::Fails),
        Shape::new("body panics", Body::Panics),
        Shape::new("retried", Body::Flaky),
        Shape {
            decision: Decision::deny("no"),
            ..Shape::new("denied", Body::Quick)
        },
        Shape {
            decision: ask.clone(),
            ..Shape::new("granted", Body::Quick)
        },
        Shape {
            decision: ask,
            approval: ApprovalOutcome::Rejected,
            ..Shape::new("rejected", Body::Quick)
        },
        Shape {
            guard_denies: true,
            ..Shape::new("guard denied", Body::Quick)
        },
        Shape {
            policy_fails: true,
            ..Shape::new("policy error", Body::Quick)
        },
        Shape {
            budget: Some(50),
            ..Shape::new("timed out", Body::Cooperative)
        },
        Shape {
            budget: Some(50),
            ..Shape::new("timed out late", Body::Deaf)
        },
        Shape {
            budget: Some(50),
            grace: Some(20),
            ..Shape::new("given up", Body::Deaf)
        },
        Shape {
            budget: Some(50),
            grace: Some(20),
            inner: Wrap::Spawn,
            ..Shape::new("given up while spawned", Body::Deaf)
        },
        Shape {
            cancel_at: Some(5),
            ..Shape::new("cancelled", Body::Cooperative)
        },
        Shape {
            cancel_at: Some(5),
            ..Shape::new("cancelled late", Body::Deaf)
        },
        Shape {
            outer: Wrap::Race(40),
            inner: Wrap::Race(20),
            ..Shape::new("raced", Body::Deaf)
        },
        Shape {
            outer: Wrap::Race(20),
            inner: Wrap::Race(40),
            ..Shape::new("raced by the outer", Body::Cooperative)
        },
        Shape {
            outer: Wrap::Race(20),
            inner: Wrap::Spawn,
            ..Shape::new("raced while spawned", Body::Deaf)
        },
        Shape {
            inner: Wrap::Break,
            ..Shape::new("wrapper breaks", Body::DeafAndFails)
        },
        Shape {
            outer: Wrap::Author,
            ..Shape::new("authored", Body::Quick)
        },
        Shape {
            inner: Wrap::Spawn,
            ..Shape::new("spawned", Body::Quick)
        },
    ]
}

#[test]
fn every_shape_ends_as_it_should_when_nothing_goes_wrong() {
    let expected = [
        ("success", None, None, Effect::Stopped),
        ("body fails", None, Some("body failed"), Effect::Stopped),
        ("body panics", None, Some("body panicked"), Effect::Stopped),
        ("retried", None, None, Effect::Stopped),
        ("denied", None, Some("no"), Effect::NotStarted),
        ("granted", None, None, Effect::Stopped),
        (
            "rejected",
            None,
            Some("the user rejected tool \"echo\""),
            Effect::NotStarted,
        ),
        (
            "guard denied",
            None,
            Some("guard denied"),
            Effect::NotStarted,
        ),
        (
            "policy error",
            None,
            Some("policy failed"),
            Effect::NotStarted,
        ),
        (
            "timed out",
            Some(codes::TOOL_TIMEOUT),
            Some("tool call timed out after 50ms"),
            Effect::Stopped,
        ),
        (
            "timed out late",
            Some(codes::TOOL_TIMEOUT),
            Some("tool call timed out after 50ms"),
            Effect::Stopped,
        ),
        (
            "given up",
            Some(codes::TOOL_TIMEOUT),
            Some("tool call timed out after 50ms"),
            Effect::Unknown,
        ),
        (
            "given up while spawned",
            Some(codes::TOOL_TIMEOUT),
            Some("tool call timed out after 50ms"),
            Effect::Unknown,
        ),
        (
            "cancelled",
            Some(codes::ABORTED),
            Some("tool call aborted"),
            Effect::Stopped,
        ),
        (
            "cancelled late",
            Some(codes::ABORTED),
            Some("tool call aborted"),
            Effect::Stopped,
        ),
        ("raced", None, Some("raced"), Effect::Stopped),
        ("raced by the outer", None, Some("raced"), Effect::Stopped),
        ("raced while spawned", None, Some("raced"), Effect::Stopped),
        (
            "wrapper breaks",
            None,
            Some("wrapper broke"),
            Effect::Stopped,
        ),
        ("authored", None, None, Effect::NotStarted),
        ("spawned", None, None, Effect::Stopped),
    ];
    for (shape, (name, code, message, effect)) in shapes().iter().zip(expected) {
        assert_eq!(shape.name, name);
        for in_batch in [false, true] {
            let run = run(shape, Mischief::Nothing, NEVER, NEVER, in_batch);
            let result = run.close();
            assert_eq!(result.code(), code, "{name}");
            assert_eq!(result.message(), message, "{name}");
            assert_eq!(result.effect(), effect, "{name}");
            assert!(run.returned.is_some());
            let bodies = if name == "retried" || name == "body fails" || name == "body panics" {
                2
            } else {
                usize::from(effect != Effect::NotStarted)
            };
            assert_eq!(run.books.entered(), bodies, "{name}");
        }
    }
}

/// conformance: CANCEL-20, CANCEL-21
#[test]
fn a_call_dropped_after_any_of_its_polls_ends_once() {
    let mut runs = 0;
    for shape in shapes() {
        for in_batch in [false, true] {
            for limit in 0.. {
                let run = run(&shape, Mischief::Nothing, NEVER, limit, in_batch);
                let result = run.close();
                runs += 1;
                if run.returned.is_some() {
                    break;
                }
                assert_eq!(run.polls, limit);
                assert!(result.is_error(), "{}: {}", run.context, result.text());
                if run.books.entered() == 0 {
                    let told = result.code();
                    assert_eq!(
                        told,
                        Some(codes::ABORTED_BEFORE_DISPATCH),
                        "{}",
                        run.context
                    );
                } else {
                    // `Aborted`, or the failure of a body of its own.
                    assert!(
                        matches!(
                            result.kind(),
                            Some(FailureKind::Cancelled | FailureKind::Body)
                        ),
                        "{}: {:?}",
                        run.context,
                        result.kind()
                    );
                }
            }
        }
    }
    assert!(runs > 400, "only {runs} runs");
}

/// conformance: DISP-34, POST-25, FINAL-31
#[test]
fn a_panic_in_any_hook_ends_the_call_once() {
    let mut runs = 0;
    for shape in shapes() {
        for target in 0.. {
            let run = run(&shape, Mischief::Panic, target, NEVER, target % 2 == 0);
            let result = run.close();
            runs += 1;
            let Some(place) = run.place else { break };
            assert!(run.returned.is_some(), "{}", run.context);
            // What runs after the outcome is settled cannot change it, and the
            // rest fails closed.
            let harmless = ["observer", "recorder result", "tool has_finalizer"];
            let decides = [
                "pre ask",
                "pre poll",
                "pre sync",
                "pre drop",
                "approver ask",
                "approver poll",
                "approver drop",
                "guard",
                "recorder call",
                "recorder poll",
                "tool check",
            ];
            if decides.contains(&place) {
                assert!(result.is_error(), "{}", run.context);
                assert_eq!(run.books.entered(), 0, "{}: a body ran", run.context);
            }
            if !result.is_error() && !harmless.contains(&place) {
                // The first look-up may fail: the tool is looked up again.
                // A retry may make good for a body. A destructor after the answer
                // is too late.
                assert!(
                    place.starts_with("catalog")
                        || place.starts_with("body")
                        || place.ends_with("drop"),
                    "{}: {}",
                    run.context,
                    result.text()
                );
            }
        }
    }
    assert!(runs > 600, "only {runs} runs");
}

#[test]
fn a_cancellation_at_any_hook_ends_the_call_once_with_the_right_code() {
    let mut runs = 0;
    for shape in shapes() {
        for target in 0.. {
            let run = run(&shape, Mischief::Cancel, target, NEVER, target % 2 == 0);
            let result = run.close();
            runs += 1;
            let Some(place) = run.place else { break };
            assert!(run.returned.is_some(), "{}", run.context);
            let too_late = ["observer", "recorder result", "tool finalize", "post drop"];
            if !too_late.contains(&place) {
                assert!(result.is_error(), "{}: {}", run.context, result.text());
            }
        }
    }
    assert!(runs > 600, "only {runs} runs");
}

/// A panic, and then the caller goes away at every later poll.
#[test]
fn a_panic_and_a_drop_together_end_the_call_once() {
    let shapes = shapes();
    let chosen = ["success", "granted", "raced", "wrapper breaks", "given up"];
    for shape in shapes.iter().filter(|shape| chosen.contains(&shape.name)) {
        for target in (0..).step_by(3) {
            let whole = run(shape, Mischief::Panic, target, NEVER, false);
            whole.close();
            if whole.place.is_none() {
                break;
            }
            for limit in (0..whole.polls).step_by(2) {
                run(shape, Mischief::Panic, target, limit, true).close();
            }
        }
    }
}
