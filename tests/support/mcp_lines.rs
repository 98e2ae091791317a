//! A client that speaks MCP in lines, as plainly as it goes.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::similar_names,
    reason = "every test uses its own part of it"
)]

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use toolfall::mcp::server::{PipelineServer, ServeError};
use toolfall::*;

pub const LEGACY: &str = "2025-11-25";
pub const MODERN: &str = "2026-07-28";

/// One client over a pipe.
pub struct Client {
    read: Lines<BufReader<ReadHalf<DuplexStream>>>,
    write: WriteHalf<DuplexStream>,
    /// What came while something else was waited for.
    pub others: Vec<Value>,
    pub served: JoinHandle<Result<(), ServeError>>,
    pub shutdown: CancellationToken,
    next: i64,
}

impl Client {
    /// A connection on which nothing was said yet.
    pub fn connect(server: &PipelineServer) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (read, write) = tokio::io::split(theirs);
        let shutdown = CancellationToken::new();
        let (server, stop) = (server.clone(), shutdown.clone());
        let served = tokio::spawn(async move { server.serve(read, write, stop).await });
        let (read, write) = tokio::io::split(ours);
        Self {
            read: BufReader::new(read).lines(),
            write,
            others: Vec::new(),
            served,
            shutdown,
            next: 1000,
        }
    }

    /// A session of a client with these capabilities.
    pub async fn begin(server: &PipelineServer, capabilities: Value) -> Self {
        let mut client = Self::connect(server);
        let params = json!({
            "protocolVersion": LEGACY,
            "capabilities": capabilities,
            "clientInfo": {"name": "lines", "version": "1"},
        });
        let answer = client.ask("initialize", params).await;
        assert_eq!(answer["result"]["protocolVersion"], LEGACY, "{answer}");
        client
            .send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        client
    }

    pub async fn raw(&mut self, line: &str) {
        self.write.write_all(line.as_bytes()).await.unwrap();
        self.write.write_all(b"\n").await.unwrap();
    }

    pub async fn send(&mut self, message: Value) {
        self.raw(&message.to_string()).await;
    }

    /// The next message.
    pub async fn next(&mut self) -> Value {
        let line = tokio::time::timeout(Duration::from_secs(60), self.read.next_line()).await;
        let line = line.expect("a message within a minute").unwrap();
        serde_json::from_str(&line.expect("a message, not the end")).unwrap()
    }

    /// Whatever still comes until the end.
    pub async fn rest(&mut self) -> Vec<Value> {
        let mut rest = Vec::new();
        while let Ok(Some(line)) = self.read.next_line().await {
            rest.push(serde_json::from_str(&line).unwrap());
        }
        rest
    }

    /// Asserts that nothing comes for a while.
    pub async fn silence(&mut self) {
        let line = tokio::time::timeout(Duration::from_millis(100), self.read.next_line()).await;
        assert!(line.is_err(), "expected silence, found {line:?}");
    }

    /// The answer to the request `id`; what comes before it is kept.
    pub async fn answer(&mut self, id: impl Into<Value>) -> Value {
        let id = id.into();
        loop {
            let message = self.next().await;
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.others.push(message);
        }
    }

    /// The next request of the server's, with this method.
    pub async fn request(&mut self, method: &str) -> Value {
        loop {
            let message = self.next().await;
            if message["method"] == method {
                return message;
            }
            self.others.push(message);
        }
    }

    pub async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(request).await;
        self.answer(id).await
    }

    /// Begins a call, with the arguments as they are written.
    pub async fn start(&mut self, id: impl Into<Value>, name: &str, arguments: &str) {
        let (id, name) = (id.into(), Value::from(name));
        self.raw(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":{name},"arguments":{arguments}}}}}"#
        ))
        .await;
    }

    /// Calls a tool and gives the result.
    pub async fn call(&mut self, name: &str, arguments: &str) -> Value {
        self.next += 1;
        let id = self.next;
        self.start(id, name, arguments).await;
        let answer = self.answer(id).await;
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    pub async fn cancel(&mut self, id: impl Into<Value>) {
        let params = json!({"requestId": id.into()});
        let method = "notifications/cancelled";
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await;
    }

    /// The client's output ends; its input stays open.
    pub async fn hang_up(&mut self) {
        self.write.shutdown().await.unwrap();
    }
}

/// What a client of the newest protocol says with every request.
pub fn meta(capabilities: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "lines", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

/// A tool that says its arguments again.
pub fn echo(name: &'static str) -> ToolDef {
    raw_tool(
        name,
        "Says it again",
        json!({"type": "object"}),
        |arguments: Arguments, _: ToolContext| async move {
            Ok::<_, BoxError>(arguments.value().clone())
        },
    )
    .parallel()
}

/// A registry of these tools.
pub fn registry(tools: impl IntoIterator<Item = ToolDef>) -> Registry {
    let registry = Registry::new();
    for registration in registry.register_all(tools).unwrap() {
        registration.keep();
    }
    registry
}

/// A server of these tools, without any policy.
pub fn server(tools: impl IntoIterator<Item = ToolDef>) -> PipelineServer {
    let registry = registry(tools);
    let pipeline = Pipeline::builder(registry.clone()).build();
    PipelineServer::builder(pipeline, registry).build()
}

/// The text of a result's first block.
pub fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}
