//! The guard stage: deny or abstain, and the way back.

mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use support::{
    Around, CallService as _, Leaf, Log, Shelf, Tool, around, assert_send, assert_shareable, bare,
    context, polls, request, request_with, texts,
};
use tokio_test::{assert_pending, assert_ready_ok, task};
use tokio_util::sync::CancellationToken;
use toolfall_layers::*;
use tower::ServiceBuilder;
use tower::limit::ConcurrencyLimitLayer;
use tower_layer::Layer as _;
use tower_service::Service as _;
use tower_test::mock;

fn decided() -> (DecidedCall, testing::Rest) {
    testing::decided_call(request("echo"))
}

fn abstaining() -> GuardLayer<impl Fn(&CallView) -> Option<Denial> + Clone> {
    GuardLayer::new(|_: &CallView| None)
}

fn denying(reason: &'static str) -> GuardLayer<impl Fn(&CallView) -> Option<Denial> + Clone> {
    GuardLayer::new(move |_: &CallView| Some(Denial::new(reason)))
}

/// A stack with `guard` over a body that must not run when it is refused.
fn guarded<G>(guard: GuardLayer<G>, ran: &Log) -> impl support::CallService
where
    G: Guard + Clone + Send + Sync + 'static,
{
    let (post, ran) = (ran.clone(), ran.clone());
    ServiceBuilder::new()
        .layer(Shelf::of(Tool::default()).stage())
        .layer(PostExecuteLayer::new(move |_: &PostRequest| {
            post.add("post");
            PostDecision::accept()
        }))
        .layer(ApprovalLayer::unavailable())
        .layer(guard)
        .service(Leaf::new(move |_| {
            ran.add("body");
            async { Ok(json!(1)) }
        }))
}

/// conformance: GUARD-02, EXEC-07, GUARD-12
#[tokio::test]
async fn an_abstaining_guard_passes_the_call_on_unchanged() {
    let (service, mut body) = mock::pair::<ClearedCall, ToolOutcome>();
    let guard = GuardLayer::new(|call: &CallView| {
        assert_eq!(call.arguments().unwrap().value(), &json!({"a": 1}));
        None::<Denial>
    });
    let mut guard = mock::Spawn::new(guard.layer(service));
    let (call, _rest) = decided();
    let token = call.token();
    assert_ready_ok!(guard.poll_ready());
    let mut outcome = task::spawn(guard.call(call));
    assert_pending!(outcome.poll());
    let (call, answer) = assert_request(&mut body);
    assert!(call.token() == token, "the same execution");
    assert!(!call.is_cancelled());
    answer.send_response(ToolOutcome::failure("as it is"));
    assert_eq!(assert_ready_ok!(outcome.poll()).message(), Some("as it is"));
}

type Request = (ClearedCall, mock::SendResponse<ToolOutcome>);

fn assert_request(handle: &mut mock::Handle<ClearedCall, ToolOutcome>) -> Request {
    let mut next = task::spawn(handle.next_request());
    match next.poll() {
        std::task::Poll::Ready(Some(request)) => request,
        other => panic!("expected a dispatched call, found {:?}", other.is_pending()),
    }
}

#[tokio::test]
async fn a_denied_call_never_reaches_the_inner_service() {
    let (service, mut body) = mock::pair::<ClearedCall, ToolOutcome>();
    let mut guard = mock::Spawn::new(denying("read only").layer(service));
    let (call, _rest) = decided();
    assert_ready_ok!(guard.poll_ready());
    let mut outcome = task::spawn(guard.call(call));
    let outcome = assert_ready_ok!(outcome.poll());
    assert!(outcome.is_denied());
    assert_eq!(outcome.decided_by(), Some(&DecidedBy::Guard(None)));
    assert!(task::spawn(body.next_request()).poll().is_pending());
}

/// conformance: EXEC-54
#[tokio::test]
async fn readiness_is_the_inner_services() {
    let (service, mut body) = mock::pair::<ClearedCall, ToolOutcome>();
    body.allow(0);
    let mut guard = mock::Spawn::new(abstaining().layer(service));
    assert_pending!(guard.poll_ready());
    body.allow(1);
    assert!(guard.is_woken());
    assert_ready_ok!(guard.poll_ready());
    // The mock panics if an instance that was not ready is called.
    let (call, _rest) = decided();
    let _outcome = guard.call(call);
    assert_request(&mut body);
    body.send_error("broken service");
    let error = guard.poll_ready();
    assert!(
        matches!(error, std::task::Poll::Ready(Err(_))),
        "and so are its errors"
    );
}

#[tokio::test]
async fn a_refused_call_gives_the_permit_back() {
    let (service, _body) = mock::pair::<ClearedCall, ToolOutcome>();
    let limited = ConcurrencyLimitLayer::new(1).layer(service);
    let mut other = mock::Spawn::new(limited.clone());
    let mut guard = mock::Spawn::new(denying("no").layer(limited));
    assert_ready_ok!(guard.poll_ready());
    assert_pending!(other.poll_ready::<ClearedCall>());
    let (call, _rest) = decided();
    let _outcome = guard.call(call);
    assert!(other.is_woken());
    assert_ready_ok!(other.poll_ready::<ClearedCall>());
}

#[tokio::test]
async fn the_inner_future_is_gone_while_the_stage_waits_for_a_body() {
    let limit = ConcurrencyLimitLayer::new(1);
    let shelf = Shelf::of(Tool::default());
    let (finish, finished) = tokio::sync::watch::channel(false);
    let leaf = Leaf::new(move |_| {
        let mut finished = finished.clone();
        async move {
            finished.wait_for(|finished| *finished).await.ok();
            Ok(json!(1))
        }
    });
    // Answers at once and leaves its dispatch behind.
    let hasty = Around(|mut inner: Leaf, call| {
        let body = inner.call(call);
        async move {
            drop(body);
            Ok(ToolOutcome::failure("too slow"))
        }
    });
    let mut limited = limit.layer(hasty.layer(leaf));
    let mut other = mock::Spawn::new(limited.clone());
    std::future::poll_fn(|cx| limited.poll_ready(cx))
        .await
        .unwrap();
    let (call, _rest) = testing::decided_call_in(&shelf.stage(), request("echo"));
    let mut guard = abstaining().layer(limited);
    std::future::poll_fn(|cx| guard.poll_ready(cx))
        .await
        .unwrap();
    let mut outcome = task::spawn(guard.call(call));
    assert_send(&outcome);
    assert_pending!(outcome.poll(), "the body is still running");
    assert_ready_ok!(other.poll_ready::<ClearedCall>());
    finish.send(true).unwrap();
    polls(3).await;
    assert!(outcome.is_woken());
    assert_eq!(assert_ready_ok!(outcome.poll()).message(), Some("too slow"));
}

/// conformance: GUARD-01, GUARD-16
#[tokio::test]
async fn a_denial_is_a_failure_without_a_code_and_goes_through_post_execute() {
    let ran = Log::default();
    let result = guarded(denying("not here"), &ran)
        .run(request("echo"))
        .await;
    assert_eq!(result.text(), "Error: not here");
    assert!(result.info().is_none());
    assert_eq!(result.kind(), Some(FailureKind::Denied));
    assert_eq!(result.effect(), Effect::NotStarted);
    assert_eq!(ran.entries(), ["post"]);
}

/// conformance: GUARD-15
#[tokio::test]
async fn an_empty_reason_denies_too() {
    let ran = Log::default();
    let result = guarded(denying(""), &ran).run(request("echo")).await;
    assert_eq!(result.text(), "Error: ");
    assert_eq!(ran.count("body"), 0);
}

/// conformance: GUARD-13
#[tokio::test]
async fn a_failing_guard_fails_the_call_and_skips_post_execute() {
    let ran = Log::default();
    let guard = GuardLayer::new(|_: &CallView| -> Result<Option<Denial>, CodedError> {
        Err(CodedError::new(
            "RulesError",
            "NO_RULES",
            "the rules are gone",
        ))
    });
    let result = guarded(guard, &ran).run(request("echo")).await;
    assert_eq!(result.text(), "Error: the rules are gone");
    assert_eq!(result.code(), Some("NO_RULES"));
    assert_eq!(result.kind(), Some(FailureKind::Policy));
    assert_eq!(result.decided_by(), Some(&DecidedBy::Guard(None)));
    assert!(ran.entries().is_empty());
}

/// conformance: GUARD-20
#[tokio::test]
async fn a_panicking_guard_fails_closed_and_poisons_nothing() {
    let ran = Log::default();
    let guards = GuardList::new();
    let panicking = guards.register(|_: &CallView| -> Option<Denial> { panic!("guard bug") });
    let stack = guarded(GuardLayer::with(guards.clone()), &ran);
    let result = stack.run(request("echo")).await;
    assert_eq!(result.text(), "Error: guard bug");
    assert_eq!(result.kind(), Some(FailureKind::Policy));
    assert!(ran.entries().is_empty(), "neither body nor post-execute");
    drop(panicking);
    assert!(!stack.run(request("echo")).await.is_error());
}

/// conformance: GUARD-03, GUARD-04, GUARD-07
#[tokio::test]
async fn the_first_reason_in_order_of_registration_wins() {
    let (guards, ran, asked) = (GuardList::new(), Log::default(), Log::default());
    let rule = |name: &'static str, denies: bool| {
        let asked = asked.clone();
        move |_: &CallView| {
            asked.add(name);
            denies.then(|| Denial::new(name).by_rule(name))
        }
    };
    let _first = guards.register(rule("first", false));
    let second = guards.register(rule("second", true));
    let third = guards.register(rule("third", true));
    let stack = guarded(GuardLayer::with(guards.clone()), &ran);
    let result = stack.run(request("echo")).await;
    assert_eq!(result.text(), "Error: second");
    assert_eq!(
        result.decided_by(),
        Some(&DecidedBy::Guard(Some("second".into())))
    );
    assert_eq!(asked.entries(), ["first", "second"]);
    // The same rule twice: lifting one leaves the other.
    let again = guards.register(rule("second", true));
    drop(second);
    assert_eq!(stack.run(request("echo")).await.text(), "Error: third");
    drop((third, again));
    assert!(!stack.run(request("echo")).await.is_error());
}

/// conformance: GUARD-10, GUARD-21
#[tokio::test]
async fn a_guard_registered_by_a_running_guard_takes_part_in_the_call() {
    let (guards, ran, order) = (GuardList::new(), Log::default(), Log::default());
    let kept = Arc::new(Mutex::new(Vec::new()));
    let (list, seen) = (guards.clone(), order.clone());
    let registration = guards.register(move |_: &CallView| {
        seen.add("first");
        let late = seen.clone();
        kept.lock()
            .unwrap()
            .push(list.register(move |_: &CallView| {
                late.add("late");
                Some(Denial::new("late"))
            }));
        None::<Denial>
    });
    let result = guarded(GuardLayer::with(guards), &ran)
        .run(request("echo"))
        .await;
    assert_eq!(result.text(), "Error: late");
    assert_eq!(order.entries(), ["first", "late"]);
    drop(registration);
}

/// conformance: GUARD-11
#[tokio::test]
async fn a_guard_that_replaces_itself_is_not_asked_twice_for_one_call() {
    let (guards, ran) = (GuardList::new(), Log::default());
    let own = Arc::new(Mutex::new(None::<GuardRegistration>));
    let (list, slot) = (guards.clone(), own.clone());
    let registration = guards.register(move |_: &CallView| {
        let mine = slot.lock().unwrap().take();
        drop(mine);
        let next = list.register(|_: &CallView| Some(Denial::new("replaced")));
        *slot.lock().unwrap() = Some(next);
        None::<Denial>
    });
    *own.lock().unwrap() = Some(registration);
    let stack = guarded(GuardLayer::with(guards), &ran);
    assert!(!stack.run(request("echo")).await.is_error());
    assert_eq!(stack.run(request("echo")).await.text(), "Error: replaced");
}

/// conformance: GUARD-22
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lift_that_returned_before_the_call_holds_while_others_come_and_go() {
    let (guards, ran) = (GuardList::new(), Log::default());
    let stack = guarded(GuardLayer::with(guards.clone()), &ran);
    let list = guards.clone();
    let churn = tokio::task::spawn_blocking(move || {
        for _ in 0..500 {
            drop(list.register(|_: &CallView| None::<Denial>));
        }
    });
    for _ in 0..100 {
        let deny = guards.register(|_: &CallView| Some(Denial::new("no")));
        assert!(stack.run(request("echo")).await.is_error());
        drop(deny);
        assert!(!stack.run(request("echo")).await.is_error());
    }
    churn.await.unwrap();
}

/// conformance: PRE-13, PRE-14
#[tokio::test]
async fn a_call_cancelled_before_the_guard_is_not_dispatched_but_guards_do_run() {
    let (token, seen) = (CancellationToken::new(), Log::default());
    let (cancel, guard_log, post_log) = (token.clone(), seen.clone(), seen.clone());
    let around_log = seen.clone();
    let stack = ServiceBuilder::new()
        .layer(Shelf::of(Tool::default()).stage())
        .layer(PostExecuteLayer::new(move |_: &PostRequest| {
            post_log.add("post");
            PostDecision::accept()
        }))
        .layer(PreDecisionLayer::new(move |_: CallView| {
            let cancel = cancel.clone();
            async move {
                polls(2).await;
                cancel.cancel();
                Decision::Allow
            }
        }))
        .layer(ApprovalLayer::unavailable())
        .layer(GuardLayer::new(move |_: &CallView| {
            guard_log.add("guard");
            None::<Denial>
        }))
        .layer(Around(move |mut inner: Leaf, call| {
            around_log.add("around");
            inner.call(call)
        }))
        .service(Leaf::returning(1));
    let result = stack.run(request_with("echo", &token)).await;
    assert_eq!(result.code(), Some(codes::ABORTED_BEFORE_DISPATCH));
    assert_eq!(result.effect(), Effect::NotStarted);
    assert_eq!(seen.entries(), ["guard", "post"]);
}

/// conformance: GUARD-14
#[tokio::test]
async fn a_guards_denial_wins_over_a_cancellation() {
    let token = CancellationToken::new();
    let (call, _rest) = testing::decided_call(request_with("echo", &token));
    token.cancel();
    let (service, _body) = mock::pair::<ClearedCall, ToolOutcome>();
    let mut guard = mock::Spawn::new(denying("never").layer(service));
    assert_ready_ok!(guard.poll_ready());
    let outcome = guard.call(call).await.unwrap();
    assert!(outcome.is_denied());
    assert_eq!(outcome.message(), Some("never"));
}

/// conformance: GUARD-05, PRE-09
#[tokio::test]
async fn an_outer_allow_undoes_an_inner_listener_but_never_a_guard() {
    // One policy made of two listeners: the outer overrules the inner.
    let inner = |_: &CallView| Decision::deny("inner");
    let waterfall = move |call: &CallView| {
        assert_eq!(inner(call).strictness(), 2);
        Decision::Allow
    };
    let stack = |reason: Option<&'static str>| {
        ServiceBuilder::new()
            .layer(Shelf::of(Tool::default()).stage())
            .layer(PreDecisionLayer::new(waterfall))
            .layer(ApprovalLayer::unavailable())
            .layer(GuardLayer::new(move |_: &CallView| reason.map(Denial::new)))
            .service(Leaf::returning(1))
    };
    assert!(!stack(None).run(request("echo")).await.is_error());
    let result = stack(Some("guarded")).run(request("echo")).await;
    assert_eq!(result.text(), "Error: guarded");
}

/// conformance: DISP-05, DISP-06
#[tokio::test]
async fn a_success_made_by_a_wrapper_is_rendered_by_the_tool() {
    let shelf = Shelf::of(Tool::default());
    let author = Around(|_: Leaf, _| async {
        Ok(ToolOutcome::success(json!(7))
            .with_content(vec![ContentBlock::text("forged")])
            .with_context(context("kept")))
    });
    let result = around(&shelf, author, Leaf::returning(1))
        .run(request("echo"))
        .await;
    assert_eq!(result.text(), "value: 7");
    assert_eq!(result.value(), Some(&json!(7)));
    assert_eq!(texts(result.contexts()), ["kept"]);
    assert_eq!(result.effect(), Effect::NotStarted);
}

/// conformance: DISP-07
#[tokio::test]
async fn a_failure_made_by_a_wrapper_is_kept_verbatim() {
    let author = Around(|_: Leaf, _| async {
        Ok(ToolOutcome::failure("cached failure")
            .with_info(ErrorInfo::new("CacheError", "CACHED"))
            .with_content(vec![ContentBlock::text("my words")])
            .with_meta(json!({"from": "cache"}))
            .with_context(context("kept")))
    });
    let shelf = Shelf::of(Tool::default());
    let result = around(&shelf, author, Leaf::returning(1))
        .run(request("echo"))
        .await;
    assert_eq!(result.text(), "my words");
    assert_eq!(result.message(), Some("cached failure"));
    assert_eq!(result.code(), Some("CACHED"));
    assert_eq!(result.meta(), Some(&json!({"from": "cache"})));
    assert_eq!(texts(result.contexts()), ["kept"]);
}

/// conformance: DISP-08
#[tokio::test]
async fn a_changed_copy_of_a_success_is_rendered_again() {
    let renders = Log::default();
    let seen = renders.clone();
    let shelf = Shelf::of(Tool {
        render: Some(Box::new(move |value| {
            seen.add("render");
            Ok(format!("shown {value}"))
        })),
        ..Tool::default()
    });
    let decorate = Around(|mut inner: Leaf, call| async move {
        let outcome = inner.call(call).await?;
        Ok(outcome
            .with_content(vec![ContentBlock::text("forged")])
            .with_meta(json!("forged"))
            .with_context(context("added")))
    });
    let result = around(&shelf, decorate, Leaf::returning(3))
        .run(request("echo"))
        .await;
    assert_eq!(result.text(), "shown 3");
    assert_eq!(result.meta(), Some(&json!({"shown": true})));
    assert_eq!(texts(result.contexts()), ["added"]);
    assert_eq!(renders.count("render"), 2);
}

/// conformance: DISP-09, DISP-10
#[tokio::test]
async fn a_wrappers_success_that_the_tool_cannot_vouch_for_is_final() {
    let post = Log::default();
    let run = async |shelf: Shelf| {
        let post = post.clone();
        let stack = ServiceBuilder::new()
            .layer(shelf.stage())
            .layer(PostExecuteLayer::new(move |_: &PostRequest| {
                post.add("post");
                PostDecision::accept()
            }))
            .layer(ApprovalLayer::unavailable())
            .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
            .layer(Around(move |_: Leaf, _| {
                let shelf = shelf.clone();
                async move {
                    if shelf.generation() == 9 {
                        shelf.put(None);
                    }
                    Ok(ToolOutcome::success(json!(7)))
                }
            }))
            .service(Leaf::returning(1));
        stack.run(request("echo")).await
    };
    let strict = Shelf::of(Tool {
        render: Some(Box::new(|_| Err("\"value\" must be a string".into()))),
        ..Tool::default()
    });
    let result = run(strict).await;
    assert_eq!(result.code(), Some(codes::INVALID_TOOL_OUTPUT));
    assert!(result.value().is_none());

    let leaving = Shelf::default();
    while leaving.generation() < 9 {
        leaving.put(Some(Arc::new(Tool::default())));
    }
    let result = run(leaving).await;
    assert_eq!(result.code(), Some(codes::UNKNOWN_TOOL));
    assert_eq!(result.text(), "Error: unknown tool \"echo\"");
    assert!(post.entries().is_empty());
}

/// conformance: FINAL-09
#[tokio::test]
async fn a_renderer_that_panics_on_a_wrappers_value_is_a_broken_output() {
    let shelf = Shelf::of(Tool {
        render: Some(Box::new(|_| panic!("render bug"))),
        ..Tool::default()
    });
    let author = Around(|_: Leaf, _| async { Ok(ToolOutcome::success(json!(7))) });
    let result = around(&shelf, author, Leaf::returning(1))
        .run(request("echo"))
        .await;
    assert_eq!(result.code(), Some(codes::INVALID_TOOL_OUTPUT));
    assert!(
        result.text().contains("output.render failed: render bug"),
        "{}",
        result.text()
    );
}

/// conformance: DISP-11, DISP-37
#[tokio::test]
async fn a_result_is_trusted_only_for_the_call_that_produced_it() {
    let renders = Log::default();
    let seen = renders.clone();
    let shelf = Shelf::of(Tool {
        render: Some(Box::new(move |value| {
            seen.add("render");
            if value == &json!("a") {
                Ok("a".into())
            } else {
                Err("only \"a\" here".into())
            }
        })),
        ..Tool::default()
    });
    let cache: Arc<Mutex<Option<ToolOutcome>>> = Arc::default();
    let slot = cache.clone();
    let keep = Around(move |mut inner: Leaf, call| {
        let slot = slot.clone();
        async move {
            let outcome = inner.call(call).await?;
            *slot.lock().unwrap() = Some(outcome);
            Ok(slot.lock().unwrap().clone().unwrap())
        }
    });
    let first = around(&shelf, keep, Leaf::returning("a"))
        .run(request("echo"))
        .await;
    assert!(!first.is_error());
    assert_eq!(
        renders.count("render"),
        1,
        "the call's own object is not rendered again"
    );

    let ran = Log::default();
    let entered = ran.clone();
    let replay = Around(move |_: Leaf, _| {
        let cached = cache.lock().unwrap().clone().unwrap();
        async move { Ok(cached) }
    });
    let other = Shelf::of(Tool {
        render: Some(Box::new(|_| Err("\"value\" must be a number".into()))),
        ..Tool::default()
    });
    let leaf = Leaf::new(move |_| {
        entered.add("body");
        async { Ok(json!(1)) }
    });
    let second = around(&other, replay, leaf).run(request("other")).await;
    assert_eq!(second.code(), Some(codes::INVALID_TOOL_OUTPUT));
    assert!(ran.entries().is_empty());
}

/// conformance: CANCEL-06, CANCEL-10, CTX-05
#[tokio::test]
async fn a_cancellation_replaces_a_success_on_the_way_back_and_keeps_contexts() {
    let shelf = Shelf::of(Tool::default());
    let token = CancellationToken::new();
    let cancel = token.clone();
    let author = Around(move |_: Leaf, _| {
        cancel.cancel();
        async { Ok(ToolOutcome::success(json!(7)).with_context(context("wrapper"))) }
    });
    let never = around(&shelf, author, Leaf::returning(1));
    let result = never.run(request_with("echo", &token)).await;
    assert_eq!(result.code(), Some(codes::ABORTED_BEFORE_DISPATCH));
    assert_eq!(texts(result.contexts()), ["wrapper"]);

    let token = CancellationToken::new();
    let cancel = token.clone();
    let late = Around(move |mut inner: Leaf, call| {
        let cancel = cancel.clone();
        async move {
            let outcome = inner.call(call).await?;
            cancel.cancel();
            Ok(outcome)
        }
    });
    let leaf = Leaf::new(|body: BodyContext| async move {
        body.defer_context(context("body"));
        Ok(json!(1))
    });
    let result = around(&shelf, late, leaf)
        .run(request_with("echo", &token))
        .await;
    assert_eq!(result.code(), Some(codes::ABORTED));
    assert_eq!(texts(result.contexts()), ["body"]);
    assert_eq!(result.effect(), Effect::Stopped);
}

/// conformance: DISP-12, DISP-13
#[tokio::test]
async fn a_failing_wrapper_skips_post_execute_and_drops_contexts() {
    let seen = Log::default();
    let post = seen.clone();
    let stack = ServiceBuilder::new()
        .layer(Shelf::of(Tool::default()).stage())
        .layer(PostExecuteLayer::new(move |_: &PostRequest| {
            post.add("post");
            PostDecision::accept()
        }))
        .layer(ApprovalLayer::unavailable())
        .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
        .layer(Around(|mut inner: Leaf, call| async move {
            inner.call(call).await?;
            Err("wrapper broke".into())
        }))
        .service(Leaf::new(|body: BodyContext| async move {
            body.defer_context(context("lost"));
            Ok(json!(1))
        }));
    let result = stack.run(request("echo")).await;
    assert_eq!(result.text(), "Error: wrapper broke");
    assert!(result.contexts().is_empty());
    assert!(seen.entries().is_empty());
}

/// conformance: GUARD-19
#[tokio::test]
async fn guards_apply_to_nested_calls_as_to_direct_ones() {
    let ran = Log::default();
    let stack = guarded(denying("no"), &ran);
    let (parent, rest) = testing::cleared_call(request("outer"));
    let nested = request("inner").nested_in(parent.token(), parent.id().clone());
    assert_eq!(stack.run(nested).await.text(), "Error: no");
    drop((parent, rest));
}

#[tokio::test]
async fn services_and_futures_may_be_shared_and_spawned() {
    let (service, _body) = mock::pair::<ClearedCall, ToolOutcome>();
    let guard = abstaining().layer(service);
    assert_shareable(&guard);
    let stack = bare(&Shelf::of(Tool::default()), Leaf::returning(1));
    assert_shareable(&stack);
    let spawned = tokio::spawn(async move { stack.run(request("echo")).await });
    let result = tokio::time::timeout(Duration::from_secs(60), spawned)
        .await
        .unwrap();
    assert!(!result.unwrap().is_error());
}
