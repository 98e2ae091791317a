//! MCP servers that break their promises: each fault is one coded result,
//! and the next call works.

#[path = "support/mcp_peer.rs"]
mod support;

use std::time::Duration;

use serde_json::json;
use support::{World, failed, said};
use tokio::time::sleep;

/// Lets everything that can happen now happen.
async fn settle() {
    sleep(Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn a_second_answer_is_nobodys() {
    let mut world = World::up().await;
    let call = world.call(json!({}));
    let first = world.peer.expect("tools/call").await;
    world.peer.say(&first, "one").await;
    world.peer.say(&first, "two").await;
    world.peer.refuse(&first, -1, "three").await;
    assert_eq!(call.result().await.text(), "one");
    let call = world.call(json!({}));
    let second = world.peer.expect("tools/call").await;
    world.peer.say(&first, "once more").await;
    world.peer.say(&second, "four").await;
    assert_eq!(call.result().await.text(), "four");
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_nothing_is_reported_and_ignored() {
    let mut world = World::up().await;
    let call = world.call(json!({}));
    let asked = world.peer.expect("tools/call").await;
    for id in [json!(4711), json!("x"), json!(null), json!(1.5)] {
        world.peer.say(&json!({"id": id}), "nobody").await;
    }
    world.peer.say(&asked, "mine").await;
    assert_eq!(call.result().await.text(), "mine");
    assert!(
        world.events.has("there never was: 4711"),
        "{:?}",
        world.events.all()
    );
    assert!(world.events.has("there never was: x"));
    assert!(world.events.has("an answer to no request"));
}

#[tokio::test(start_paused = true)]
async fn the_id_may_come_back_as_text() {
    let mut world = World::up().await;
    let call = world.call(json!({}));
    let asked = world.peer.expect("tools/call").await;
    let id = asked["id"].to_string();
    world.peer.say(&json!({"id": id}), "as text").await;
    assert_eq!(call.result().await.text(), "as text");
}

/// Who prints to standard output breaks the protocol, and nothing else.
#[tokio::test(start_paused = true)]
async fn what_is_no_message_is_reported_and_ignored() {
    let mut world = World::up().await;
    let call = world.call(json!({}));
    let asked = world.peer.expect("tools/call").await;
    let strange: [&[u8]; 9] = [
        b"Starting the server on port 3000...",
        b"",
        b"\x1b[2J\x00\xff\xfe",
        b"{\"foo\": 1}",
        b"{\"jsonrpc\": \"2.0\"}",
        b"[1, 2, 3]",
        b"42",
        b"{\"jsonrpc\": \"2.0\", \"method\": \"notifications/progress\", \"params\": 3}",
        b"{\"jsonrpc\": \"2.0\", \"method\": \"notifications/unheard-of\"}",
    ];
    for line in strange {
        world.peer.raw(line).await;
        world.peer.raw("\n").await;
    }
    // A line may come in pieces.
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": said("fine")});
    for byte in answer.to_string().as_bytes() {
        world.peer.raw([*byte]).await;
        tokio::task::yield_now().await;
    }
    world.peer.raw("\r\n").await;
    assert_eq!(call.result().await.text(), "fine");
    assert!(world.events.has("Starting the server"));
    assert!(world.events.has("foo"));
    let all = world.events.all().join("\n");
    assert!(!all.contains('\x1b'), "{all}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_dies_under_a_call_fails_it_and_comes_back() {
    let mut world = World::up().await;
    let first = world.call(json!({}));
    let second = world.call(json!({}));
    world.peer.expect("tools/call").await;
    world.peer.expect("tools/call").await;
    world.peer.raw("{\"jsonrpc\":\"2.0\",\"id\":2,\"resu").await;
    world.peer.die();
    assert_eq!(failed(&first.result().await).0, "MCP_CLOSED");
    assert_eq!(failed(&second.result().await).0, "MCP_CLOSED");
    world.peer = world.peers.next().await;
    world.peer.introduce().await;
    world.peer.list(&["work"]).await;
    settle().await;
    world.still_works().await;
}

/// conformance: MCP-45
#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_read_fails_its_call_alone() {
    let mut world = World::up().await;
    let deep = format!("{}{}", "[".repeat(400), "]".repeat(400));
    let results = [
        r#"{"content": [{"type": "text", "text": "\ud83d"}]}"#,
        r#"{"content": [], "structuredContent": {"\udc00": 1}}"#,
        r#"{"content": [], "structuredContent": 1e400}"#,
        deep.as_str(),
        "null",
        "[]",
        "\"text\"",
        "{\"content\": [}",
        r#"{"resultType": "input_required", "inputRequests": {}}"#,
    ];
    for result in results {
        let (call, other) = (world.call(json!({})), world.call(json!({})));
        let asked = world.peer.expect("tools/call").await;
        let id = &asked["id"];
        world
            .peer
            .line(format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
            ))
            .await;
        let asked = world.peer.expect("tools/call").await;
        world.peer.say(&asked, "unharmed").await;
        let (first, second) = (call.result().await, other.result().await);
        let (broken, fine) = if first.is_error() {
            (first, second)
        } else {
            (second, first)
        };
        assert_eq!(failed(&broken).0, "MCP_MALFORMED", "{result}");
        assert_eq!(fine.text(), "unharmed");
    }
    world.still_works().await;
}

/// conformance: MCP-45
#[tokio::test(start_paused = true)]
async fn a_listing_that_cannot_be_read_leaves_the_tools() {
    let mut world = World::up().await;
    for tools in [
        r#"[{"name": "\ud83d", "inputSchema": {"type": "object"}}]"#,
        "17",
        r#"[], "nextCursor": 5"#,
    ] {
        world
            .peer
            .notify("notifications/tools/list_changed", json!({}))
            .await;
        let asked = world.peer.expect("tools/list").await;
        let id = &asked["id"];
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":{tools}}}}}"#);
        world.peer.line(line).await;
        settle().await;
        world.still_works().await;
        sleep(Duration::from_secs(1)).await;
    }
    let failures = world.events.all();
    let failures = failures
        .iter()
        .filter(|event| event.contains("the last tools stay"));
    assert_eq!(failures.count(), 3, "{:?}", world.events.all());
}

#[tokio::test(start_paused = true)]
async fn a_listing_without_end_is_given_up() {
    let mut world = World::up().await;
    world
        .peer
        .notify("notifications/tools/list_changed", json!({}))
        .await;
    let mut pages = 0;
    let told = loop {
        tokio::select! {
            biased;
            asked = world.peer.next() => {
                let asked = asked.expect("expected a request for a page");
                assert_eq!(asked["method"], "tools/list");
                pages += 1;
                let page = json!({"tools": [], "nextCursor": format!("page {pages}")});
                world.peer.answer(&asked, page).await;
            }
            () = sleep(Duration::from_secs(1)) => break world.events.all().join("\n"),
        }
    };
    assert_eq!(pages, 1_000);
    assert!(told.contains("at most 1000 pages"), "{told}");
    world.still_works().await;
    // The same place again and again is seen at once.
    world
        .peer
        .notify("notifications/tools/list_changed", json!({}))
        .await;
    for _ in 0..2 {
        let asked = world.peer.expect("tools/list").await;
        world
            .peer
            .answer(&asked, json!({"tools": [], "nextCursor": "here"}))
            .await;
    }
    settle().await;
    assert!(world.events.has("found it again"));
    world.still_works().await;
}

#[tokio::test(start_paused = true)]
async fn a_line_longer_than_may_be_fails_its_call_alone() {
    let mut world = World::up().await;
    let call = world.call(json!({}));
    let asked = world.peer.expect("tools/call").await;
    let piece = "x".repeat(1 << 20);
    world
        .peer
        .raw(r#"{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":""#)
        .await;
    for _ in 0..65 {
        world.peer.raw(&piece).await;
    }
    world
        .peer
        .raw(format!("\"}}]}},\"id\":{}}}\n", asked["id"]))
        .await;
    let (code, text) = failed(&call.result().await);
    assert_eq!(code, "MCP_MALFORMED");
    assert!(text.contains("67108864 bytes"), "{text}");
    world.still_works().await;
}

#[tokio::test(start_paused = true)]
async fn what_comes_after_the_end_is_nobodys() {
    let World {
        registry,
        source,
        peers,
        mut peer,
        events,
    } = World::up().await;
    let mut peers = {
        let disposing = tokio::spawn(async move { source.dispose().await });
        assert_eq!(peer.next().await, None);
        peer.notify("notifications/tools/list_changed", json!({}))
            .await;
        peer.notify(
            "notifications/progress",
            json!({"progressToken": 1, "progress": 1}),
        )
        .await;
        peer.say(&json!({"id": 2}), "late").await;
        peer.stopped().await;
        peer.raw("no message\n").await;
        drop(peer);
        disposing.await.unwrap();
        sleep(Duration::from_secs(60)).await;
        peers
    };
    assert!(peers.none());
    assert!(!events.has("no message"));
    assert!(registry.names(None).is_empty());
}
