//! A server in this process whose every line a test writes.
#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use toolfall::mcp::client::{ConnectError, Connector, McpServer, McpSource, ServerEvent, Wire};
use toolfall::{CallRequest, Decision, Pipeline, Registry, ToolResult};

/// So much fits into a pipe.
const PIPE: usize = 1 << 20;

/// Connects to peers that a test plays.
pub struct ToPeers(mpsc::UnboundedSender<Peer>);

/// The peers that were connected to, in order.
pub struct Peers(mpsc::UnboundedReceiver<Peer>);

pub fn peers() -> (ToPeers, Peers) {
    let (send, receive) = mpsc::unbounded_channel();
    (ToPeers(send), Peers(receive))
}

impl Connector for ToPeers {
    fn connect(&self) -> BoxFuture<'static, Result<Wire, ConnectError>> {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let (read, write) = tokio::io::split(theirs);
        let (over, is_over) = oneshot::channel::<()>();
        let stopped = CancellationToken::new();
        let peer = Peer {
            lines: BufReader::new(read).lines(),
            write,
            stopped: stopped.clone(),
            over: Some(over),
        };
        let sent = self.0.send(peer);
        Box::pin(async move {
            sent.map_err(|_| ConnectError::new("the test has ended"))?;
            let (reader, writer) = tokio::io::split(ours);
            let gone = async move {
                let _ = is_over.await;
            };
            Ok(Wire::new(reader, writer)
                .gone(gone)
                .stop(move || stopped.cancel()))
        })
    }
}

impl Peers {
    pub async fn next(&mut self) -> Peer {
        self.0.recv().await.expect("expected a connection")
    }

    pub fn none(&mut self) -> bool {
        self.0.try_recv().is_err()
    }
}

/// One end of one connection. Dropped, it is gone as a process is.
pub struct Peer {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    write: WriteHalf<DuplexStream>,
    stopped: CancellationToken,
    over: Option<oneshot::Sender<()>>,
}

impl Peer {
    /// The next message to this peer; nothing if the connection was closed.
    pub async fn next(&mut self) -> Option<Value> {
        let line = self.lines.next_line().await.ok()??;
        Some(serde_json::from_str(&line).expect("expected a message"))
    }

    /// The next message, which must be a request or notice of this name.
    pub async fn expect(&mut self, method: &str) -> Value {
        let message = self
            .next()
            .await
            .expect("expected a message, found the end");
        assert_eq!(message["method"], method, "{message}");
        message
    }

    /// Writes bytes as they are, without an end of line.
    pub async fn raw(&mut self, bytes: impl AsRef<[u8]>) {
        // Who closed the connection does not hear it.
        let _ = self.write.write_all(bytes.as_ref()).await;
    }

    pub async fn line(&mut self, line: impl AsRef<str>) {
        self.raw(format!("{}\n", line.as_ref())).await;
    }

    pub async fn answer(&mut self, request: &Value, result: Value) {
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        self.line(answer.to_string()).await;
    }

    /// Answers with a text as the only content.
    pub async fn say(&mut self, request: &Value, text: &str) {
        self.answer(request, said(text)).await;
    }

    pub async fn refuse(&mut self, request: &Value, code: i64, message: &str) {
        let error = json!({"code": code, "message": message});
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "error": error});
        self.line(answer.to_string()).await;
    }

    pub async fn notify(&mut self, method: &str, params: Value) {
        let notice = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.line(notice.to_string()).await;
    }

    /// Introduces itself, as a server of 2025 does.
    pub async fn introduce(&mut self) {
        let asked = self.expect("server/discover").await;
        self.refuse(&asked, -32601, "Method not found").await;
        let asked = self.expect("initialize").await;
        self.answer(&asked, introduced()).await;
        self.expect("notifications/initialized").await;
    }

    /// Answers one listing with tools that take anything.
    pub async fn list(&mut self, names: &[&str]) {
        let asked = self.expect("tools/list").await;
        let tools: Vec<Value> = names.iter().map(|name| tool(name)).collect();
        self.answer(&asked, json!({"tools": tools})).await;
    }

    /// Closes what it writes, and is still there.
    pub async fn hang_up(&mut self) {
        let _ = self.write.shutdown().await;
    }

    /// Dies, as a process does.
    pub fn die(&mut self) {
        let (dead, _) = tokio::io::duplex(1);
        let (read, write) = tokio::io::split(dead);
        self.lines = BufReader::new(read).lines();
        self.write = write;
        self.over = None;
    }

    /// Ready when it is made to go.
    pub async fn stopped(&self) {
        self.stopped.cancelled().await;
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.is_cancelled()
    }
}

/// The answer to `initialize`.
pub fn introduced() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": {"name": "peer", "version": "1"},
    })
}

pub fn tool(name: &str) -> Value {
    json!({"name": name, "description": "", "inputSchema": {"type": "object"}})
}

pub fn said(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// A loaded server and all around it.
pub struct World {
    pub registry: Registry,
    pub source: McpSource,
    pub peers: Peers,
    pub peer: Peer,
    pub events: Events,
}

#[derive(Clone, Default)]
pub struct Events(Arc<Mutex<Vec<String>>>);

impl Events {
    pub fn hear(&self) -> impl Fn(&ServerEvent) + Send + Sync + 'static {
        let events = self.0.clone();
        move |event| events.lock().unwrap().push(event.to_string())
    }

    pub fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub fn has(&self, part: &str) -> bool {
        self.all().iter().any(|event| event.contains(part))
    }
}

impl World {
    /// The server `srv` with the one tool `work`.
    pub async fn up() -> Self {
        Self::with(|server| server).await
    }

    pub async fn with(change: impl FnOnce(McpServer) -> McpServer) -> Self {
        let (connector, mut peers) = peers();
        let events = Events::default();
        let server = McpServer::over("srv", connector)
            .unwrap()
            .strict()
            .on_event(events.hear());
        let server = change(server);
        let registry = Registry::new();
        let (source, peer) = tokio::join!(server.load(&registry), async {
            let mut peer = peers.next().await;
            peer.introduce().await;
            peer.list(&["work"]).await;
            peer
        });
        Self {
            registry,
            source: source.unwrap(),
            peers,
            peer,
            events,
        }
    }

    /// Calls the tool `work` in the background.
    pub fn call(&self, arguments: Value) -> Call {
        self.call_tool("mcp__srv__work", arguments)
    }

    pub fn call_tool(&self, name: &str, arguments: Value) -> Call {
        let pipeline = Pipeline::builder(self.registry.clone())
            .pre_decision(|_: &toolfall::CallView| Decision::Allow)
            .build();
        let cancel = CancellationToken::new();
        let request = CallRequest::new("1", name.to_owned(), arguments.to_string(), cancel.clone());
        let running = tokio::spawn(async move { pipeline.run(request).await });
        Call { cancel, running }
    }

    /// A call that works: the connection is as good as before.
    pub async fn still_works(&mut self) {
        let call = self.call(json!({}));
        let asked = self.peer.expect("tools/call").await;
        self.peer.say(&asked, "still here").await;
        assert_eq!(call.result().await.text(), "still here");
    }
}

/// A call under way.
pub struct Call {
    pub cancel: CancellationToken,
    running: tokio::task::JoinHandle<ToolResult>,
}

impl Call {
    pub async fn result(self) -> ToolResult {
        tokio::time::timeout(Duration::from_secs(600), self.running)
            .await
            .expect("expected a result")
            .unwrap()
    }
}

/// The code of a failed result, and its text.
pub fn failed(result: &ToolResult) -> (String, String) {
    assert!(
        result.is_error(),
        "expected a failure, found {:?}",
        result.text()
    );
    (result.code().unwrap_or_default().to_owned(), result.text())
}
