//! What calls add to the conversation, and when it is delivered.

#[path = "support/sched.rs"]
mod support;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use support::{World, authors, codes, context, idle, texts};
use toolfall::{Arguments, BatchEvent, BoxError, ToolContext, raw_tool};

/// conformance: SCHED-28
#[tokio::test(start_paused = true)]
async fn contexts_come_in_model_order_after_the_last_result() {
    let world = World::new();
    world.hold("body:a");
    world.hold("body:b");
    let calls = vec![
        world.call(
            "safe",
            "a",
            json!({"context": "a", "post_context": "post a"}),
        ),
        world.call("safe", "b", json!({"context": "b"})),
    ];
    let mut batch = world.scheduler(10).batch(calls, world.cancel.clone());
    let own = world.clone();
    let push = tokio::spawn(async move {
        idle().await;
        own.release("body:b");
        idle().await;
        own.release("body:a");
    });
    let mut seen = Vec::new();
    while let Some(event) = batch.next().await {
        match event {
            BatchEvent::Committed(call) => seen.push(format!("result {}", call.id)),
            BatchEvent::Ended(end) => {
                seen.extend(authors(&end.contexts).into_iter().map(ToOwned::to_owned));
            }
            _ => unreachable!("there is no third event"),
        }
    }
    push.await.unwrap();
    assert_eq!(seen, ["result a", "result b", "a", "post a", "b"]);
    assert!(batch.next().await.is_none(), "ended is ended");
}

/// A tool that calls others hands their contexts on with its own result.
///
/// conformance: CTX-10
#[tokio::test(start_paused = true)]
async fn a_composite_tool_defers_what_its_calls_deferred() {
    let world = World::new();
    let composite = raw_tool(
        "both",
        "",
        json!({"type": "object"}),
        |_: Arguments, ctx: ToolContext| async move {
            ctx.defer_context(context("own"));
            let nested = ctx
                .call_tool("safe", json!({"k": "n", "context": "nested"}).to_string())
                .await?;
            Ok::<Value, BoxError>(nested.text().into())
        },
    );
    world.registry.register(composite).unwrap().keep();
    let calls = vec![
        world.call("both", "a", Value::Null),
        world.call("safe", "b", json!({"context": "b"})),
    ];
    let report = world.run(10, calls).await.await.unwrap();
    assert_eq!(texts(&report), ["n", "b"]);
    assert_eq!(
        authors(report.committed[0].result.contexts()),
        ["own", "nested"]
    );
    assert_eq!(authors(&report.end.contexts), ["own", "nested", "b"]);
}

/// Nested calls hold no slot: with a limit of one, a tool that calls tools
/// that call tools comes to its end.
#[tokio::test(start_paused = true)]
async fn nested_calls_wait_for_no_slot() {
    let world = World::new();
    let outer = raw_tool(
        "outer",
        "",
        json!({"type": "object"}),
        |_: Arguments, ctx: ToolContext| async move {
            let result = ctx.call_tool("inner", "{}").await?;
            Ok::<Value, BoxError>(format!("outer {}", result.text()).into())
        },
    );
    let inner = raw_tool(
        "inner",
        "",
        json!({"type": "object"}),
        |_: Arguments, ctx: ToolContext| async move {
            let (a, b) = tokio::join!(
                ctx.call_tool("lone", r#"{"k":"a"}"#),
                ctx.call_tool("safe", r#"{"k":"b"}"#),
            );
            Ok::<Value, BoxError>(format!("{} {}", a?.text(), b?.text()).into())
        },
    );
    world.registry.register(outer.parallel()).unwrap().keep();
    world.registry.register(inner).unwrap().keep();
    let calls = vec![
        world.call("outer", "1", Value::Null),
        world.call("outer", "2", Value::Null),
    ];
    let report = world.run(1, calls).await.await.unwrap();
    assert_eq!(texts(&report), ["outer a b", "outer a b"]);
}

/// conformance: CTX-12
#[tokio::test(start_paused = true)]
async fn a_context_of_a_call_that_cancelled_the_turn_waits_for_the_next() {
    let world = World::new();
    let calls = vec![world.call(
        "safe",
        "a",
        json!({"cancels": true, "post_context": "late"}),
    )];
    let report = world.run(10, calls).await.await.unwrap();
    assert_eq!(codes(&report), [Some("ABORTED")]);
    assert!(report.end.aborted && report.end.contexts.is_empty());
    assert_eq!(authors(&report.end.parked), ["late"], "once");
}

/// Committed before the cancellation: gone with the turn. After: parked.
#[tokio::test(start_paused = true)]
async fn only_what_commits_after_the_cancellation_is_parked() {
    let world = World::new();
    world.hold("body:b");
    let calls = vec![
        world.call("safe", "a", json!({"context": "a"})),
        world.call(
            "safe",
            "b",
            json!({"context": "b", "post_context": "post b"}),
        ),
        world.call("safe", "c", json!({"context": "c"})),
    ];
    let run = world.run(2, calls).await;
    assert!(world.has("done:a"));
    world.cancel.cancel();
    world.release("body:b");
    let report = run.await.unwrap();
    assert!(report.end.contexts.is_empty());
    assert_eq!(authors(&report.end.parked), ["b", "post b", "c"]);
}

/// conformance: CTX-22
#[tokio::test(start_paused = true)]
async fn one_call_concludes_the_turn_and_all_complete() {
    let world = World::new();
    let calls = vec![
        world.call("safe", "a", json!({"conclude": true})),
        world.call("lone", "x", Value::Null),
        world.call("safe", "b", Value::Null),
    ];
    let report = world.run(10, calls).await.await.unwrap();
    assert_eq!(texts(&report), ["a", "x", "b"]);
    assert!(report.end.concludes && report.committed[0].result.concludes_turn());

    let failing = vec![world.call("safe", "a", json!({"conclude": true, "fail": "no"}))];
    let report = world.run(10, failing).await.await.unwrap();
    assert!(!report.end.concludes, "a failure concludes nothing");
}
