//! The end of a loaded server, whatever it was doing at that moment.
#![cfg(feature = "mcp-client")]

#[path = "support/mcp_peer.rs"]
mod mcp_peer;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use mcp_peer::{Events, Peer, World, peers, tool};
use serde_json::json;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use toolfall::host::Host;
use toolfall::mcp::client::{
    ConnectError, Connector, EventKind, LoadError, McpServer, McpSource, Reconnect, ServerState,
    Wire,
};
use toolfall::{CallRequest, Pipeline, Registry, ToolResult};

const MS: Duration = Duration::from_millis(1);

async fn closed(mut peer: Peer) {
    while peer.next().await.is_some() {}
    assert!(
        tokio::time::timeout(Duration::from_secs(60), peer.stopped())
            .await
            .is_ok()
    );
}

/// conformance: MCP-33
#[tokio::test(start_paused = true)]
async fn the_tools_of_now_go_and_the_client_is_closed() {
    let mut world = World::up().await;
    world
        .peer
        .notify("notifications/tools/list_changed", json!({}))
        .await;
    world.peer.list(&["now", "too"]).await;
    sleep(200 * MS).await;
    assert_eq!(
        world.registry.names(None),
        ["mcp__srv__now", "mcp__srv__too"]
    );
    let under_way = world.call_tool("mcp__srv__now", json!({}));
    world.peer.expect("tools/call").await;
    let since = Instant::now();
    tokio::join!(world.source.dispose(), closed(world.peer));
    assert!(since.elapsed() < 100 * MS, "{:?}", since.elapsed());
    assert!(world.registry.names(None).is_empty());
    assert_eq!(world.source.state(), ServerState::Disposed);
    assert_eq!(under_way.result().await.code(), Some("MCP_CLOSED"));
    // Again is nothing.
    world.source.dispose().await;
    assert!(world.peers.none());
}

/// What panics while it ends.
struct Brittle(Mutex<Option<Wire>>);

impl Connector for Brittle {
    fn connect(&self) -> BoxFuture<'static, Result<Wire, ConnectError>> {
        let wire = self.0.lock().unwrap().take();
        Box::pin(async { wire.ok_or_else(|| ConnectError::new("once")) })
    }
}

/// conformance: MCP-33
#[tokio::test(start_paused = true)]
async fn a_close_that_fails_is_contained() {
    let (connector, mut peers) = peers();
    let wire = connector.connect().await.unwrap();
    let wire = wire.gone(async {
        sleep(Duration::from_secs(60)).await;
        panic!("no end")
    });
    let wire = wire.stop(|| panic!("no stop"));
    let server = McpServer::over("srv", Brittle(Mutex::new(Some(wire)))).unwrap();
    let registry = Registry::new();
    let (source, peer) = tokio::join!(server.load(&registry), async {
        let mut peer = peers.next().await;
        peer.introduce().await;
        peer.list(&["work"]).await;
        peer
    });
    let source = source.unwrap();
    assert_eq!(registry.names(None), ["mcp__srv__work"]);
    drop(peer);
    source.dispose().await;
    assert!(registry.names(None).is_empty());
    assert_eq!(source.state(), ServerState::Disposed);
}

/// conformance: MCP-41
#[tokio::test(start_paused = true)]
async fn a_disposal_in_a_backoff_is_prompt_and_the_last_word() {
    let reconnect = Reconnect::new().initial_delay(20_000 * MS);
    let mut world = World::with(|server| server.reconnect(reconnect)).await;
    world.peer.die();
    let mut states = world.source.states();
    let off = |state: &ServerState| matches!(state, ServerState::BackingOff { .. });
    states.wait_for(off).await.unwrap();
    let since = Instant::now();
    world.source.dispose().await;
    assert!(since.elapsed() < 10 * MS);
    sleep(Duration::from_secs(3600)).await;
    assert!(world.peers.none());
    assert!(world.registry.names(None).is_empty());
}

/// conformance: MCP-41
#[tokio::test(start_paused = true)]
async fn a_disposal_while_a_connect_is_pending_leaves_no_retry() {
    let reconnect = Reconnect::new().initial_delay(MS);
    let mut world = World::with(|server| server.reconnect(reconnect)).await;
    world.peer.die();
    let mut peer = world.peers.next().await;
    let asked = peer.expect("server/discover").await;
    let before = world.events.all().len();
    let since = Instant::now();
    let ((), ()) = tokio::join!(world.source.dispose(), async {
        // The failure comes too late for anybody.
        peer.refuse(&asked, -32000, "not today").await;
        closed(peer).await;
    });
    assert!(since.elapsed() < 100 * MS, "{:?}", since.elapsed());
    assert_eq!(world.events.all()[before..], ["mcp-client(srv): disposed"]);
    sleep(Duration::from_secs(3600)).await;
    assert!(world.peers.none());
}

/// conformance: MCP-41, MCP-43
#[tokio::test(start_paused = true)]
async fn a_disposal_during_a_listing_is_silent_and_its_tools_come_to_nothing() {
    let mut world = World::up().await;
    world
        .peer
        .notify("notifications/tools/list_changed", json!({}))
        .await;
    let asked = world.peer.expect("tools/list").await;
    let before = world.events.all().len();
    let ((), ()) = tokio::join!(world.source.dispose(), async {
        let late = json!({"tools": [tool("late")]});
        world.peer.answer(&asked, late).await;
        closed(world.peer).await;
    });
    sleep(Duration::from_secs(60)).await;
    assert!(world.registry.names(None).is_empty());
    assert!(world.source.tools().is_empty());
    assert_eq!(world.events.all()[before..], ["mcp-client(srv): disposed"]);
    assert!(world.peers.none());
}

/// conformance: MCP-42
#[tokio::test(start_paused = true)]
async fn a_client_that_never_closes_is_left_alone_after_five_seconds() {
    let world = World::up().await;
    let since = Instant::now();
    let mut peer = world.peer;
    let ((), methods) = tokio::join!(world.source.dispose(), async {
        let mut methods = Vec::new();
        while let Some(message) = peer.next().await {
            methods.push(message["method"].clone());
        }
        methods
    });
    assert!(since.elapsed() >= 5_000 * MS && since.elapsed() < 5_100 * MS);
    assert!(
        world
            .events
            .has("mcp-client(srv): server shutdown may be incomplete")
    );
    assert!(methods.iter().all(|method| method != "tools/list"));
    assert!(world.registry.names(None).is_empty());
    assert_eq!(world.source.state(), ServerState::Disposed);
    drop(peer);
}

/// conformance: MCP-42
#[tokio::test(start_paused = true)]
async fn a_connect_whose_peer_never_closes_is_left_alone_as_well() {
    let (connector, mut peers) = peers();
    let events = Events::default();
    let server = McpServer::over("srv", connector)
        .unwrap()
        .on_event(events.hear());
    let registry = Registry::new();
    let loading = tokio::spawn({
        let registry = registry.clone();
        async move { server.load(&registry).await.map(drop) }
    });
    let mut peer = peers.next().await;
    peer.expect("server/discover").await;
    loading.abort();
    assert!(loading.await.unwrap_err().is_cancelled());
    peer.stopped().await;
    assert!(peer.next().await.is_none());
    sleep(4_900 * MS).await;
    assert!(events.all().is_empty());
    sleep(200 * MS).await;
    assert_eq!(
        events.all(),
        [
            "mcp-client(srv): server shutdown may be incomplete",
            "mcp-client(srv): disposed"
        ]
    );
    assert!(registry.names(None).is_empty());
    assert!(peers.none());
}

/// Drops the source, or disposes it, after so many steps of a life that goes
/// through every state: whatever it interrupts, nothing is left.
#[tokio::test(start_paused = true)]
async fn a_source_that_is_dropped_at_any_moment_leaves_nothing() {
    for steps in 0..14 {
        for is_dropped in [false, true] {
            let registry = Registry::new();
            let (connector, mut peers) = peers();
            let server = McpServer::over("srv", connector)
                .unwrap()
                .reconnect(Reconnect::new().initial_delay(10 * MS).max_attempts(2));
            let done = Arc::new(AtomicUsize::new(0));
            let step = |done: &Arc<AtomicUsize>| {
                let done = done.clone();
                async move {
                    done.fetch_add(1, Ordering::SeqCst);
                    sleep(MS / 10).await;
                }
            };
            let life = tokio::spawn({
                let done = done.clone();
                async move {
                    let mut peer = peers.next().await;
                    step(&done).await;
                    peer.introduce().await;
                    step(&done).await;
                    peer.list(&["work"]).await;
                    step(&done).await;
                    sleep(20 * MS).await;
                    step(&done).await;
                    peer.notify("notifications/tools/list_changed", json!({}))
                        .await;
                    let asked = peer.expect("tools/list").await;
                    step(&done).await;
                    peer.answer(&asked, json!({"tools": [tool("more")]})).await;
                    step(&done).await;
                    peer.hang_up().await;
                    peer.stopped().await;
                    step(&done).await;
                    drop(peer);
                    step(&done).await;
                    let mut peer = peers.next().await;
                    step(&done).await;
                    peer.introduce().await;
                    step(&done).await;
                    peer.list(&["work"]).await;
                    step(&done).await;
                    drop(peer);
                    let peer = peers.next().await;
                    step(&done).await;
                    drop(peer);
                    sleep(Duration::from_secs(60)).await;
                    step(&done).await;
                    sleep(Duration::from_secs(86_400)).await;
                }
            });
            let mut reaches = Box::pin(async {
                while done.load(Ordering::SeqCst) < steps {
                    sleep(MS / 20).await;
                }
            });
            let loading = server.load(&registry);
            let mut load = Box::pin(loading);
            let source = tokio::select! {
                biased;
                source = &mut load => {
                    let source = source.unwrap();
                    (&mut reaches).await;
                    Some(source)
                }
                () = &mut reaches => None,
            };
            // Also while it is loaded.
            drop(load);
            match source {
                Some(source) if !is_dropped => source.dispose().await,
                source => drop(source),
            }
            // The life goes on meanwhile, and reaches nobody.
            sleep(Duration::from_secs(120)).await;
            assert!(registry.names(None).is_empty(), "{steps}");
            life.abort();
            let _ = life.await;
            sleep(Duration::from_secs(10)).await;
            // The name is free.
            let (connector, mut peers) = mcp_peer::peers();
            let again = McpServer::over("srv", connector).unwrap();
            let (source, peer) = tokio::join!(again.load(&registry), async {
                let mut peer = peers.next().await;
                peer.introduce().await;
                peer.list(&["again"]).await;
                peer
            });
            assert_eq!(source.unwrap().tools().len(), 1, "{steps}");
            drop(peer);
        }
    }
}

/// A connector that panics, in one of the two ways.
struct Panics(bool, AtomicUsize);

impl Connector for Panics {
    fn connect(&self) -> BoxFuture<'static, Result<Wire, ConnectError>> {
        self.1.fetch_add(1, Ordering::SeqCst);
        assert!(self.0, "no future at all");
        Box::pin(async { panic!("no connection") })
    }
}

#[tokio::test(start_paused = true)]
async fn a_connector_that_panics_is_a_failed_attempt() {
    for (late, text) in [(true, "no connection"), (false, "no future at all")] {
        let events = Events::default();
        let server = McpServer::over("srv", Panics(late, AtomicUsize::new(0)))
            .unwrap()
            .reconnect(Reconnect::new().max_attempts(2))
            .on_event(events.hear());
        let registry = Registry::new();
        let source = server.load(&registry).await.unwrap();
        let mut states = source.states();
        let given_up = |state: &ServerState| *state == ServerState::GivenUp;
        states.wait_for(given_up).await.unwrap();
        assert!(
            events.has(&format!("the connector panicked: {text}")),
            "{:?}",
            events.all()
        );
        assert!(events.has("giving up after 2"));
        let error = server.clone().strict().load(&registry).await.unwrap_err();
        assert!(matches!(error, LoadError::InUse { .. }));
        source.dispose().await;
        let error = server.strict().load(&registry).await.unwrap_err();
        assert!(matches!(error, LoadError::Start { .. }));
    }
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_panics_is_contained_and_the_next_one_hears() {
    let count = Arc::new(AtomicUsize::new(0));
    let heard = count.clone();
    let mut world = World::with(|server| {
        server
            .on_event(|event| panic!("I do not want to hear {event}"))
            .on_event(move |event| {
                if matches!(event.kind(), EventKind::Connected { tools: 1 }) {
                    assert_eq!(event.server(), "srv");
                    heard.fetch_add(1, Ordering::SeqCst);
                }
            })
    })
    .await;
    // Also what is heard where messages are read.
    world.peer.line("no message").await;
    world.still_works().await;
    assert_eq!(count.load(Ordering::SeqCst), 1);
    assert!(
        world.events.has("the server wrote no message"),
        "{:?}",
        world.events.all()
    );
}

#[tokio::test(start_paused = true)]
async fn a_listing_without_an_end_fails_in_time() {
    let mut world = World::with(|server| server.connect_timeout(3_000 * MS)).await;
    world
        .peer
        .notify("notifications/tools/list_changed", json!({}))
        .await;
    world.peer.expect("tools/list").await;
    let since = Instant::now();
    while !world.events.has("tool synchronization failed") {
        sleep(10 * MS).await;
    }
    assert!(since.elapsed() >= 2_900 * MS && since.elapsed() < 3_100 * MS);
    assert_eq!(world.registry.names(None), ["mcp__srv__work"]);
    assert_eq!(world.source.state(), ServerState::Up { generation: 1 });
}

#[test]
fn without_a_runtime_nothing_is_started() {
    let (connector, mut peers) = peers();
    let server = McpServer::over("srv", connector).unwrap();
    let registry = Registry::new();
    let loaded = futures_util::FutureExt::now_or_never(server.load(&registry)).unwrap();
    assert!(matches!(loaded, Err(LoadError::NoRuntime { .. })));
    assert!(peers.none());
}

/// A runtime that shuts down takes the tools along, and frees the name.
#[test]
fn a_runtime_that_shuts_down_leaves_no_tools() {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    let first = runtime();
    let World {
        registry,
        source,
        peer,
        ..
    } = first.block_on(World::up());
    assert_eq!(registry.names(None), ["mcp__srv__work"]);
    drop(first);
    assert!(registry.names(None).is_empty());
    assert_eq!(source.state(), ServerState::Disposed);
    runtime().block_on(source.dispose());
    drop(peer);

    let (connector, mut peers) = peers();
    let server = McpServer::over("srv", connector).unwrap();
    let again = runtime().block_on(async {
        let (source, _peer) = tokio::join!(server.load(&registry), async {
            let mut peer = peers.next().await;
            peer.introduce().await;
            peer.list(&["work"]).await;
            peer
        });
        source.map(|source| source.tools().len())
    });
    assert_eq!(again.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn calls_after_the_disposal_say_that_nobody_is_there() {
    let world = World::up().await;
    let keeps_its_tool = world.registry.clone();
    let entry = World::call(&world, json!({}));
    let mut peer = world.peer;
    peer.expect("tools/call").await;
    let (result, ()): (ToolResult, ()) = tokio::join!(entry.result(), async {
        tokio::join!(world.source.dispose(), closed(peer));
    });
    assert_eq!(result.code(), Some("MCP_CLOSED"));
    assert!(keeps_its_tool.names(None).is_empty());
}

/// Two threads call while the server says again and again that its tools are
/// others: no call finds nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn no_call_falls_between_two_listings() {
    let mut world = World::up().await;
    let registry = world.registry.clone();
    let pipeline = Pipeline::builder(registry).build();
    let over = Arc::new(AtomicUsize::new(0));
    let callers: Vec<_> = (0..2)
        .map(|_| {
            let (pipeline, over) = (pipeline.clone(), over.clone());
            tokio::spawn(async move {
                let mut calls = 0;
                while over.load(Ordering::SeqCst) == 0 {
                    let cancel = CancellationToken::new();
                    let call = CallRequest::new("1", "mcp__srv__work", "{}", cancel);
                    assert_eq!(pipeline.run(call).await.text(), "done");
                    calls += 1;
                }
                calls
            })
        })
        .collect();
    let changed = "notifications/tools/list_changed";
    world.peer.notify(changed, json!({})).await;
    let mut listings = 0;
    while listings < 20 {
        let asked = world.peer.next().await.unwrap();
        if asked["method"] == "tools/list" {
            listings += 1;
            let described = json!({"name": "work", "description": listings.to_string(),
                "inputSchema": {"type": "object"}});
            world
                .peer
                .answer(&asked, json!({"tools": [described]}))
                .await;
            world.peer.notify(changed, json!({})).await;
        } else if asked["method"] == "tools/call" {
            world.peer.say(&asked, "done").await;
        }
    }
    over.store(1, Ordering::SeqCst);
    let answering = tokio::spawn(async move {
        while let Some(asked) = world.peer.next().await {
            if asked["method"] == "tools/call" {
                world.peer.say(&asked, "done").await;
            }
        }
    });
    for caller in callers {
        assert!(caller.await.unwrap() > 0);
    }
    answering.abort();
}

#[tokio::test(start_paused = true)]
async fn a_listener_may_drop_the_source_that_it_hears_of() {
    let held: Arc<Mutex<Option<McpSource>>> = Arc::default();
    let taken = held.clone();
    let world = World::with(|server| {
        server.on_event(move |event| {
            if matches!(event.kind(), EventKind::Reconnecting { .. }) {
                drop(taken.lock().unwrap().take());
            }
        })
    })
    .await;
    let mut states = world.source.states();
    *held.lock().unwrap() = Some(world.source);
    let mut peer = world.peer;
    peer.die();
    let disposed = |state: &ServerState| *state == ServerState::Disposed;
    states.wait_for(disposed).await.unwrap();
    assert!(world.registry.names(None).is_empty());
    let mut peers = world.peers;
    sleep(Duration::from_secs(3600)).await;
    assert!(peers.none());
}

#[tokio::test(start_paused = true)]
async fn an_open_scope_that_holds_a_source_disposes_it() {
    let host = Host::new();
    let registry = host.registry().clone();
    let open = host.open("agent");
    let (connector, mut peers) = peers();
    let server = McpServer::over("srv", connector).unwrap();
    let (source, peer) = tokio::join!(server.load_in(&registry, open.scope()), async {
        let mut peer = peers.next().await;
        peer.introduce().await;
        peer.list(&["work"]).await;
        peer
    });
    open.hold(source.unwrap());
    let scope = open.scope().clone();
    assert_eq!(registry.names(Some(&scope)), ["mcp__srv__work"]);
    drop(open);
    assert!(registry.names(Some(&scope)).is_empty());
    closed(peer).await;
}

#[tokio::test(start_paused = true)]
async fn many_may_dispose_at_once_and_all_of_them_wait() {
    let world = World::up().await;
    let peer = world.peer;
    let since = Instant::now();
    let going = async {
        peer.stopped().await;
        sleep(2_000 * MS).await;
        drop(peer);
    };
    let dispose = || async {
        world.source.dispose().await;
        assert!(since.elapsed() >= 2_000 * MS);
    };
    tokio::join!(dispose(), dispose(), dispose(), going);
    assert!(!world.events.has("may be incomplete"));
}
