//! MCP servers that break their promises while they introduce themselves.

#[path = "support/mcp_peer.rs"]
mod support;

use std::time::Duration;

use serde_json::json;
use support::{Events, Peer, introduced, peers};
use tokio::time::Instant;
use toolfall::Registry;
use toolfall::mcp::client::{McpServer, McpSource};

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
