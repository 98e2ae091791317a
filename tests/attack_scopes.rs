//! Ways out of a scope: calls nested in other tools' bodies, and scopes that
//! end while something of theirs runs.

#[path = "support/facade.rs"]
mod support;

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use support::{Counter, Log, any_object, echo, returns};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use toolfall::host::Host;
use toolfall::policy::budget::{Budgets, Limits};
use toolfall::{
    ApprovalOutcome, ApprovalRequest, Arguments, BoxError, CallRequest, CallView, Decision, Denial,
    Filter, Registration, Scope, ToolContext, ToolDef, ToolResult, raw_tool,
};

fn call(name: &'static str, scope: &Scope) -> CallRequest {
    CallRequest::new("c", name, "{}", CancellationToken::new()).with_scope(scope.clone())
}

/// A tool that calls `inner` and says what came of it.
fn calls(name: &'static str, inner: &'static str) -> ToolDef {
    raw_tool(
        name,
        "",
        any_object(),
        move |_: Arguments, ctx: ToolContext| async move {
            let result = ctx.call_tool(inner, "{}").await?;
            Ok::<Value, BoxError>(json!(result.text()))
        },
    )
}

/// A composite for everybody does not lend its caller what is hidden from it,
/// at any depth, and the caller's guards and listeners hear every call.
#[tokio::test]
async fn what_a_composite_calls_is_judged_as_its_callers() {
    let (host, runs) = (Host::new(), Counter::default());
    let tools = [
        calls("outer", "middle"),
        calls("middle", "bash"),
        returns("bash", json!("ran"), &runs),
        calls("own", "private"),
    ];
    let tools = host.registry().register_all(tools).unwrap();
    tools.into_iter().for_each(Registration::keep);
    let pipeline = host.pipeline().build();

    let reviewers = host.open("reviewers");
    reviewers.restrict(&Filter::deny(["bash"])).unwrap().keep();
    let agent = reviewers.open("reviewer");
    let other = host.open("other");
    other
        .register(returns("private", json!("other's"), &runs))
        .unwrap()
        .keep();
    let judged = Log::<String>::default();
    let heard = judged.clone();
    agent
        .guard(move |call: &CallView| {
            heard.push(call.name());
            None::<Denial>
        })
        .keep();

    let result = pipeline.run(call("outer", agent.scope())).await;
    assert_eq!(result.text(), "Error: unknown tool \"bash\"");
    assert_eq!(
        (judged.take(), runs.get()),
        (vec!["outer".into(), "middle".into(), "bash".to_owned()], 0)
    );
    let result = pipeline.run(call("own", agent.scope())).await;
    assert_eq!(result.text(), "Error: unknown tool \"private\"");
    let result = pipeline.run(call("own", other.scope())).await;
    assert_eq!(result.text(), "other's");
    let result = pipeline.run(call("outer", other.scope())).await;
    assert_eq!((result.text().as_str(), runs.get()), ("ran", 2));
}

/// A context that outlives its body still speaks for the same caller only,
/// and for nobody once the scope is gone.
#[tokio::test]
async fn a_kept_context_is_no_way_around_the_end_of_its_scope() {
    let (host, runs) = (Host::new(), Counter::default());
    let kept = Arc::new(Mutex::new(None));
    let keep = kept.clone();
    let leak = raw_tool(
        "leak",
        "",
        any_object(),
        move |_: Arguments, ctx: ToolContext| {
            *keep.lock().unwrap() = Some(ctx);
            async { Ok::<Value, BoxError>(json!(null)) }
        },
    );
    let tools = [leak, returns("bash", json!("ran"), &runs)];
    let tools = host.registry().register_all(tools).unwrap();
    tools.into_iter().for_each(Registration::keep);
    let pipeline = host.pipeline().build();
    let agent = host.open("agent");
    pipeline.run(call("leak", agent.scope())).await;
    let context = kept.lock().unwrap().take().unwrap();
    let mask = agent.restrict(&Filter::deny(["bash"])).unwrap();
    let unknown = "Error: unknown tool \"bash\"";
    assert_eq!(
        context.call_tool("bash", "{}").await.unwrap().text(),
        unknown
    );
    mask.keep();
    drop(agent);
    assert_eq!(
        context.call_tool("bash", "{}").await.unwrap().text(),
        unknown
    );
    assert_eq!(runs.get(), 0);
}

/// Whoever judges or runs may dispose the scope of the very call.
#[tokio::test]
async fn a_scope_may_be_disposed_by_what_it_registered() {
    for place in ["listener", "guard", "body", "post", "observer"] {
        let host = Host::new();
        let runs = Counter::default();
        host.registry()
            .register(returns("inherited", json!("ran"), &runs))
            .unwrap()
            .keep();
        let pipeline = host.pipeline().build();
        let agent = host.open("agent");
        let scope = agent.scope().clone();
        let dispose = {
            let (host, scope) = (host.clone(), scope.clone());
            move |here: &str| {
                if here == place {
                    host.dispose(&scope);
                }
            }
        };
        let here = dispose.clone();
        agent
            .pre_decision(move |_: CallView, next: toolfall::policy::Next<_, _>| {
                here("listener");
                next.run()
            })
            .keep();
        let here = dispose.clone();
        agent
            .guard(move |_: &CallView| {
                here("guard");
                None::<Denial>
            })
            .keep();
        let here = dispose.clone();
        agent
            .register(raw_tool(
                "own",
                "",
                any_object(),
                move |_: Arguments, _: ToolContext| {
                    let here = here.clone();
                    async move {
                        here("body");
                        Ok::<Value, BoxError>(json!("own ran"))
                    }
                },
            ))
            .unwrap()
            .keep();
        let here = dispose.clone();
        agent
            .post_execute(
                move |_: toolfall::PostRequest, next: toolfall::policy::Next<_, _>| {
                    here("post");
                    next.run()
                },
            )
            .keep();
        agent
            .observer(move |_: &CallView, _: &ToolResult| dispose("observer"))
            .keep();
        let result = pipeline.run(call("own", &scope)).await;
        let wanted = match place {
            "listener" | "guard" => "Error: unknown tool \"own\"",
            _ => "own ran",
        };
        assert_eq!(result.text(), wanted, "{place}");
        let after = pipeline.run(call("inherited", &scope)).await;
        assert_eq!(
            after.message(),
            Some("unknown tool \"inherited\""),
            "{place}"
        );
        assert_eq!(runs.get(), 0);
        assert!(
            host.guards().is_empty() && host.observers().is_empty(),
            "{place}"
        );
        drop(agent);
    }
}

/// A grant for a call does not outlive the scope that the call comes from.
#[tokio::test]
async fn a_scope_that_ends_while_a_person_thinks_takes_its_calls_along() {
    let (host, runs) = (Host::new(), Counter::default());
    host.registry()
        .register(returns("inherited", json!("ran"), &runs))
        .unwrap()
        .keep();
    host.pre_decision()
        .register(|_: CallView, _: toolfall::policy::Next<_, _>| async { Decision::ask("sure?") })
        .keep();
    let go = Arc::new(Notify::new());
    let wait = go.clone();
    let pipeline = host
        .pipeline()
        .approval(move |_: ApprovalRequest| {
            let wait = wait.clone();
            async move {
                wait.notified().await;
                ApprovalOutcome::AllowedOnce
            }
        })
        .build();
    let agent = host.open("agent");
    agent
        .register(returns("own", json!("ran"), &runs))
        .unwrap()
        .keep();
    agent
        .guard(|_: &CallView| Some(Denial::new("never")))
        .keep();
    for name in ["own", "inherited"] {
        let agent = host.open("agent");
        if name == "own" {
            agent
                .register(returns("own", json!("ran"), &runs))
                .unwrap()
                .keep();
        }
        let scope = agent.scope().clone();
        let mut open = tokio_test::task::spawn(pipeline.run(call(name, &scope)));
        tokio_test::assert_pending!(open.poll());
        drop(agent);
        go.notify_one();
        let result = open.await;
        let wanted = format!("unknown tool {name:?}");
        assert_eq!(result.message(), Some(&*wanted));
        assert_eq!(runs.get(), 0);
    }
    // A guard that is there still has the last word over a grant.
    go.notify_one();
    let result = pipeline.run(call("own", agent.scope())).await;
    assert_eq!(result.text(), "Error: never");
}

/// Calls that a body makes are calls of the same account.
#[tokio::test]
async fn nested_calls_spend_from_their_callers_budget() {
    let (host, runs) = (Host::new(), Counter::default());
    let many = raw_tool(
        "many",
        "",
        any_object(),
        |_: Arguments, ctx: ToolContext| async move {
            let calls = (0..20).map(|_| ctx.call_tool("one", "{}"));
            let results = futures_util::future::join_all(calls).await;
            let ran = results
                .iter()
                .filter(|result| !result.as_ref().unwrap().is_error());
            Ok::<Value, BoxError>(json!(ran.count()))
        },
    );
    let tools = [many, returns("one", json!(1), &runs), echo("spare")];
    let tools = host.registry().register_all(tools).unwrap();
    tools.into_iter().for_each(Registration::keep);
    let budgets = Budgets::new(Limits::new().calls(6));
    let pipeline = host.pipeline().around(budgets.layer()).build();
    let agent = host.open("agent");
    let result = pipeline.run(call("many", agent.scope())).await;
    assert_eq!((result.text().as_str(), runs.get()), ("5", 5));
    let spare = pipeline.run(call("spare", agent.scope())).await;
    assert_eq!(spare.code(), Some("BUDGET_EXCEEDED"));
}
