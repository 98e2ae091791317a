//! Pre-decision policies and guards through the assembled pipeline.

#[path = "support/facade.rs"]
mod support;

use std::sync::{Arc, Mutex};

use support::{Counter, Log, echo, registry, request, returns};
use tokio_util::sync::CancellationToken;
use toolfall::{
    BoxError, CallView, CodedError, Decision, Denial, Effect, FailureKind, GuardList,
    GuardRegistration, Pipeline, PostDecision, PostRequest, Registry, ToolOutcome, ToolResult,
    tool_fn,
};

/// Names the stages that were reached.
fn traced(
    registry: Registry,
    log: &Log,
    decide: impl Fn(&CallView) -> Result<Decision, CodedError> + Clone + Send + Sync + 'static,
    guard: impl Fn(&CallView) -> Result<Option<Denial>, CodedError> + Clone + Send + Sync + 'static,
) -> toolfall::pipeline::BoxPipeline {
    let [pre, guarded, around, post, told] = std::array::from_fn(|_| log.clone());
    Pipeline::builder(registry)
        .pre_decision(move |call: &CallView| {
            pre.push("pre");
            decide(call)
        })
        .guard(move |call: &CallView| {
            guarded.push("guard");
            guard(call)
        })
        .around(tower::util::MapResponseLayer::new(
            move |outcome: ToolOutcome| {
                around.push("around");
                outcome
            },
        ))
        .post_execute(move |_: &PostRequest| {
            post.push("post");
            PostDecision::accept()
        })
        .observer(move |_: &CallView, _: &ToolResult| told.push("notify"))
        .build()
        .boxed()
}

/// conformance: EXEC-50, PRE-01, PRE-02, PRE-03, PRE-04, PRE-05, PRE-11, PRE-12, PRE-23, GUARD-01,
/// GUARD-02, GUARD-13, GUARD-15, GUARD-16, GUARD-20, OUT-19, OUT-26
#[tokio::test]
async fn what_a_policy_says_is_what_the_model_reads() {
    let runs = Counter::default();
    let log = Log::default();
    let pipeline = traced(
        registry([returns("t", "ran".into(), &runs)]),
        &log,
        |call| match call.id().as_str() {
            "deny" => Ok(Decision::deny("not on Sundays")),
            "fail" => Err(CodedError::new(
                "HookError",
                "HOOK",
                "permission hook broke",
            )),
            "panic" => panic!("permission hook fell"),
            _ => Ok(Decision::Allow),
        },
        |call| match call.id().as_str() {
            "guarded" => Ok(Some(Denial::new("read only"))),
            "empty" => Ok(Some(Denial::new(""))),
            "guard-fail" => Err(CodedError::new("GuardError", "GUARD", "guard broke")),
            "guard-panic" => panic!("guard fell"),
            _ => Ok(None),
        },
    );
    let all = ["pre", "guard", "around", "post"].as_slice();
    for (id, text, code, kind, stages) in [
        ("plain", "ran", None, None, all),
        (
            "deny",
            "Error: not on Sundays",
            None,
            Some(FailureKind::Denied),
            &["pre", "post"],
        ),
        (
            "fail",
            "Error: permission hook broke",
            Some("HOOK"),
            Some(FailureKind::Policy),
            &["pre"],
        ),
        (
            "panic",
            "Error: permission hook fell",
            None,
            Some(FailureKind::Policy),
            &["pre"],
        ),
        (
            "guarded",
            "Error: read only",
            None,
            Some(FailureKind::Denied),
            &["pre", "guard", "post"],
        ),
        (
            "empty",
            "Error: ",
            None,
            Some(FailureKind::Denied),
            &["pre", "guard", "post"],
        ),
        (
            "guard-fail",
            "Error: guard broke",
            Some("GUARD"),
            Some(FailureKind::Policy),
            &["pre", "guard"],
        ),
        (
            "guard-panic",
            "Error: guard fell",
            None,
            Some(FailureKind::Policy),
            &["pre", "guard"],
        ),
        ("again", "ran", None, None, all),
    ] {
        let ran = runs.get();
        let result = pipeline.call(id, "t", "{}", CancellationToken::new()).await;
        assert_eq!(
            (result.text().as_str(), result.code(), result.kind()),
            (text, code, kind),
            "{id}"
        );
        let mut reached = log.take();
        assert_eq!(reached.pop().as_deref(), Some("notify"), "{id}");
        assert_eq!(reached, stages, "{id}");
        assert_eq!(runs.get() - ran, usize::from(text == "ran"), "{id}");
        assert!(
            !result.is_error() || result.effect() == Effect::NotStarted,
            "{id}"
        );
        assert_eq!(
            result.message().map(|message| format!("Error: {message}")),
            result.is_error().then(|| text.to_owned())
        );
    }
}

/// conformance: PRE-07, PRE-08, PRE-09
#[tokio::test]
async fn listeners_of_one_stage_delegate_or_do_not() {
    use tower::{Service, ServiceExt, service_fn};
    let log = Log::<String>::default();
    let [outer_log, inner_log, body_log] = std::array::from_fn(|_| log.clone());
    let inner = service_fn(move |call: CallView| {
        inner_log.push("inner");
        async move {
            Ok::<_, toolfall::BoxError>(match call.id().as_str() {
                "overruled" => Decision::deny("inner"),
                _ => Decision::Allow,
            })
        }
    });
    // One policy that is a stack: the outer listener may delegate.
    let outer = service_fn(move |call: CallView| {
        let (log, mut inner) = (outer_log.clone(), inner.clone());
        async move {
            if call.id().as_str() == "short" {
                return Ok(Decision::deny("outer"));
            }
            log.push("before");
            let decision = inner.ready().await?.call(call).await?;
            log.push("after");
            Ok::<_, toolfall::BoxError>(match decision {
                Decision::Deny(_) => Decision::Allow,
                other => other,
            })
        }
    });
    let tool = tool_fn("t", "", move |_: serde_json::Value, _| {
        body_log.push("body");
        async { Ok::<_, toolfall::BoxError>("ran") }
    });
    let pipeline = Pipeline::builder(registry([tool]))
        .pre_decision(outer)
        .build();
    let run = |id: &'static str| pipeline.call(id, "t", "{}", CancellationToken::new());
    assert_eq!(run("plain").await.text(), "ran");
    assert_eq!(log.take(), ["before", "inner", "after", "body"]);
    assert_eq!(run("overruled").await.text(), "ran");
    assert_eq!(log.take(), ["before", "inner", "after", "body"]);
    assert_eq!(run("short").await.text(), "Error: outer");
    assert_eq!(log.take(), [""; 0]);
}

/// conformance: PRE-13, PRE-14, PRE-15, PRE-16, PRE-17, GUARD-14
#[tokio::test(start_paused = true)]
async fn a_cancellation_waits_for_the_policy_and_changes_no_refusal() {
    let runs = Counter::default();
    for (id, text, posts) in [
        ("allow", "Error: tool call aborted before dispatch", 1),
        ("deny", "Error: policy denied the call", 1),
        ("fail", "Error: policy broke", 0),
        ("guard", "Error: guarded", 1),
    ] {
        let posted = Counter::default();
        let count = posted.clone();
        let gate = Arc::new(tokio::sync::Notify::new());
        let opened = gate.clone();
        let pipeline = Pipeline::builder(registry([returns("t", 1.into(), &runs)]))
            .pre_decision(move |call: CallView| {
                let opened = opened.clone();
                async move {
                    opened.notified().await;
                    match call.id().as_str() {
                        "deny" => Ok(Decision::deny("policy denied the call")),
                        "fail" => Err("policy broke"),
                        _ => Ok(Decision::Allow),
                    }
                }
            })
            .guard(|call: &CallView| {
                (call.id().as_str() == "guard").then(|| Denial::new("guarded"))
            })
            .post_execute(move |_: &PostRequest| {
                count.add();
                PostDecision::accept()
            })
            .build();
        let cancel = CancellationToken::new();
        let mut call = tokio_test::task::spawn(pipeline.call(id, "t", "{}", cancel.clone()));
        assert!(call.poll().is_pending());
        cancel.cancel();
        assert!(call.poll().is_pending(), "the policy is never abandoned");
        gate.notify_one();
        let result = call.await;
        assert_eq!(
            (result.text().as_str(), posted.get()),
            (text, posts),
            "{id}"
        );
        assert_eq!(runs.get(), 0);
    }
}

/// conformance: GUARD-03, GUARD-04, GUARD-05, GUARD-07
#[tokio::test]
async fn the_first_guard_that_denies_wins_and_each_registration_counts() {
    let guards = GuardList::new();
    let asked = Log::<String>::default();
    let guard = |name: &'static str, denies: bool| {
        let asked = asked.clone();
        move |_: &CallView| {
            asked.push(name);
            denies.then(|| Denial::new(name))
        }
    };
    let _first = guards.register(guard("abstains", false));
    let second = guards.register(guard("second", true));
    let third = guards.register(guard("third", true));
    let pipeline = Pipeline::builder(registry([echo("t")]))
        .pre_decision(|_: &CallView| Decision::Allow)
        .guard(guards)
        .build();
    assert_eq!(
        pipeline.run(request("t", "{}")).await.text(),
        "Error: second"
    );
    assert_eq!(asked.take(), ["abstains", "second"]);
    drop(second);
    assert_eq!(
        pipeline.run(request("t", "{}")).await.text(),
        "Error: third"
    );
    drop(third);
    assert_eq!(pipeline.run(request("t", "{}")).await.text(), "{}");
}

/// conformance: GUARD-10, GUARD-21
#[tokio::test]
async fn a_guard_registered_by_a_guard_counts_at_once() {
    let guards = GuardList::new();
    let late: Arc<Mutex<Option<GuardRegistration>>> = Arc::default();
    let registry = registry([echo("t")]);
    let (list, known, held) = (guards.clone(), registry.clone(), late.clone());
    let _first = guards.register(move |call: &CallView| {
        assert!(known.contains(call.name(), None));
        let registered = list.register(|_: &CallView| Some(Denial::new("late")));
        *held.lock().unwrap() = Some(registered);
        None::<Denial>
    });
    let pipeline = Pipeline::builder(registry).guard(guards).build();
    assert_eq!(pipeline.run(request("t", "{}")).await.text(), "Error: late");
    drop(late.lock().unwrap().take());
}

/// conformance: GUARD-11
#[tokio::test]
async fn a_guard_that_replaces_itself_counts_from_the_next_call() {
    let guards = GuardList::new();
    let own: Arc<Mutex<Vec<GuardRegistration>>> = Arc::default();
    let (list, held) = (guards.clone(), own.clone());
    let registration = guards.register(move |_: &CallView| {
        let lifted = held.lock().unwrap().pop();
        drop(lifted);
        let next = list.register(|_: &CallView| Some(Denial::new("replacement")));
        held.lock().unwrap().push(next);
        None::<Denial>
    });
    own.lock().unwrap().push(registration);
    let pipeline = Pipeline::builder(registry([echo("t")]))
        .guard(guards)
        .build();
    assert_eq!(pipeline.run(request("t", "{}")).await.text(), "{}");
    assert_eq!(
        pipeline.run(request("t", "{}")).await.text(),
        "Error: replacement"
    );
    own.lock().unwrap().clear();
}

/// conformance: GUARD-17
#[tokio::test]
async fn guards_change_no_tools() {
    let registry = registry([echo("t")]);
    let changes = registry.changes();
    let guards = GuardList::new();
    drop(guards.register(|_: &CallView| Some(Denial::new("no"))));
    assert!(!changes.has_changed().unwrap());
}

/// conformance: GUARD-19
#[tokio::test]
async fn a_guard_judges_the_calls_of_a_tool_like_any_other() {
    let ran = Counter::default();
    let outer = tool_fn(
        "outer",
        "",
        |_: serde_json::Value, ctx: toolfall::ToolContext| async move {
            Ok::<_, toolfall::BoxError>(ctx.call_tool("inner", "{}").await?.text())
        },
    );
    let pipeline = Pipeline::builder(registry([outer, returns("inner", 1.into(), &ran)]))
        .guard(|call: &CallView| (call.name() == "inner").then(|| Denial::new("not inside either")))
        .build();
    assert_eq!(
        pipeline.run(request("outer", "{}")).await.text(),
        "Error: not inside either"
    );
    assert_eq!(ran.get(), 0);
}

/// A synchronous closure may answer with a result, whose error cannot be cloned.
#[tokio::test]
async fn a_synchronous_policy_may_fail() {
    let pipeline = Pipeline::builder(Registry::new())
        .pre_decision(|_: &CallView| Err::<Decision, BoxError>("the rules are gone".into()))
        .build();
    let token = CancellationToken::new();
    let result = pipeline.call("1", "echo", "{}", token).await;
    assert_eq!(result.text(), "Error: the rules are gone");
}
