//! Guards, listeners and observers of a scope.

#[path = "support/facade.rs"]
mod support;

use std::sync::{Arc, Mutex};

use serde_json::json;
use support::{echo, request_from, says};
use toolfall::host::{Host, OpenScope};
use toolfall::policy::Next;
use toolfall::{
    CallView, Decision, Denial, GuardRegistration, PostDecision, PostRequest, Registry, Scope,
    ToolResult,
};

/// What each listener heard, as `listener:scope`.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    fn hear(&self, who: &str, call: &CallView) {
        let scope = call.scope().map_or("none", Scope::name);
        self.0.lock().unwrap().push(format!("{who}:{scope}"));
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// One listener of every stage.
fn listen(open: &OpenScope, heard: &Heard) {
    let name = open.scope().name().to_owned();
    let hear = |stage: &str| {
        let (heard, who) = (heard.clone(), format!("{stage} of {name}"));
        move |call: &CallView| heard.hear(&who, call)
    };
    let (pre, guard, post, observer) = (hear("pre"), hear("guard"), hear("post"), hear("observer"));
    open.pre_decision(move |call: CallView, next: Next<_, _>| {
        pre(&call);
        next.run()
    })
    .keep();
    open.guard(move |call: &CallView| {
        guard(call);
        None::<Denial>
    })
    .keep();
    open.post_execute(move |request: PostRequest, next: Next<_, _>| {
        post(request.call());
        next.run()
    })
    .keep();
    open.observer(move |call: &CallView, _: &ToolResult| observer(call))
        .keep();
}

/// conformance: REG-41, REG-45, REG-51, REG-52, REG-53
#[tokio::test]
async fn listeners_hear_their_scope_and_what_is_nested_in_it() {
    let (host, heard) = (Host::new(), Heard::default());
    host.registry().register(says("t", "t")).unwrap().keep();
    let (pre, post) = (heard.clone(), heard.clone());
    host.pre_decision()
        .register(move |call: CallView, next: Next<_, _>| {
            pre.hear("pre of all", &call);
            next.run()
        })
        .keep();
    host.post_execute()
        .register(move |request: PostRequest, next: Next<_, _>| {
            post.hear("post of all", request.call());
            next.run()
        })
        .keep();
    let parent = host.open("parent");
    let child = parent.open("child");
    let unrelated = host.open("unrelated");
    for open in [&parent, &child, &unrelated] {
        listen(open, &heard);
    }
    let pipeline = host.pipeline().build();
    let expected = |stages: &[&str], from: &str| -> Vec<String> {
        stages.iter().map(|who| format!("{who}:{from}")).collect()
    };
    assert!(
        !pipeline
            .run(request_from("t", Some(child.scope())))
            .await
            .is_error()
    );
    assert_eq!(
        heard.take(),
        expected(
            &[
                "pre of all",
                "pre of parent",
                "pre of child",
                "guard of parent",
                "guard of child",
                "post of all",
                "post of parent",
                "post of child",
                "observer of parent",
                "observer of child",
            ],
            "child"
        )
    );
    pipeline.run(request_from("t", Some(parent.scope()))).await;
    assert_eq!(
        heard.take(),
        expected(
            &[
                "pre of all",
                "pre of parent",
                "guard of parent",
                "post of all",
                "post of parent",
                "observer of parent"
            ],
            "parent"
        )
    );
    pipeline.run(request_from("t", None)).await;
    assert_eq!(
        heard.take(),
        expected(&["pre of all", "post of all"], "none")
    );
}

/// conformance: REG-47
#[tokio::test]
async fn who_owns_a_scope_may_listen_to_everybody() {
    let (host, heard) = (Host::new(), Heard::default());
    let agent = host.open("agent");
    let shared = heard.clone();
    let registration = agent
        .host()
        .observers()
        .register(move |call: &CallView, _: &ToolResult| {
            shared.hear("all", call);
        });
    // It goes with the scope all the same.
    agent.hold(registration);
    let pipeline = host.pipeline().build();
    pipeline
        .run(request_from("t", Some(&Scope::new("other"))))
        .await;
    pipeline.run(request_from("t", None)).await;
    assert_eq!(heard.take(), ["all:other", "all:none"]);
    drop(agent);
    pipeline.run(request_from("t", None)).await;
    assert!(heard.take().is_empty());
}

/// conformance: REG-44
#[test]
fn a_scope_is_torn_down_at_its_place() {
    struct Tells(&'static str, Registry, Scope, Heard);
    impl Drop for Tells {
        fn drop(&mut self) {
            let there = self.1.contains("t", Some(&self.2));
            self.3.0.lock().unwrap().push(format!("{}:{there}", self.0));
        }
    }
    struct Owner {
        _inner: Tells,
        _open: OpenScope,
        _outer: Tells,
    }
    let (host, heard) = (Host::new(), Heard::default());
    let open = host.open("agent");
    open.register(echo("t")).unwrap().keep();
    let tells = |name| {
        Tells(
            name,
            host.registry().clone(),
            open.scope().clone(),
            heard.clone(),
        )
    };
    open.hold(tells("held first"));
    open.hold(tells("held last"));
    let (inner, outer) = (tells("inner"), tells("outer"));
    drop(Owner {
        _inner: inner,
        _open: open,
        _outer: outer,
    });
    assert_eq!(
        heard.take(),
        [
            "inner:true",
            "held last:false",
            "held first:false",
            "outer:false"
        ]
    );
}

/// conformance: PRE-21
#[tokio::test]
async fn a_listener_goes_with_its_owner() {
    let host = Host::new();
    host.registry().register(says("t", "ran")).unwrap().keep();
    let pipeline = host.pipeline().build();
    let preset = host.open("preset");
    let agent = preset.open("agent");
    let owner =
        agent.pre_decision(|_: CallView, _: Next<_, _>| async { Decision::deny("not now") });
    let denied = pipeline.run(request_from("t", Some(agent.scope()))).await;
    assert_eq!(denied.text(), "Error: not now");
    drop(owner);
    assert_eq!(
        pipeline
            .run(request_from("t", Some(agent.scope())))
            .await
            .text(),
        "ran"
    );
}

/// conformance: GUARD-06, GUARD-08, GUARD-09
#[tokio::test]
async fn guards_go_from_everybodys_to_the_nearest() {
    let (host, heard) = (Host::new(), Heard::default());
    host.registry().register(says("t", "ran")).unwrap().keep();
    let pipeline = host.pipeline().build();
    let grand = host.open("grandparent");
    let parent = grand.open("parent");
    let own = parent.open("own");
    let guard = |who: &'static str| {
        let heard = heard.clone();
        move |call: &CallView| {
            heard.hear(who, call);
            (call.name() == who).then(|| Denial::new(who))
        }
    };
    // In an order that is not the order of evaluation.
    own.guard(guard("own")).keep();
    grand.guard(guard("grandparent")).keep();
    parent.guard(guard("parent")).keep();
    host.guards().register(guard("all")).keep();
    pipeline.run(request_from("t", Some(own.scope()))).await;
    assert_eq!(
        heard.take(),
        ["all:own", "grandparent:own", "parent:own", "own:own"]
    );

    let denied = pipeline
        .run(request_from("parent", Some(own.scope())))
        .await;
    assert_eq!(denied.text(), "Error: parent");
    assert_eq!(heard.take(), ["all:own", "grandparent:own", "parent:own"]);

    // The guard of one agent is not another's, and of nobody without an agent.
    let other = host.open("other");
    other.register(says("own", "ran")).unwrap().keep();
    assert_eq!(
        pipeline
            .run(request_from("own", Some(other.scope())))
            .await
            .text(),
        "ran"
    );
    assert_eq!(heard.take(), ["all:other"]);
    pipeline.run(request_from("t", None)).await;
    assert_eq!(heard.take(), ["all:none"]);
}

/// conformance: GUARD-07, GUARD-10, GUARD-11
#[tokio::test]
async fn a_scopes_guards_come_and_go_while_they_run() {
    let host = Host::new();
    host.registry().register(says("t", "ran")).unwrap().keep();
    let pipeline = host.pipeline().build();
    let agent = host.open("agent");
    let run = || pipeline.run(request_from("t", Some(agent.scope())));
    let no = |_: &CallView| Some(Denial::new("no"));

    let first = agent.guard(no);
    let second = agent.guard(no);
    drop(first);
    assert_eq!(run().await.text(), "Error: no");
    drop(second);
    assert_eq!(run().await.text(), "ran");

    // The only guard of the scope lifts itself and registers a replacement:
    // that is for the next call.
    let own: Arc<Mutex<Option<GuardRegistration>>> = Arc::default();
    let (guards, scope, slot) = (host.guards().clone(), agent.scope().clone(), own.clone());
    let registration = agent.guard(move |_: &CallView| {
        drop(slot.lock().unwrap().take());
        guards.register_in(&scope, no).keep();
        None::<Denial>
    });
    *own.lock().unwrap() = Some(registration);
    assert_eq!(run().await.text(), "ran");
    assert_eq!(run().await.text(), "Error: no");

    // One for everybody that registers one in the scope: it takes part.
    let other = host.open("other");
    let (guards, scope) = (host.guards().clone(), other.scope().clone());
    let registering = host.guards().register(move |_: &CallView| {
        guards
            .register_in(&scope, |_: &CallView| Some(Denial::new("late")))
            .keep();
        None::<Denial>
    });
    let late = pipeline.run(request_from("t", Some(other.scope()))).await;
    assert_eq!(late.text(), "Error: late");
    drop(registering);
}

/// A post policy of a scope shapes what its calls give back, nobody else's.
#[tokio::test]
async fn a_scopes_post_policy_is_its_own() {
    let host = Host::new();
    host.registry()
        .register(says("t", "secret"))
        .unwrap()
        .keep();
    let pipeline = host.pipeline().build();
    let guest = host.open("guest");
    guest
        .post_execute(|_: PostRequest, _: Next<_, _>| async {
            PostDecision::replace_value(json!("hidden"))
        })
        .keep();
    assert_eq!(
        pipeline
            .run(request_from("t", Some(guest.scope())))
            .await
            .text(),
        "hidden"
    );
    assert_eq!(pipeline.run(request_from("t", None)).await.text(), "secret");
}
