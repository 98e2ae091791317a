//! A scope's tools are there for it and for what is nested in it.

#[path = "support/facade.rs"]
mod support;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use support::{any_object, echo, registry, request_from, says};
use toolfall::host::Host;
use toolfall::policy::Next;
use toolfall::{
    Arguments, BoxError, CallView, Denial, ExecutionMode, Filter, Pipeline, PostRequest,
    RegisterError, Registry, Scope, TimeoutLayer, ToolContext, ToolResult, codes, raw_tool,
};

fn is_unknown(result: &ToolResult) -> bool {
    result
        .info()
        .is_some_and(|info| info.code() == codes::UNKNOWN_TOOL)
}

/// conformance: REG-21, EXEC-37
#[tokio::test]
async fn a_scopes_tool_is_nobody_elses() {
    let registry = registry([says("shared", "shared")]);
    let (a, b) = (Scope::new("a"), Scope::new("b"));
    registry
        .register_in(&a, says("mine", "mine"))
        .unwrap()
        .keep();
    assert_eq!(registry.names(Some(&a)), ["shared", "mine"]);
    assert_eq!(registry.names(Some(&b)), ["shared"]);
    assert_eq!(registry.names(None), ["shared"]);
    // Identity counts, not the name.
    assert_eq!(registry.names(Some(&Scope::new("a"))), ["shared"]);

    let pipeline = Pipeline::builder(registry).build();
    assert_eq!(
        pipeline.run(request_from("mine", Some(&a))).await.text(),
        "mine"
    );
    let sub_agent = a.nested("sub");
    assert_eq!(
        pipeline
            .run(request_from("mine", Some(&sub_agent)))
            .await
            .text(),
        "mine"
    );
    let nobodys = pipeline.run(request_from("nobodys", Some(&b))).await;
    for scope in [Some(&b), None] {
        let hidden = pipeline.run(request_from("mine", scope)).await;
        assert!(is_unknown(&hidden));
        assert_eq!(hidden.message(), Some("unknown tool \"mine\""));
        // Nothing tells it from a tool that is not there.
        assert_eq!(
            (hidden.kind(), hidden.effect(), hidden.content().len()),
            (nobodys.kind(), nobodys.effect(), nobodys.content().len())
        );
    }
}

/// conformance: REG-10
#[test]
fn a_name_is_taken_once_in_a_scope() {
    let registry = registry([echo("t")]);
    let scope = Scope::new("reviewer");
    registry.register_in(&scope, echo("t")).unwrap().keep();
    let error = registry
        .register_in(&scope, echo("t"))
        .map(drop)
        .unwrap_err();
    assert!(
        matches!(&error, RegisterError::NameTakenInScope { name, scope } if name == "t" && scope == "reviewer")
    );
    assert!(
        error
            .to_string()
            .contains("already registered in this scope"),
        "{error}"
    );
    registry
        .register_in(&scope.nested("sub"), echo("t"))
        .unwrap()
        .keep();

    // Many at once are all registered or none.
    let tools = [echo("new"), echo("t")];
    assert!(registry.register_all_in(&scope, tools).is_err());
    assert!(!registry.contains("new", Some(&scope)));
}

/// conformance: REG-22
#[tokio::test]
async fn a_nearer_tool_shadows_a_farther_one() {
    for scope_first in [true, false] {
        let (registry, scope) = (Registry::new(), Scope::new("agent"));
        let near = || {
            registry
                .register_in(&scope, says("t", "near"))
                .unwrap()
                .keep();
        };
        let far = || registry.register(says("t", "far")).unwrap().keep();
        if scope_first {
            near();
            far();
        } else {
            far();
            near();
        }
        assert_eq!(registry.names(Some(&scope)), ["t"]);
        assert_eq!(registry.schemas(Some(&scope)).len(), 1);
        let pipeline = Pipeline::builder(registry.clone()).build();
        assert_eq!(
            pipeline.run(request_from("t", Some(&scope))).await.text(),
            "near"
        );
        assert_eq!(pipeline.run(request_from("t", None)).await.text(), "far");
        assert_eq!(
            pipeline
                .run(request_from("t", Some(&Scope::new("other"))))
                .await
                .text(),
            "far"
        );
    }
}

/// conformance: REG-24, REG-48
#[test]
fn a_view_goes_from_the_farthest_to_the_nearest() {
    let registry = Registry::new();
    let home = Scope::new("home");
    let agent = home.nested("agent");
    let chain: Vec<&str> = agent.chain().map(Scope::name).collect();
    assert_eq!(chain, ["agent", "home"]);
    assert!(home.parent().is_none());

    registry.register_in(&agent, echo("own")).unwrap().keep();
    registry.register_in(&agent, echo("b")).unwrap().keep();
    registry.register_in(&home, echo("above")).unwrap().keep();
    for name in ["z", "b", "a"] {
        registry.register(echo(name)).unwrap().keep();
    }
    assert_eq!(registry.names(None), ["z", "b", "a"]);
    assert_eq!(registry.names(Some(&home)), ["z", "b", "a", "above"]);
    assert_eq!(
        registry.names(Some(&agent)),
        ["z", "b", "a", "above", "own"]
    );
    let told: Vec<String> = registry
        .schemas(Some(&agent))
        .into_iter()
        .map(|tool| tool.name)
        .collect();
    assert_eq!(told, ["a", "above", "b", "own", "z"]);
}

/// conformance: REG-23, REG-42
#[tokio::test]
async fn a_disposed_scope_leaves_nothing_and_finds_nothing() {
    let host = Host::new();
    host.registry()
        .register(says("shared", "shared"))
        .unwrap()
        .keep();
    let pipeline = host.pipeline().build();
    let (started, gate) = (
        Arc::new(tokio::sync::Notify::new()),
        Arc::new(tokio::sync::Notify::new()),
    );
    let agent = host.open("agent");
    let signals = (started.clone(), gate.clone());
    let slow = raw_tool(
        "slow",
        "",
        any_object(),
        move |_: Arguments, _: ToolContext| {
            let (started, gate) = signals.clone();
            async move {
                started.notify_one();
                gate.notified().await;
                Ok::<Value, BoxError>("done".into())
            }
        },
    );
    agent.register(slow).unwrap().keep();
    agent.guard(|_: &CallView| None::<Denial>).keep();
    agent
        .pre_decision(|_: CallView, next: Next<_, _>| next.run())
        .keep();
    agent
        .post_execute(|_: PostRequest, next: Next<_, _>| next.run())
        .keep();
    agent.observer(|_: &CallView, _: &ToolResult| {}).keep();
    let sub = agent.open("sub");
    sub.register(says("deep", "deep")).unwrap().keep();
    let late = sub.register(says("late", "late")).unwrap();
    assert_eq!(host.registry().scopes(), 2);

    let (scope, nested) = (agent.scope().clone(), sub.scope().clone());
    let running = tokio::spawn({
        let pipeline = pipeline.clone();
        let request = request_from("slow", Some(&scope));
        async move { pipeline.run(request).await }
    });
    started.notified().await;
    let held = Arc::new(());
    agent.hold(held.clone());
    drop(agent);
    assert_eq!(Arc::strong_count(&held), 1);
    assert_eq!(host.registry().scopes(), 0);
    let left = (
        host.guards().len(),
        host.pre_decision().len(),
        host.post_execute().len(),
        host.observers().len(),
    );
    assert_eq!(left, (0, 0, 0, 0));
    for scope in [&scope, &nested, &scope.nested("made later")] {
        assert!(host.registry().names(Some(scope)).is_empty());
        for name in ["slow", "deep", "shared"] {
            assert!(
                is_unknown(&pipeline.run(request_from(name, Some(scope))).await),
                "{name}"
            );
        }
        let error = host
            .registry()
            .register_in(scope, echo("t"))
            .map(drop)
            .unwrap_err();
        assert!(matches!(error, RegisterError::Disposed { .. }), "{error}");
    }
    drop((late, sub));
    assert_eq!(host.registry().names(None), ["shared"]);

    // The call that was in its body comes to its end.
    gate.notify_one();
    assert_eq!(running.await.unwrap().text(), "done");
}

#[test]
fn a_scope_that_nobody_holds_is_swept() {
    let registry = Registry::new();
    let scope = Scope::new("gone");
    registry.register_in(&scope, echo("t")).unwrap().keep();
    registry.dispose(&Scope::new("never registered anything"));
    assert_eq!(registry.scopes(), 1);
    drop(scope);
    registry.register(echo("t")).unwrap().keep();
    assert_eq!(registry.scopes(), 0);
}

/// Deep chains are walked and dropped without recursion.
#[tokio::test]
async fn a_chain_may_be_long() {
    let host = Scope::new("host");
    let deepest = (0..200_000).fold(host.clone(), |scope, _| scope.nested("n"));
    let registry = Registry::new();
    registry
        .register_in(&host, says("t", "found"))
        .unwrap()
        .keep();
    assert_eq!(registry.names(Some(&deepest)), ["t"]);
    let pipeline = Pipeline::builder(registry).build();
    assert_eq!(
        pipeline.run(request_from("t", Some(&deepest))).await.text(),
        "found"
    );
    drop(deepest);
}

/// conformance: REG-55, REG-60
#[test]
fn an_old_registration_does_not_take_its_successor_away() {
    let (registry, scope) = (Registry::new(), Scope::new("agent"));
    let changes = registry.changes();
    let generation = || *changes.borrow();
    let first = registry.register_in(&scope, echo("t")).unwrap();
    assert_eq!(generation(), 1);
    registry.dispose(&scope);
    assert_eq!(generation(), 2);
    let scope = Scope::new("agent");
    let second = registry.register_in(&scope, echo("t")).unwrap();
    assert_eq!(generation(), 3);
    drop(first);
    assert_eq!(
        (generation(), registry.contains("t", Some(&scope))),
        (3, true)
    );
    drop(second);
    assert_eq!((generation(), registry.scopes()), (4, 0));
}

/// conformance: REG-17
#[test]
fn every_change_of_a_scope_is_told_once() {
    let (registry, scope) = (registry([echo("t")]), Scope::new("agent"));
    let other = scope.nested("sub");
    let mut changes = registry.changes();
    let mut told = || {
        let new = changes.has_changed().unwrap();
        changes.mark_unchanged();
        new
    };
    let tools = registry
        .register_all_in(&scope, [echo("a"), echo("b")])
        .unwrap();
    assert!(told());
    let mask = registry.restrict(&other, &Filter::deny(["a"])).unwrap();
    assert!(told());
    drop(mask);
    assert!(told());
    let before = *registry.changes().borrow();
    registry.dispose(&scope);
    assert_eq!(*registry.changes().borrow(), before + 1);
    drop(tools);
    registry.dispose(&scope);
    registry.dispose(&other);
    assert_eq!(*registry.changes().borrow(), before + 1);
}

/// conformance: REG-58, REG-59, REG-61
#[test]
fn a_layer_is_there_only_while_it_holds_something() {
    let (registry, scope) = (registry([echo("t")]), Scope::new("agent"));
    assert!(registry.contains("t", Some(&scope)) && registry.get("x", Some(&scope)).is_none());
    assert_eq!(
        (
            registry.names(Some(&scope)).len(),
            registry.schemas(None).len()
        ),
        (1, 1)
    );
    assert_eq!(registry.scopes(), 0);

    // What fails leaves no layer, and leaves one that is there as it is.
    let bad = || echo("bad").budget(Duration::ZERO);
    assert!(registry.register_in(&scope, bad()).is_err());
    assert!(registry.restrict(&scope, &Filter::deny(["nope"])).is_err());
    assert_eq!(registry.scopes(), 0);
    let own = registry.register_in(&scope, echo("own")).unwrap();
    assert!(registry.register_in(&scope, bad()).is_err());
    assert_eq!(registry.names(Some(&scope)), ["t", "own"]);

    let mask = registry.restrict(&scope, &Filter::deny(["t"])).unwrap();
    drop(own);
    assert_eq!(
        (registry.scopes(), registry.names(Some(&scope)).len()),
        (1, 0)
    );
    drop(mask);
    assert_eq!(
        (registry.scopes(), registry.names(Some(&scope)).len()),
        (0, 1)
    );
}

/// conformance: TIME-13
#[tokio::test(start_paused = true)]
async fn the_budget_is_that_of_the_tool_that_the_scope_resolves() {
    let sleeps = |budget: u64| {
        raw_tool(
            "t",
            "",
            any_object(),
            |_: Arguments, _: ToolContext| async {
                tokio::time::sleep(Duration::from_millis(100)).await;
                Ok::<Value, BoxError>("slept".into())
            },
        )
        .budget(Duration::from_millis(budget))
    };
    let (registry, hasty) = (registry([sleeps(1000)]), Scope::new("hasty"));
    registry.register_in(&hasty, sleeps(10)).unwrap().keep();
    let pipeline = Pipeline::builder(registry)
        .timeout(TimeoutLayer::declared())
        .build();
    assert_eq!(pipeline.run(request_from("t", None)).await.text(), "slept");
    let late = pipeline.run(request_from("t", Some(&hasty))).await;
    assert_eq!(
        late.info().map(toolfall::ErrorInfo::code),
        Some(codes::TOOL_TIMEOUT)
    );
}

/// conformance: SCHED-11
#[test]
fn a_hidden_tool_is_exclusive() {
    let registry = registry([echo("t").parallel()]);
    let (masked, own) = (Scope::new("masked"), Scope::new("own"));
    registry
        .restrict(&masked, &Filter::deny(["t"]))
        .unwrap()
        .keep();
    registry
        .register_in(&own, echo("mine").parallel())
        .unwrap()
        .keep();
    let mode = |name, scope| registry.mode(&request_from(name, scope));
    assert_eq!(mode("t", None), ExecutionMode::Parallel);
    assert_eq!(mode("t", Some(&masked)), ExecutionMode::Exclusive);
    assert_eq!(mode("mine", Some(&own)), ExecutionMode::Parallel);
    assert_eq!(mode("mine", Some(&masked)), ExecutionMode::Exclusive);
}

/// conformance: REG-79
#[test]
fn a_reserved_name_is_nobodys() {
    let registry = Registry::new();
    for registered in [
        registry.register(echo("run_code")),
        registry.register_in(&Scope::new("agent"), echo("run_code")),
    ] {
        let told = registered.map(drop).unwrap_err().to_string();
        assert!(
            told.contains("reserved for the Code Mode presentation transport"),
            "{told}"
        );
    }
}
