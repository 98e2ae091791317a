//! The whole circle: a published MCP server, the pipeline in front of it, and a
//! client that sees the pipeline as one MCP server.
//!
//! ```text
//! npm install @modelcontextprotocol/server-everything@2026.8.31
//! cargo run --features cli --example gateway -- node_modules
//! ```
//!
//! Without a folder it has `npx` fetch the package, which wants the network.
//! `toolfall serve` does the same for a client in a process of its own.

use std::path::Path;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use toolfall::mcp::client::{ConnectError, Connector, McpServer, Stdio, Wire};
use toolfall::mcp::server::PipelineServer;
use toolfall::mcp::tool::ToolOptions;
use toolfall::policy::RuleList;
use toolfall::{BoxError, CallRequest, CallView, Pipeline, Registry, ToolResult};

const RULES: &str = r#"
otherwise = "allow"

[[rules]]
name = "the environment is nobody's business"
verdict = "deny"
tools = ["mcp__everything__get-env"]
because = "variables may be secrets"
"#;

/// The server: from a `node_modules`, else from its registry.
fn published(folder: Option<&str>) -> Stdio {
    const NAME: &str = "@modelcontextprotocol/server-everything";
    match folder {
        Some(folder) => {
            let index = Path::new(folder).join(NAME).join("dist/index.js");
            let node = std::env::var_os("TOOLFALL_NODE").unwrap_or_else(|| "node".into());
            Stdio::new(node).args([index.into_os_string(), "stdio".into()])
        }
        None => Stdio::new("npx").args(["-y", &format!("{NAME}@2026.8.31"), "stdio"]),
    }
}

/// The way from the client to the gateway, in this process.
struct Inside(PipelineServer);

impl Connector for Inside {
    fn connect(&self) -> BoxFuture<'static, Result<Wire, ConnectError>> {
        let server = self.0.clone();
        Box::pin(async move {
            let (ours, theirs) = tokio::io::duplex(1 << 16);
            tokio::spawn(async move {
                let (reader, writer) = tokio::io::split(theirs);
                let session = server.serve(reader, writer, CancellationToken::new());
                if let Err(error) = session.await {
                    eprintln!("{error}");
                }
            });
            let (reader, writer) = tokio::io::split(ours);
            Ok(Wire::new(reader, writer))
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let folder = std::env::args().nth(1);

    // Behind: the published server, whose tools join the registry. What it
    // answers is kept block by block, for another client.
    let registry = Registry::new();
    let server = McpServer::stdio("everything", published(folder.as_deref()))?
        .tool_options(ToolOptions::new().native_content())
        .strict();
    let behind = server.load(&registry).await?;

    // Between: what decides, and what hears of every result.
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ear = heard.clone();
    let note = move |call: &CallView, result: &ToolResult| {
        let outcome = if result.is_error() {
            "refused or failed"
        } else {
            "ran"
        };
        if let Ok(mut heard) = ear.lock() {
            heard.push(format!("{} {outcome}", call.name()));
        }
    };
    let pipeline = Pipeline::builder(registry.clone())
        .pre_decision(RuleList::from_toml(RULES)?)
        .observer(note)
        .build();

    // In front: the pipeline as a server, and a client of it.
    let gateway = PipelineServer::builder(pipeline, registry)
        .name("gateway")
        .build();
    let seen = Registry::new();
    let options = ToolOptions::new().raw_names();
    let client = McpServer::over("gateway", Inside(gateway))?
        .tool_options(options)
        .strict();
    let front = client.load(&seen).await?;
    println!("the client sees {} tools", seen.names(None).len());
    let calls = Pipeline::builder(seen).build();
    let call = |tool: &'static str, arguments: &'static str| {
        calls.run(CallRequest::new(
            "1",
            tool,
            arguments,
            CancellationToken::new(),
        ))
    };

    let sum = call("mcp__everything__get-sum", r#"{"a": 1, "b": 2}"#).await;
    println!("get-sum: {}", sum.text());
    assert_eq!(sum.text(), "The sum of 1 and 2 is 3.");

    let denied = call("mcp__everything__get-env", "{}").await;
    println!("get-env: {}", denied.text());
    assert!(denied.is_error() && denied.text().contains("variables may be secrets"));

    front.dispose().await;
    behind.dispose().await;
    let heard = heard.lock().map_err(|_| "the ear panicked")?.clone();
    println!("the gateway heard: {}", heard.join(", "));
    assert_eq!(heard.len(), 2);
    Ok(())
}
