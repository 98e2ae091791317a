//! What the log says of a server: alone in its program, for it listens to all.
#![cfg(feature = "mcp-client")]

#[path = "support/mcp_peer.rs"]
mod mcp_peer;

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_peer::World;
use toolfall::mcp::client::{McpSource, Reconnect, ServerState};

async fn until(source: &McpSource, state: ServerState) {
    let mut states = source.states();
    states.wait_for(|now| *now == state).await.unwrap();
}

/// What is logged, line by line.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<Vec<u8>>>);

impl Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// conformance: MCP-34, MCP-35
#[tokio::test(start_paused = true)]
async fn what_is_told_is_logged_in_the_same_words() {
    let logged = Logged::default();
    let writer = logged.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .without_time()
        .with_target(false)
        .with_max_level(tracing::Level::INFO)
        .with_writer(move || writer.clone())
        .finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    let reconnect = Reconnect::new()
        .initial_delay(Duration::from_millis(2))
        .max_attempts(1);
    let mut world = World::with(|server| server.reconnect(reconnect)).await;
    world.peer.die();
    let mut peer = world.peers.next().await;
    peer.introduce().await;
    peer.list(&["work"]).await;
    until(&world.source, ServerState::Up { generation: 2 }).await;
    peer.die();
    until(&world.source, ServerState::GivenUp).await;
    let text = String::from_utf8(logged.0.lock().unwrap().clone()).unwrap();
    let ours = |line: &&str| line.contains("mcp-client(srv)");
    let lines: Vec<&str> = text.lines().filter(ours).map(str::trim).collect();
    assert_eq!(
        lines,
        [
            "INFO mcp-client(srv): connected, 1 tools registered",
            "WARN mcp-client(srv): connection lost; reconnecting in 2ms (attempt 1/1)",
            "INFO mcp-client(srv): reconnected and re-synced tools",
            "ERROR mcp-client(srv): giving up after 1 consecutive failed reconnect attempts",
        ]
    );
}
