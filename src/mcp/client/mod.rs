//! Servers whose tools join the registry.
//!
//! An [`McpServer`] says where a server is and how it is treated;
//! [`McpServer::load`] starts it, and its tools are called like any other,
//! under the names that [`public_name`](crate::mcp::tool::public_name) makes.
//! The [`McpSource`] that comes back keeps all that: one task supervises the
//! connection, makes it anew when it is lost, and replaces the tools when the
//! server says that they are others.
//!
//! ```
//! use futures_util::future::BoxFuture;
//! use serde_json::{Value, json};
//! use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
//! use toolfall::mcp::client::{ConnectError, Connector, McpServer, ServerState, Wire};
//! use toolfall::{BoxError, CallRequest, Pipeline, Registry};
//!
//! /// A server in this process; most are programs, see [`Stdio`].
//! struct Inside;
//! # impl Inside {
//! #     fn answer(asked: &Value) -> Value {
//! #         let result = match asked["method"].as_str() {
//! #             Some("initialize") => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
//! #                 "serverInfo": {"name": "inside", "version": "1"}}),
//! #             Some("tools/list") => json!({"tools": [{"name": "greet", "inputSchema": {"type": "object"}}]}),
//! #             Some("tools/call") => json!({"content": [{"type": "text", "text": "Hello!"}]}),
//! #             _ => return json!({"jsonrpc": "2.0", "id": asked["id"],
//! #                 "error": {"code": -32601, "message": "Method not found"}}),
//! #         };
//! #         json!({"jsonrpc": "2.0", "id": asked["id"], "result": result})
//! #     }
//! # }
//! # impl Connector for Inside {
//! #     fn connect(&self) -> BoxFuture<'static, Result<Wire, ConnectError>> {
//! #         Box::pin(async {
//! #             let (ours, theirs) = tokio::io::duplex(1 << 16);
//! #             tokio::spawn(async move {
//! #                 let (reader, mut writer) = tokio::io::split(theirs);
//! #                 let mut lines = BufReader::new(reader).lines();
//! #                 while let Ok(Some(line)) = lines.next_line().await {
//! #                     let asked: Value = serde_json::from_str(&line).unwrap_or_default();
//! #                     if asked.get("id").is_some() {
//! #                         let answer = format!("{}\n", Inside::answer(&asked));
//! #                         if writer.write_all(answer.as_bytes()).await.is_err() { break }
//! #                     }
//! #                 }
//! #             });
//! #             let (reader, writer) = tokio::io::split(ours);
//! #             Ok(Wire::new(reader, writer))
//! #         })
//! #     }
//! # }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BoxError> {
//! let registry = Registry::new();
//! let server = McpServer::over("inside", Inside)?
//!     .strict()
//!     .on_event(|event| eprintln!("{event}"));
//! let source = server.load(&registry).await?;
//! assert_eq!(registry.names(None), ["mcp__inside__greet"]);
//! assert_eq!(source.state(), ServerState::Up { generation: 1 });
//!
//! let pipeline = Pipeline::builder(registry.clone()).build();
//! let call = CallRequest::new("1", "mcp__inside__greet", "{}", Default::default());
//! assert_eq!(pipeline.run(call).await.text(), "Hello!");
//!
//! source.dispose().await;
//! assert!(registry.names(None).is_empty());
//! # Ok(()) }
//! ```
//!
//! # A listing is registered whole or not at all
//!
//! New tools take the places of old ones in one change of the registry, so no
//! call finds neither. A listing that fails, names a tool twice, or has one
//! whose name is taken by somebody else's changes nothing: the tools of the
//! last good one stay. Tools that cannot be used hinder no others; they are
//! [set aside](McpSource::quarantined), with the reasons.
//!
//! # When the connection is lost
//!
//! Calls under way fail as `MCP_CLOSED`, later ones at once as
//! `MCP_NOT_CONNECTED`; the tools stay while [`Reconnect`] has attempts left,
//! and go when it has not. No process is started before the last one is gone;
//! one that is not gone within 5 seconds ends the attempts.
//!
//! # What becomes of a server
//!
//! [`McpServer::on_event`] and the log hear the same, in the same words.

mod connector;
mod error;
mod events;
mod generation;
mod http;
mod raw_results;
mod reconnect;
mod server_config;
mod session;
mod source;
#[cfg(unix)]
mod stdio;
mod supervisor;

pub use self::connector::{ConnectError, Connector, Wire};
pub use self::error::{LoadError, StartError};
pub use self::events::{EventKind, ServerEvent};
pub use self::http::{Http, HttpError};
pub use self::reconnect::{Reconnect, ReconnectError};
pub use self::server_config::{ConfigError, McpServer};
pub use self::source::{McpSource, ServerState};
#[cfg(unix)]
pub use self::stdio::Stdio;
