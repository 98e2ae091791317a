//! Calls of an MCP server's tools: what goes over the wire, and what comes of
//! calls that are cancelled, given up or under way while things change.

#[path = "support/mcp_peer.rs"]
mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use support::{World, failed};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use toolfall::{CallRequest, CallView, Decision, Pipeline, Progress, ProgressSink};

/// Lets everything that can happen now happen.
async fn settle() {
    sleep(Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_told_that_nobody_waits() {
    let mut world = World::with(|server| server.timeout(Duration::from_secs(3))).await;
    let began = Instant::now();
    let call = world.call(json!({}));
    let asked = world.peer.expect("tools/call").await;
    let (code, text) = failed(&call.result().await);
    assert_eq!(code, "MCP_TIMEOUT");
    assert!(text.contains("3000 ms"), "{text}");
    assert_eq!(began.elapsed().as_secs(), 3);
    let notice = world.peer.expect("notifications/cancelled").await;
    assert_eq!(notice["params"]["requestId"], asked["id"]);
    // It answers after all.
    world.peer.say(&asked, "late").await;
    world.still_works().await;
}

/// conformance: MCP-09
#[tokio::test(start_paused = true)]
async fn an_answer_is_waited_for_a_minute() {
    let mut world = World::up().await;
    let began = Instant::now();
    let call = world.call(json!({"a": [1, null]}));
    let asked = world.peer.expect("tools/call").await;
    assert_eq!(asked["params"]["name"], "work");
    assert_eq!(asked["params"]["arguments"], json!({"a": [1, null]}));
    assert_eq!(failed(&call.result().await).0, "MCP_TIMEOUT");
    assert_eq!(began.elapsed(), Duration::from_secs(60));
}

/// conformance: MCP-09
#[tokio::test(start_paused = true)]
async fn the_raw_name_goes_over_the_wire() {
    let mut world = World::up().await;
    world
        .peer
        .notify("notifications/tools/list_changed", json!({}))
        .await;
    world.peer.list(&["admin.reset", "搜索"]).await;
    settle().await;
    for (public, raw) in [
        ("mcp__srv__admin_reset_3b185f786768", "admin.reset"),
        ("mcp__srv_____55df05a78f11", "搜索"),
    ] {
        let call = world.call_tool(public, json!({}));
        let asked = world.peer.expect("tools/call").await;
        assert_eq!(asked["params"]["name"], raw);
        world.peer.say(&asked, "done").await;
        assert_eq!(call.result().await.text(), "done");
    }
}

/// conformance: MCP-09
#[tokio::test(start_paused = true)]
async fn a_cancelled_call_is_aborted_and_the_server_told() {
    let mut world = World::up().await;
    let call = world.call(json!({}));
    let asked = world.peer.expect("tools/call").await;
    call.cancel.cancel();
    assert_eq!(failed(&call.result().await).0, "ABORTED");
    let notice = world.peer.expect("notifications/cancelled").await;
    assert_eq!(notice["params"]["requestId"], asked["id"]);
    world.still_works().await;
    // It was cancelled before anything was sent.
    let call = world.call(json!({}));
    call.cancel.cancel();
    assert_eq!(failed(&call.result().await).0, "ABORTED_BEFORE_DISPATCH");
    world.still_works().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_is_given_up() {
    let mut world = World::up().await;
    let pipeline = Pipeline::builder(world.registry.clone())
        .pre_decision(|_: &CallView| Decision::Allow)
        .build();
    let request = CallRequest::new("1", "mcp__srv__work", "{}", CancellationToken::new());
    let running = tokio::spawn(async move { pipeline.run(request).await });
    let asked = world.peer.expect("tools/call").await;
    running.abort();
    let notice = world.peer.expect("notifications/cancelled").await;
    assert_eq!(notice["params"]["requestId"], asked["id"]);
    world.still_works().await;
}

/// Nothing blocks on a server that does not read.
#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_read_is_not_waited_for() {
    let world = World::with(|server| server.timeout(Duration::from_secs(3))).await;
    let long = "y".repeat(3 << 20);
    let calls: Vec<_> = (0..4).map(|_| world.call(json!({"long": long}))).collect();
    for call in calls {
        assert_eq!(failed(&call.result().await).0, "MCP_TIMEOUT");
    }
    let began = Instant::now();
    let World { source, peer, .. } = world;
    let gone = async move {
        peer.stopped().await;
        drop(peer);
    };
    tokio::join!(source.dispose(), gone);
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn a_servers_refusal_is_told() {
    let mut world = World::up().await;
    let call = world.call(json!({}));
    let asked = world.peer.expect("tools/call").await;
    world.peer.refuse(&asked, -32_603, "the disk is full").await;
    let (code, text) = failed(&call.result().await);
    assert_eq!(code, "MCP_PROTOCOL_ERROR");
    assert!(
        text.contains("-32603") && text.contains("the disk is full"),
        "{text}"
    );
    world.still_works().await;
}

/// Nothing is offered, so nothing is given; but each request is answered.
#[tokio::test(start_paused = true)]
async fn a_server_that_asks_is_answered() {
    let mut world = World::up().await;
    let asks = [
        ("ping", json!({})),
        ("roots/list", json!({})),
        (
            "sampling/createMessage",
            json!({"messages": [], "maxTokens": 5}),
        ),
        (
            "elicitation/create",
            json!({"message": "?", "requestedSchema": {"type": "object", "properties": {}}}),
        ),
        ("no/such/method", json!({})),
    ];
    let mut answers = Vec::new();
    for (id, (method, params)) in asks.into_iter().enumerate() {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        world.peer.line(request.to_string()).await;
        let answer = world.peer.next().await.unwrap();
        assert_eq!(answer["id"], id);
        let code = &answer["error"]["code"];
        answers.push(if code.is_null() {
            answer["result"].clone()
        } else {
            code.clone()
        });
    }
    assert_eq!(
        Value::from(answers),
        json!([{}, -32601, -32601, {"action": "decline"}, -32601])
    );
    world.still_works().await;
}

#[tokio::test(start_paused = true)]
async fn progress_reaches_the_caller_in_order_and_before_the_answer() {
    let mut world = World::up().await;
    let pipeline = Pipeline::builder(world.registry.clone())
        .pre_decision(|_: &CallView| Decision::Allow)
        .build();
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = told.clone();
    let sink = ProgressSink::new(move |_: &CallView, step: Progress| {
        heard.lock().unwrap().push(format!("{step:?}"));
    });
    let request = CallRequest::new("1", "mcp__srv__work", "{}", CancellationToken::new());
    let running = tokio::spawn(async move { pipeline.run(request.with_extension(sink)).await });
    let asked = world.peer.expect("tools/call").await;
    let token = &asked["params"]["_meta"]["progressToken"];
    assert!(!token.is_null(), "{asked}");
    for step in 1..=20 {
        let params = json!({"progressToken": token, "progress": step, "total": 20, "message": format!("step {step}.")});
        world.peer.notify("notifications/progress", params).await;
    }
    world
        .peer
        .notify(
            "notifications/progress",
            json!({"progressToken": 4711, "progress": 1}),
        )
        .await;
    world.peer.say(&asked, "done").await;
    assert_eq!(running.await.unwrap().text(), "done");
    let heard = told.lock().unwrap().clone();
    assert_eq!(heard.len(), 20, "{heard:?}");
    for (step, heard) in (1..).zip(&heard) {
        assert!(heard.contains(&format!("step {step}.")), "{heard}");
    }
    // What comes after the answer is told to nobody.
    let late = json!({"progressToken": token, "progress": 21});
    world.peer.notify("notifications/progress", late).await;
    world.still_works().await;
    assert_eq!(told.lock().unwrap().len(), 20);
}

/// Progress gives no more time, unless it is said.
#[tokio::test(start_paused = true)]
async fn progress_prolongs_a_call_only_where_it_is_said() {
    for prolongs in [false, true] {
        let change = |server: toolfall::mcp::client::McpServer| {
            let server = server.timeout(Duration::from_secs(3));
            if prolongs {
                server.progress_prolongs()
            } else {
                server
            }
        };
        let mut world = World::with(change).await;
        let began = Instant::now();
        let call = world.call(json!({}));
        let asked = world.peer.expect("tools/call").await;
        let token = &asked["params"]["_meta"]["progressToken"];
        for step in 1..=2 {
            sleep(Duration::from_secs(2)).await;
            let params = json!({"progressToken": token, "progress": step});
            world.peer.notify("notifications/progress", params).await;
        }
        assert_eq!(failed(&call.result().await).0, "MCP_TIMEOUT");
        let expected = if prolongs { 7 } else { 4 };
        assert_eq!(began.elapsed().as_secs(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_survives_that_the_tools_change_under_it() {
    let mut world = World::up().await;
    let call = world.call(json!({}));
    let asked = world.peer.expect("tools/call").await;
    world
        .peer
        .notify("notifications/tools/list_changed", json!({}))
        .await;
    world.peer.list(&["other"]).await;
    settle().await;
    assert!(world.call(json!({})).result().await.is_error());
    world.peer.say(&asked, "from before").await;
    assert_eq!(call.result().await.text(), "from before");
}
