//! The pipeline as an MCP server.
//!
//! Whatever a client calls goes through the whole pipeline, and is answered
//! as a direct call is: unknown tools, arguments that break a schema, denials
//! and failures of bodies are results with `isError`. Clients of protocol
//! 2025-11-25 and of 2026-07-28 are served alike.
//!
//! ```
//! use serde_json::{Value, json};
//! use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
//! use tokio_util::sync::CancellationToken;
//! use toolfall::mcp::server::PipelineServer;
//! use toolfall::*;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BoxError> {
//! let registry = Registry::new();
//! registry.register(tool_fn("greet", "Greets", |_: Value, _: ToolContext| async {
//!     Ok::<_, BoxError>("hello".to_owned())
//! }))?.keep();
//! let pipeline = Pipeline::builder(registry.clone()).build();
//! let server = PipelineServer::builder(pipeline, registry).name("greeter").build();
//!
//! // In a program of its own: standard input and output.
//! let (ours, theirs) = tokio::io::duplex(1 << 16);
//! let (reader, writer) = tokio::io::split(theirs);
//! tokio::spawn(async move { server.serve(reader, writer, CancellationToken::new()).await });
//!
//! let (answers, mut requests) = tokio::io::split(ours);
//! let mut answers = BufReader::new(answers).lines();
//! let hello = json!({
//!     "protocolVersion": "2025-11-25",
//!     "capabilities": {},
//!     "clientInfo": {"name": "docs", "version": "1"},
//! });
//! for request in [
//!     json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
//!     json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
//!     json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "greet"}}),
//! ] {
//!     requests.write_all(format!("{request}\n").as_bytes()).await?;
//! }
//! let _welcome = answers.next_line().await?;
//! let answer: Value = serde_json::from_str(&answers.next_line().await?.unwrap())?;
//! assert_eq!(answer["result"]["content"][0]["text"], "hello");
//! # Ok(()) }
//! ```
//!
//! # Answers
//!
//! Arguments reach the pipeline as the client wrote them, and every call gets
//! one answer, whatever panics, runs out or shuts down; one that its client
//! cancelled gets none, as the protocol wants it. A failure's code is
//! `toolfall/code` in the `_meta` of the result. Beside those of the pipeline:
//!
//! | What | How it is told |
//! |---|---|
//! | the service panicked | result, code `PIPELINE_FAILED` |
//! | the session ended and the body heeds no cancellation | result, code `ABORTED` |
//! | more calls at once than allowed | JSON-RPC error `-32029` |
//! | a request id that is in use | JSON-RPC error `-32600` without an id |
//! | a `requestState` that is nobody's | JSON-RPC error `-32602` |
//!
//! # Structured content
//!
//! The canonical value of a success goes along as `structuredContent` if it is
//! an object, and only if the content is what the tool itself made of it
//! ([`ToolResult::shows_value`](crate::ToolResult::shows_value)): where a
//! policy replaced the content, a finalizer changed it or the rest of it was
//! spilled, the value may hold what was taken out, and stays here. Policies
//! that replace the *value* change both. A client that insists on structured
//! content where an output schema is listed then refuses the result; for
//! pipelines that often replace content there is
//! [`without_structured_content`](PipelineServerBuilder::without_structured_content),
//! which lists no output schemas. A value of the closed shape `{content,
//! structuredContent?}`, as tools of other MCP servers give, is passed on as it
//! is, under the same condition.
//!
//! # Approvals
//!
//! With [`answerers`](PipelineServerBuilder::answerers), questions are put to
//! the client that made the call, as a form with the choice to approve or deny,
//! a reason, and the arguments as people may see them. Only an accepted form
//! that says `approve` lets the call run, once. Clients of 2026-07-28 get the
//! question as the answer to their call, and come back with theirs and with
//! the `requestState` that belongs to it: unguessable, good for one time, for
//! the same arguments, and for the same session or the same credentials, within
//! ten minutes.
//!
//! Without a bearer token, clients that have no session are told apart by that
//! word alone.
//!
//! # Logs
//!
//! The protocol library (`rmcp`) writes messages to its events of level debug;
//! so what they hold is in a log that takes those. Leave the target `rmcp` at
//! info or above where arguments or results are secret.

mod answer;
mod builder;
mod calls;
mod handler;
mod http;
mod listing;
mod notices;
mod options;
mod parked;
mod questions;
mod running;
mod serve;
mod session;
mod shared;
mod state;
mod transport;

pub use self::builder::PipelineServerBuilder;
pub use self::options::HttpOptions;
pub use self::serve::{PipelineServer, ServeError};
pub use self::session::Session;
