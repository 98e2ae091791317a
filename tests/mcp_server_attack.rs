//! Clients that do not do as the protocol says.

#[path = "support/mcp_lines.rs"]
mod mcp_lines;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_lines::*;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use toolfall::mcp::server::{PipelineServer, ServeError};
use toolfall::*;

/// A tool that waits for a permit, and a count of how often it began.
fn gated(limit: usize) -> (PipelineServer, Arc<Semaphore>, Arc<AtomicUsize>) {
    let (gate, begun) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let (wait, count) = (gate.clone(), begun.clone());
    let gated = raw_tool(
        "gated",
        "",
        json!({}),
        move |it: Arguments, _: ToolContext| {
            count.fetch_add(1, Ordering::SeqCst);
            let wait = wait.clone();
            async move {
                wait.acquire().await?.forget();
                Ok::<_, BoxError>(it.value().clone())
            }
        },
    );
    let registry = registry([gated.parallel(), echo("echo")]);
    let pipeline = Pipeline::builder(registry.clone()).build();
    let server = PipelineServer::builder(pipeline, registry)
        .max_calls(limit)
        .build();
    (server, gate, begun)
}

#[tokio::test]
async fn a_request_id_in_use_is_refused_without_taking_the_answer() {
    let (server, gate, begun) = gated(10);
    let mut client = Client::begin(&server, json!({})).await;
    client.start(7, "gated", r#"{"first":1}"#).await;
    client.start(7, "gated", r#"{"second":2}"#).await;
    let refused = client.next().await;
    assert_eq!(refused["id"], Value::Null, "{refused}");
    assert_eq!(refused["error"]["code"], -32600);
    // The text 7 is another id than the number.
    client.start("7", "echo", "{}").await;
    assert_eq!(client.answer("7").await["result"]["isError"], false);
    gate.add_permits(2);
    let answer = client.answer(7).await;
    assert_eq!(answer["result"]["structuredContent"], json!({"first": 1}));
    client.silence().await;
    assert_eq!(begun.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_flood_of_calls_is_bounded_and_every_one_is_answered() {
    let (server, gate, begun) = gated(8);
    let mut client = Client::begin(&server, json!({})).await;
    let mut other = Client::begin(&server, json!({})).await;
    for id in 0..500 {
        client.start(id, "gated", "{}").await;
    }
    let mut refused = 0;
    while refused < 492 {
        let answer = client.next().await;
        assert_eq!(answer["error"]["code"], -32029, "{answer}");
        refused += 1;
    }
    // Somebody else has room of their own.
    assert_eq!(other.call("echo", "{}").await["isError"], false);
    // And the client itself once it has its answers.
    gate.add_permits(8);
    let mut answered = Vec::new();
    for _ in 0..8 {
        answered.push(client.next().await["id"].as_i64().unwrap());
    }
    answered.sort_unstable();
    assert_eq!(answered, (0..8).collect::<Vec<_>>());
    assert_eq!(begun.load(Ordering::SeqCst), 8);
    gate.add_permits(1);
    assert_eq!(client.call("gated", "{}").await["isError"], false);
}

#[tokio::test]
async fn a_client_that_reads_nothing_does_not_make_the_server_read_on() {
    let (server, _, _) = gated(4);
    let mut client = Client::begin(&server, json!({})).await;
    let flood = async {
        for id in 0..1_000_000 {
            client.start(id, "gated", "{}").await;
        }
    };
    // The pipe is full both ways before the flood is over.
    let read = tokio::time::timeout(std::time::Duration::from_secs(3), flood).await;
    assert!(read.is_err(), "expected the server to stop reading");
}

#[tokio::test]
async fn nothing_runs_before_a_session_begins() {
    let (server, _, begun) = gated(4);
    let mut client = Client::connect(&server);
    client.raw("garbage").await;
    client
        .send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await;
    client
        .send(json!({"jsonrpc": "2.0", "method": "notifications/nonsense"}))
        .await;
    client
        .send(json!({"jsonrpc": "2.0", "id": 5, "result": {}}))
        .await;
    for method in ["tools/call", "tools/list"] {
        let refused = client
            .ask(method, json!({"name": "gated", "arguments": {}}))
            .await;
        assert!(refused["error"]["code"].is_i64(), "{refused}");
    }
    client
        .send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await;
    assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
    assert_eq!(begun.load(Ordering::SeqCst), 0);
    let params = json!({
        "protocolVersion": LEGACY, "capabilities": {},
        "clientInfo": {"name": "late", "version": "1"},
    });
    assert!(client.ask("initialize", params).await["result"].is_object());
    assert_eq!(client.call("echo", "{}").await["isError"], false);
}

#[tokio::test]
async fn a_client_that_never_begins_is_told_apart() {
    let (server, _, _) = gated(4);
    let mut client = Client::connect(&server);
    client.hang_up().await;
    let ended = client.served.await.unwrap();
    assert!(matches!(ended, Err(ServeError::NotBegun(_))), "{ended:?}");
    let client = Client::connect(&server);
    client.shutdown.cancel();
    client.served.await.unwrap().unwrap();
}

#[tokio::test]
async fn strange_lines_end_nothing() {
    let (server, _, _) = gated(4);
    let mut client = Client::begin(&server, json!({})).await;
    for line in [
        "",
        "   ",
        "hello",
        "{",
        "[]",
        "42",
        "null",
        "\"text\"",
        "{}",
        "\u{feff}",
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":7}"#,
        r#"{"jsonrpc":"2.0","id":9,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":9,"error":{"code":1,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":1,"message":"x"},"id":null}"#,
    ] {
        client.raw(line).await;
    }
    let deep = "[".repeat(100_000);
    client.raw(&deep).await;
    assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
    for message in &client.others {
        assert!(message.get("result").is_none(), "{message}");
    }
    // Requests that cannot be read are answered.
    for params in [json!(7), json!([]), json!({}), json!({"name": 7})] {
        let answer = client.ask("tools/call", params.clone()).await;
        assert!(answer["error"]["code"].is_i64(), "{params}: {answer}");
    }
    let answer = client.ask("no/such/method", json!({})).await;
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    for method in [
        "resources/list",
        "prompts/list",
        "completion/complete",
        "logging/setLevel",
    ] {
        let answer = client.ask(method, json!({"level": "info"})).await;
        assert!(answer["error"]["code"].is_i64(), "{method}: {answer}");
    }
    assert_eq!(client.call("echo", "{}").await["isError"], false);
}

#[tokio::test]
async fn long_lines_are_read_up_to_the_bound() {
    let registry = registry([echo("echo")]);
    let pipeline = Pipeline::builder(registry.clone()).build();
    let server = PipelineServer::builder(pipeline, registry)
        .max_line(11 << 20)
        .build();
    let mut client = Client::begin(&server, json!({})).await;
    let long = "x".repeat(10 << 20);
    let found = client
        .call("echo", &format!(r#"{{"long":"{long}"}}"#))
        .await;
    assert_eq!(
        found["structuredContent"]["long"].as_str().unwrap().len(),
        long.len()
    );
    let longer = "x".repeat(12 << 20);
    client
        .start(1, "echo", &format!(r#"{{"long":"{longer}"}}"#))
        .await;
    let refused = client.answer(1).await;
    assert_eq!(
        refused["error"]["code"], -32700,
        "{}",
        refused["error"]["code"]
    );
    assert_eq!(client.call("echo", "{}").await["isError"], false);
    // Depth is bounded by what keeps arguments.
    let deep = format!("{}1{}", r#"{"a":"#.repeat(100_000), "}".repeat(100_000));
    assert_eq!(client.call("echo", &deep).await["isError"], true);
}
