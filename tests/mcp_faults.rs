//! MCP servers that break their promises: each fault is one coded result,
//! and the next call works.

#[path = "support/mcp_peer.rs"]
mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use support::{Events, Peer, World, failed, introduced, peers, said};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use toolfall::mcp::client::{McpServer, McpSource};
use toolfall::{CallRequest, CallView, Decision, Pipeline, Progress, ProgressSink, Registry};

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

/// Loads a server that `play` plays from its first message on.
async fn loaded<F: Future<Output = Peer>>(
    play: impl FnOnce(Peer) -> F,
) -> (Result<McpSource, String>, Events, Peer) {
    let (connector, mut peers) = peers();
    let events = Events::default();
    let server = McpServer::over("srv", connector)
        .unwrap()
        .strict()
        .on_event(events.hear());
    let registry = Registry::new();
    let (source, peer) = tokio::join!(server.load(&registry), async {
        play(peers.next().await).await
    });
    let source = source.map_err(|error| {
        let cause: &dyn std::error::Error = std::error::Error::source(&error).unwrap();
        let cause = cause
            .source()
            .map_or(cause.to_string(), ToString::to_string);
        format!("{error}: {cause}")
    });
    (source, events, peer)
}

#[tokio::test(start_paused = true)]
async fn a_server_may_print_before_it_introduces_itself() {
    let (source, events, _peer) = loaded(|mut peer| async move {
        peer.line("Welcome!").await;
        peer.say(&json!({"id": 99}), "nothing").await;
        peer.introduce().await;
        peer.line("Ready.").await;
        peer.list(&["work"]).await;
        peer
    })
    .await;
    assert_eq!(source.unwrap().tools().len(), 1);
    assert!(events.has("Welcome!") && events.has("Ready."));
}

/// The first question is one that old servers need not understand.
#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_the_first_question_is_asked_the_old_one() {
    let began = Instant::now();
    let (source, _, _peer) = loaded(|mut peer| async move {
        let first = peer.expect("server/discover").await;
        let second = peer.expect("initialize").await;
        assert!(began.elapsed() >= Duration::from_secs(10));
        // Now it answers both.
        peer.refuse(&first, -32601, "late").await;
        peer.answer(&second, introduced()).await;
        peer.refuse(&first, -32601, "once more").await;
        peer.expect("notifications/initialized").await;
        peer.list(&["work"]).await;
        peer
    })
    .await;
    assert_eq!(source.unwrap().tools().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_without_an_id_is_one_of_the_first_question() {
    let began = Instant::now();
    let (source, events, _peer) = loaded(|mut peer| async move {
        peer.expect("server/discover").await;
        peer.refuse(&json!({"id": null}), -32600, "what is that?")
            .await;
        let asked = peer.expect("initialize").await;
        assert_eq!(began.elapsed(), Duration::ZERO);
        peer.answer(&asked, introduced()).await;
        peer.expect("notifications/initialized").await;
        peer.list(&["work"]).await;
        peer
    })
    .await;
    assert_eq!(source.unwrap().tools().len(), 1);
    assert!(events.has("what is that?"));
}

#[tokio::test(start_paused = true)]
async fn an_introduction_that_is_none_is_told() {
    for (answer, told) in [
        (
            r#""result":{"protocolVersion":"\ud800"}"#,
            "cannot be read: unexpected end of hex escape",
        ),
        (r#""result":[]"#, "expected the server's introduction"),
        (
            r#""error":{"code":-32000,"message":"no licence"}"#,
            "no licence",
        ),
    ] {
        let (source, ..) = loaded(|mut peer| async move {
            let asked = peer.expect("server/discover").await;
            peer.refuse(&asked, -32601, "Method not found").await;
            let asked = peer.expect("initialize").await;
            peer.line(format!(
                r#"{{"jsonrpc":"2.0","id":{},{answer}}}"#,
                asked["id"]
            ))
            .await;
            peer.stopped().await;
            peer.die();
            peer
        })
        .await;
        let error = source.unwrap_err();
        assert!(error.contains(told), "{told}: {error}");
    }
    // It dies instead.
    let (source, ..) = loaded(|mut peer| async move {
        peer.expect("server/discover").await;
        peer.die();
        peer
    })
    .await;
    let error = source.unwrap_err();
    assert!(error.contains("closed"), "{error}");
    // It never says a word.
    let began = Instant::now();
    let (source, ..) = loaded(|mut peer| async move {
        peer.stopped().await;
        peer.die();
        peer
    })
    .await;
    assert!(source.unwrap_err().contains("30000 ms"));
    assert_eq!(began.elapsed().as_secs(), 30);
}
