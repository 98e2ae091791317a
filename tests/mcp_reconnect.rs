//! How a lost connection is made anew, told by the clock and by events.
#![cfg(feature = "mcp-client")]

#[path = "support/mcp_peer.rs"]
mod mcp_peer;

use std::time::Duration;

use mcp_peer::{Events, Peer, Peers, World, peers, tool};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use toolfall::Registry;
use toolfall::mcp::client::{McpServer, McpSource, Reconnect, ReconnectError, ServerState};

const MS: Duration = Duration::from_millis(1);

fn quick(attempts: u32) -> Reconnect {
    Reconnect::new()
        .initial_delay(2 * MS)
        .max_delay(1000 * MS)
        .max_attempts(attempts)
}

/// A connection that comes to nothing.
async fn refuse(peers: &mut Peers) {
    let mut peer = peers.next().await;
    let asked = peer.expect("server/discover").await;
    peer.refuse(&asked, -32601, "Method not found").await;
    let asked = peer.expect("initialize").await;
    peer.refuse(&asked, -32000, "not today").await;
    while peer.next().await.is_some() {}
}

async fn serve(peers: &mut Peers, tools: &[&str]) -> Peer {
    let mut peer = peers.next().await;
    peer.introduce().await;
    peer.list(tools).await;
    peer
}

async fn until(source: &McpSource, state: ServerState) {
    let mut states = source.states();
    states.wait_for(|now| *now == state).await.unwrap();
}

fn position(events: &[String], part: &str) -> usize {
    let found = events.iter().position(|event| event.contains(part));
    found.unwrap_or_else(|| panic!("expected {part:?} in {events:#?}"))
}

fn count(events: &[String], part: &str) -> usize {
    events.iter().filter(|event| event.contains(part)).count()
}

fn read(written: Value) -> Result<Reconnect, String> {
    Reconnect::from_json(&written).map_err(|error: ReconnectError| error.to_string())
}

/// conformance: MCP-27
#[test]
fn what_is_left_out_is_as_usual_and_what_is_wrong_is_said() {
    let usual = read(json!({})).unwrap();
    assert_eq!(usual, Reconnect::default());
    assert!(usual.is_enabled());
    assert_eq!(usual.delay(1), 500 * MS);
    assert_eq!(usual.longest_delay(), 30_000 * MS);
    assert_eq!(usual.attempts(), 10);

    let merged = read(json!({"initialDelayMs": 5, "enabled": false})).unwrap();
    assert_eq!(merged, Reconnect::never().initial_delay(5 * MS));
    assert!(!merged.is_enabled());

    for (written, message) in [
        (
            json!({"jitterRatio": 0.2}),
            "reconnect.jitterRatio is not a reconnect option",
        ),
        (
            json!({"initialDelayMs": 0}),
            "initialDelayMs must be a positive finite number no greater than 2147483647, found 0",
        ),
        (
            json!({"initialDelayMs": "soon"}),
            "initialDelayMs must be a positive finite number no greater than 2147483647, \
             found \"soon\"",
        ),
        (
            json!({"maxDelayMs": -1}),
            "maxDelayMs must be a positive finite number no greater than 2147483647, found -1",
        ),
        (
            json!({"maxDelayMs": 1e300}),
            "maxDelayMs must be a positive finite number no greater than 2147483647, found 1e+300",
        ),
        (
            json!({"initialDelayMs": 11, "maxDelayMs": 10}),
            "initialDelayMs must be less than or equal to maxDelayMs",
        ),
        (
            json!({"maxAttempts": 0}),
            "maxAttempts must be a positive integer, found 0",
        ),
        (
            json!({"maxAttempts": 1.5}),
            "maxAttempts must be a positive integer, found 1.5",
        ),
        (
            json!({"enabled": 1}),
            "enabled must be true or false, found 1",
        ),
        (json!([1]), "reconnect must be an object, found a list"),
    ] {
        assert_eq!(read(written.clone()).unwrap_err(), message, "{written}");
    }
}

/// conformance: MCP-27
#[tokio::test]
async fn a_policy_that_cannot_be_meant_is_refused_at_load() {
    let wrong = Reconnect::new().initial_delay(Duration::ZERO);
    let server = McpServer::over("srv", peers().0).unwrap().reconnect(wrong);
    let error = server.load(&Registry::new()).await.unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("initialDelayMs must be a positive finite number"),
        "{error}"
    );
    let wrong = Reconnect::new().initial_delay(40_000 * MS);
    let server = McpServer::over("srv", peers().0).unwrap().reconnect(wrong);
    let error = server.load(&Registry::new()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "initialDelayMs must be less than or equal to maxDelayMs"
    );
}

#[test]
fn delays_double_up_to_the_longest() {
    let reconnect = Reconnect::new().initial_delay(3 * MS).max_delay(20 * MS);
    let delays: Vec<Duration> = [1, 2, 3, 4, 33, u32::MAX]
        .map(|attempt| reconnect.delay(attempt))
        .to_vec();
    assert_eq!(delays, [3 * MS, 6 * MS, 12 * MS, 20 * MS, 20 * MS, 20 * MS]);
    let slow = Reconnect::new()
        .initial_delay(1_000_000_000 * MS)
        .max_delay(2_000_000_000 * MS);
    assert_eq!(slow.delay(31), 2_000_000_000 * MS);
}

/// conformance: MCP-34
#[tokio::test(start_paused = true)]
async fn a_lost_connection_is_made_anew_with_the_tools_of_now() {
    let reconnect = Reconnect::new().initial_delay(5 * MS).max_attempts(5);
    let mut world = World::with(|server| server.reconnect(reconnect)).await;
    let mut changes = world.registry.changes();
    let before = *changes.borrow_and_update();
    let lost = Instant::now();
    world.peer.die();
    let mut peer = world.peers.next().await;
    let waited = lost.elapsed();
    assert!(waited >= 5 * MS && waited < 10 * MS, "{waited:?}");
    assert!(
        world
            .events
            .has("mcp-client(srv): connection lost; reconnecting in 5ms (attempt 1/5)")
    );
    peer.introduce().await;
    // The old tools stay until the new ones are there.
    assert_eq!(world.registry.names(None), ["mcp__srv__work"]);
    peer.list(&["play", "rest"]).await;
    until(&world.source, ServerState::Up { generation: 2 }).await;
    assert_eq!(
        world.registry.names(None),
        ["mcp__srv__play", "mcp__srv__rest"]
    );
    assert_eq!(*changes.borrow_and_update(), before + 1);
    assert!(
        world
            .events
            .has("mcp-client(srv): reconnected and re-synced tools")
    );
    // Nothing of the old connection is heard any more.
    drop(world.peer);
    sleep(100 * MS).await;
    assert_eq!(world.source.state(), ServerState::Up { generation: 2 });
    assert!(world.peers.none());
}

/// conformance: MCP-35
#[tokio::test(start_paused = true)]
async fn a_server_that_stays_gone_is_given_up() {
    let mut world = World::with(|server| server.reconnect(quick(2))).await;
    let lost = Instant::now();
    world.peer.die();
    refuse(&mut world.peers).await;
    let second = Instant::now();
    refuse(&mut world.peers).await;
    assert!(second.elapsed() >= 4 * MS, "{:?}", second.elapsed());
    assert!(lost.elapsed() < 500 * MS, "{:?}", lost.elapsed());
    until(&world.source, ServerState::GivenUp).await;
    let events = world.events.all();
    let order = [
        "connection lost; reconnecting in 2ms (attempt 1/2)",
        "connection attempt failed: the MCP server did not introduce itself",
        "connection failed; retrying in 4ms (attempt 2/2)",
        "giving up after 2 consecutive failed reconnect attempts",
    ];
    let places: Vec<usize> = order.iter().map(|part| position(&events, part)).collect();
    assert!(places.is_sorted(), "{events:#?}");
    assert_eq!(count(&events, "connection attempt failed"), 2);
    assert!(world.registry.names(None).is_empty());
    assert!(world.source.tools().is_empty());
    sleep(Duration::from_secs(3600)).await;
    // Three connections, the first of them and two attempts.
    assert!(world.peers.none());
}

/// conformance: MCP-36
#[tokio::test(start_paused = true)]
async fn a_listing_that_is_under_way_never_comes_after_the_giving_up() {
    let mut world = World::with(|server| server.reconnect(quick(1))).await;
    let changed = "notifications/tools/list_changed";
    world.peer.notify(changed, json!({})).await;
    let asked = world.peer.expect("tools/list").await;
    // The answer is on its way as the connection is lost.
    world
        .peer
        .answer(&asked, json!({"tools": [tool("late")]}))
        .await;
    world.peer.die();
    let mut peer = world.peers.next().await;
    peer.introduce().await;
    let asked = peer.expect("tools/list").await;
    peer.answer(&asked, json!({"tools": [tool("later")]})).await;
    peer.die();
    until(&world.source, ServerState::GivenUp).await;
    sleep(Duration::from_secs(60)).await;
    assert!(world.registry.names(None).is_empty());
    assert!(world.source.tools().is_empty());
    assert_eq!(count(&world.events.all(), "giving up after"), 1);
}

/// conformance: MCP-37
#[tokio::test(start_paused = true)]
async fn no_new_process_is_started_before_the_old_one_is_gone() {
    let mut world = World::with(|server| server.reconnect(quick(5))).await;
    world.peer.die();
    let mut peer = world.peers.next().await;
    let asked = peer.expect("server/discover").await;
    peer.refuse(&asked, -32601, "Method not found").await;
    let asked = peer.expect("initialize").await;
    peer.refuse(&asked, -32000, "not today").await;
    peer.stopped().await;
    sleep(4_900 * MS).await;
    assert!(world.peers.none());
    assert_eq!(world.source.state(), ServerState::Closing);
    // Now it is gone.
    drop(peer);
    let mut peer = serve(&mut world.peers, &["work"]).await;
    until(&world.source, ServerState::Up { generation: 2 }).await;

    // The next one closes its pipe, and never goes.
    let lost = Instant::now();
    peer.hang_up().await;
    peer.stopped().await;
    until(&world.source, ServerState::GivenUp).await;
    assert!(
        lost.elapsed() >= 5_000 * MS && lost.elapsed() < 5_100 * MS,
        "{:?}",
        lost.elapsed()
    );
    assert!(
        world
            .events
            .has("mcp-client(srv): reconnect stopped to avoid overlapping server processes")
    );
    assert!(world.registry.names(None).is_empty());
    sleep(Duration::from_secs(3600)).await;
    assert!(world.peers.none());
    // Its end is not waited for a second time.
    let since = Instant::now();
    world.source.dispose().await;
    assert!(since.elapsed() < 100 * MS, "{:?}", since.elapsed());
    assert!(world.events.has("server shutdown may be incomplete"));
}

/// conformance: MCP-38
#[tokio::test(start_paused = true)]
async fn without_reconnecting_the_tools_stay_and_their_calls_fail() {
    let mut world = World::with(|server| server.reconnect(Reconnect::never())).await;
    world.peer.die();
    until(&world.source, ServerState::GivenUp).await;
    assert!(
        world
            .events
            .has("mcp-client(srv): connection lost and reconnect is disabled")
    );
    assert_eq!(world.registry.names(None), ["mcp__srv__work"]);
    let since = Instant::now();
    let result = world.call(json!({})).result().await;
    assert_eq!(result.code(), Some("MCP_NOT_CONNECTED"));
    assert!(since.elapsed() < 10 * MS);
    sleep(Duration::from_secs(3600)).await;
    assert!(world.peers.none());
    world.source.dispose().await;
    assert!(world.registry.names(None).is_empty());
}

/// conformance: MCP-38
#[tokio::test(start_paused = true)]
async fn without_reconnecting_a_first_failure_is_the_last() {
    let (connector, mut peers) = peers();
    let events = Events::default();
    let server = McpServer::over("srv", connector)
        .unwrap()
        .reconnect(Reconnect::never())
        .on_event(events.hear());
    let registry = Registry::new();
    let (source, ()) = tokio::join!(server.load(&registry), refuse(&mut peers));
    let source = source.unwrap();
    assert_eq!(source.state(), ServerState::GivenUp);
    assert!(events.has(
        "mcp-client(srv): connection failed and reconnect is disabled; no tools were registered"
    ));
    assert!(registry.names(None).is_empty());
}

/// conformance: MCP-39
#[tokio::test(start_paused = true)]
async fn a_long_success_restarts_the_budget_and_a_short_one_does_not() {
    let mut world = World::with(|server| server.reconnect(quick(3))).await;
    world.peer.die();
    refuse(&mut world.peers).await;
    let mut peer = serve(&mut world.peers, &["work"]).await;
    until(&world.source, ServerState::Up { generation: 2 }).await;
    sleep(1_001 * MS).await;
    peer.die();
    let mut peer = serve(&mut world.peers, &["work"]).await;
    until(&world.source, ServerState::Up { generation: 3 }).await;
    let events = world.events.all();
    assert_eq!(
        count(
            &events,
            "connection lost; reconnecting in 2ms (attempt 1/3)"
        ),
        2
    );
    assert_eq!(count(&events, "retrying in 4ms (attempt 2/3)"), 1);

    // Lost at once, again and again.
    for generation in [4, 5] {
        sleep(500 * MS).await;
        peer.die();
        peer = serve(&mut world.peers, &["work"]).await;
        until(&world.source, ServerState::Up { generation }).await;
    }
    sleep(500 * MS).await;
    peer.die();
    until(&world.source, ServerState::GivenUp).await;
    let events = world.events.all();
    assert_eq!(
        count(
            &events,
            "connection lost; reconnecting in 4ms (attempt 2/3)"
        ),
        1
    );
    assert_eq!(
        count(
            &events,
            "connection lost; reconnecting in 8ms (attempt 3/3)"
        ),
        1
    );
    assert_eq!(
        count(
            &events,
            "giving up after 3 consecutive failed reconnect attempts"
        ),
        1
    );
    assert!(world.registry.names(None).is_empty());
}

/// conformance: MCP-39
#[tokio::test(start_paused = true)]
async fn an_uptime_of_exactly_the_longest_delay_is_enough() {
    for (uptime, attempt) in [(999, "4ms (attempt 2/3)"), (1000, "2ms (attempt 1/3)")] {
        let mut world = World::with(|server| server.reconnect(quick(3))).await;
        world.peer.die();
        let mut peer = world.peers.next().await;
        peer.introduce().await;
        let asked = peer.expect("tools/list").await;
        let mut states = world.source.states();
        peer.answer(&asked, json!({"tools": [tool("work")]})).await;
        states
            .wait_for(|now| *now == ServerState::Up { generation: 2 })
            .await
            .unwrap();
        sleep(uptime * MS).await;
        peer.hang_up().await;
        drop(peer);
        let _next = world.peers.next().await;
        let events = world.events.all();
        let last = format!("connection lost; reconnecting in {attempt}");
        assert!(
            events.last().unwrap().contains(&last),
            "{uptime}: {events:#?}"
        );
    }
}

/// conformance: MCP-40
#[tokio::test(start_paused = true)]
async fn a_close_and_a_failure_of_one_attempt_are_one() {
    let mut world = World::with(|server| server.reconnect(quick(3))).await;
    world.peer.die();
    for _ in 0..3 {
        let mut peer = world.peers.next().await;
        let asked = peer.expect("server/discover").await;
        peer.refuse(&asked, -32601, "Method not found").await;
        let asked = peer.expect("initialize").await;
        peer.refuse(&asked, -32000, "not today").await;
        peer.die();
    }
    until(&world.source, ServerState::GivenUp).await;
    sleep(Duration::from_secs(3600)).await;
    assert!(world.peers.none());
    let events = world.events.all();
    assert_eq!(count(&events, "giving up after 3"), 1);
    assert_eq!(count(&events, "connection attempt failed"), 3);
}

/// conformance: MCP-40
#[tokio::test(start_paused = true)]
async fn a_close_while_a_connection_succeeds_is_followed_by_no_listing() {
    let mut world = World::with(|server| server.reconnect(quick(3))).await;
    world.peer.die();
    let mut peer = world.peers.next().await;
    let asked = peer.expect("server/discover").await;
    peer.refuse(&asked, -32601, "Method not found").await;
    let asked = peer.expect("initialize").await;
    let introduced = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": {"name": "peer", "version": "1"},
    });
    peer.answer(&asked, introduced).await;
    peer.hang_up().await;
    while let Some(message) = peer.next().await {
        assert_ne!(message["method"], "tools/list");
    }
    drop(peer);
    let _peer = serve(&mut world.peers, &["work"]).await;
    until(&world.source, ServerState::Up { generation: 2 }).await;
    assert_eq!(count(&world.events.all(), "connection attempt failed"), 1);
}

/// conformance: MCP-43
#[tokio::test(start_paused = true)]
async fn a_notice_from_a_replaced_connection_is_ignored() {
    let mut world = World::with(|server| server.reconnect(quick(3))).await;
    let changed = "notifications/tools/list_changed";
    world.peer.notify(changed, json!({})).await;
    world.peer.notify(changed, json!({})).await;
    world.peer.hang_up().await;
    world.peer.stopped().await;
    drop(world.peer);
    let mut peer = serve(&mut world.peers, &["work"]).await;
    until(&world.source, ServerState::Up { generation: 2 }).await;
    let more = tokio::time::timeout(Duration::from_secs(60), peer.next()).await;
    assert!(more.is_err(), "{more:?}");
}

#[tokio::test(start_paused = true)]
async fn calls_fail_at_once_while_a_server_is_down_and_work_when_it_is_back() {
    let reconnect = Reconnect::new().initial_delay(1000 * MS);
    let mut world = World::with(|server| server.reconnect(reconnect)).await;
    let under_way = world.call(json!({}));
    world.peer.expect("tools/call").await;
    world.peer.die();
    assert_eq!(under_way.result().await.code(), Some("MCP_CLOSED"));
    let since = Instant::now();
    let result = world.call(json!({})).result().await;
    assert_eq!(result.code(), Some("MCP_NOT_CONNECTED"));
    assert!(since.elapsed() < 10 * MS);
    world.peer = serve(&mut world.peers, &["work"]).await;
    until(&world.source, ServerState::Up { generation: 2 }).await;
    world.still_works().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_not_there_at_first_comes_later() {
    let (connector, mut peers) = peers();
    let server = McpServer::over("srv", connector)
        .unwrap()
        .reconnect(quick(3));
    let registry = Registry::new();
    let (source, ()) = tokio::join!(server.load(&registry), refuse(&mut peers));
    let source = source.unwrap();
    assert!(registry.names(None).is_empty());
    let _peer = serve(&mut peers, &["work"]).await;
    until(&source, ServerState::Up { generation: 1 }).await;
    assert_eq!(registry.names(None), ["mcp__srv__work"]);
}
