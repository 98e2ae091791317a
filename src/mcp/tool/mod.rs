//! What an MCP server says of a tool, as a tool of the registry.
//!
//! [`McpTool::parse`] reads one tool of a listing and quarantines what cannot
//! be used; [`McpTool::into_tool`] makes a [`ToolDef`](crate::ToolDef) of it,
//! whose body has a [`Caller`] carry the call to the server. A server is a
//! stranger: what it says of a tool, and what it answers, is taken for no
//! better than it is.
//!
//! ```
//! use std::sync::Arc;
//! use futures_util::future::BoxFuture;
//! use serde_json::{Value, json};
//! use toolfall::mcp::tool::{CallFailure, Caller, McpTool, RawCall, ToolOptions};
//! use toolfall::{BoxError, CallRequest, Pipeline, Registry};
//!
//! struct Adder;
//!
//! impl Caller for Adder {
//!     fn call(&self, call: RawCall) -> BoxFuture<'static, Result<Value, CallFailure>> {
//!         assert_eq!(call.name, "get-sum");
//!         let number = |name: &str| call.arguments[name].as_i64().unwrap_or_default();
//!         let text = (number("a") + number("b")).to_string();
//!         Box::pin(async move { Ok(json!({"content": [{"type": "text", "text": text}]})) })
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BoxError> {
//! let integer = json!({"type": "integer"});
//! let definition = json!({
//!     "name": "get-sum",
//!     "description": "Adds two numbers",
//!     "inputSchema": {"type": "object", "properties": {"a": integer, "b": integer}},
//! });
//! let tool = McpTool::parse("everything", definition)?;
//! let registry = Registry::new();
//! registry.register(tool.into_tool(ToolOptions::new(), Adder))?.keep();
//!
//! let pipeline = Pipeline::builder(registry).build();
//! let name = "mcp__everything__get-sum";
//! let call = CallRequest::new("1", name, r#"{"a":2,"b":3}"#, Default::default());
//! let result = pipeline.run(call).await;
//! assert_eq!(result.text(), "5");
//! assert_eq!(result.value(), Some(&json!({"content": [{"type": "text", "text": "5"}]})));
//! # Ok(()) }
//! ```
//!
//! # Arguments
//!
//! They are judged by the server's schema and sent under the tool's raw name.
//! `null`, nothing at all and a bare text count as `{}`.
//!
//! # Values and content
//!
//! The canonical value is `{content, structuredContent?}`, with every block as
//! the server wrote it. Its schema holds structured content to the advertised
//! schema, if that compiles; else any is taken, and where none is advertised
//! it must be an object. Content of a model is made of the value:
//!
//! | block | what a model sees |
//! |---|---|
//! | text | the text; adjacent ones become one block, a line each |
//! | image | an attachment, if [`Images`] keeps it; else a line that says why not |
//! | resource link | name and address |
//! | audio, embedded resource, unknown kinds | a line that says that there was one |
//! | none | the structured content as JSON; else a line that says so |
//!
//! With [`ToolOptions::show_resources`] a model reads embedded texts; with
//! [`ToolOptions::native_content`] blocks stay apart and what they are.
//! An older server's `toolResult` is shown as text. What comes as `_meta` is
//! for programs: [`AnswerMeta`].
//!
//! # Images
//!
//! Those of one answer are kept together or not at all, before the outcome
//! goes to post-execute policies, and only for calls whose result a model
//! sees: not of failures, nor of nested calls. Where a wrapper or a policy
//! makes another value or other content, theirs is what counts.
//!
//! # Failures
//!
//! | what happened | code |
//! |---|---|
//! | the call was cancelled | `ABORTED` |
//! | no answer within the call's timeout | `MCP_TIMEOUT` |
//! | the connection was lost under the call | `MCP_CLOSED` |
//! | there is no connection; nothing was sent | `MCP_NOT_CONNECTED` |
//! | the server refused the arguments (-32602) | `MCP_INVALID_ARGS` |
//! | any other error of JSON-RPC | `MCP_PROTOCOL_ERROR` |
//! | the answer cannot be understood | `MCP_MALFORMED` |
//! | the tool says that it failed (`isError`) | `MCP_TOOL_ERROR` |
//! | the tool must run as a task, or the server made one | `MCP_TASK_REQUIRED` |
//! | structured content breaks the advertised schema | `INVALID_TOOL_OUTPUT` |
//!
//! An `isError` that is no boolean is taken for an error. Structured content
//! of a failed tool is not judged: the tool's own words are what counts.
//!
//! # Hints
//!
//! A `destructiveHint` makes a tool [dangerous](crate::ToolDef::dangerous).
//! Nothing is loosened for the sake of a hint, unless the host
//! [trusts](ToolOptions::trust_hints) the server.
//!
//! # Definitions that change
//!
//! [`Definitions`] remembers what was accepted and tells what changed;
//! [`RefuseChanged`] keeps what changed from running. A denial names the rule
//! `TOOL_DEFINITION_CHANGED`.

mod answer;
mod body;
mod call;
mod content;
mod definitions;
mod digest;
mod failure;
mod hints;
mod images;
mod mcp_tool;
mod name;
mod options;
mod output;
mod quarantine;

pub use self::answer::AnswerMeta;
pub use self::call::{CallFailure, Caller, RawCall, RawProgress};
pub use self::definitions::{
    ChangeKind, ChangedPart, DefinitionChange, Definitions, DefinitionsError, RefuseChanged,
};
pub use self::images::{ImageModel, ImageStore, ImageStoreError, Images, NewImage, StoredImage};
pub use self::mcp_tool::McpTool;
pub use self::name::public_name;
pub use self::options::ToolOptions;
pub use self::quarantine::Quarantine;
