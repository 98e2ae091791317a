//! A server that is none: tools whose calls a closure answers.
#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use toolfall::mcp::tool::{CallFailure, Caller, McpTool, RawCall, ToolOptions};
use toolfall::pipeline::BoxPipeline;
use toolfall::{CallRequest, Pipeline, Registry, ToolDef, ToolResult};

/// What a server was asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    pub name: String,
    pub arguments: Map<String, Value>,
    pub timeout: Duration,
}

type Reply = dyn Fn(RawCall) -> BoxFuture<'static, Result<Value, CallFailure>> + Send + Sync;

/// Answers calls and notes them; clones share the notes.
#[derive(Clone)]
pub struct Fake {
    reply: Arc<Reply>,
    sent: Arc<Mutex<Vec<Sent>>>,
}

impl Fake {
    /// Answers every call with `answer`.
    pub fn answering(answer: Value) -> Self {
        Self::replying(move |_| Ok(answer.clone()))
    }

    /// Answers at once what `reply` says.
    pub fn replying(
        reply: impl Fn(&RawCall) -> Result<Value, CallFailure> + Send + Sync + 'static,
    ) -> Self {
        Self::later(move |call| {
            let answer = reply(&call);
            Box::pin(async { answer })
        })
    }

    /// Answers when the future of `reply` is done.
    pub fn later(
        reply: impl Fn(RawCall) -> BoxFuture<'static, Result<Value, CallFailure>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self {
            reply: Arc::new(reply),
            sent: Arc::default(),
        }
    }

    /// What was sent so far.
    pub fn sent(&self) -> Vec<Sent> {
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.clone()
    }
}

impl Caller for Fake {
    fn call(&self, call: RawCall) -> BoxFuture<'static, Result<Value, CallFailure>> {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.push(Sent {
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            timeout: call.timeout,
        });
        drop(sent);
        (self.reply)(call)
    }
}

/// A definition of the tool `name` that takes any object.
pub fn definition(name: &str) -> Value {
    json!({"name": name, "description": "Does it", "inputSchema": {"type": "object"}})
}

/// The tool of `definition`, of the server `srv`.
pub fn parsed(definition: Value) -> McpTool {
    McpTool::parse("srv", definition).unwrap()
}

/// The tool `raw` of the server `srv`, which answers `answer`.
pub fn answering(answer: Value) -> ToolDef {
    parsed(definition("raw")).into_tool(ToolOptions::new(), Fake::answering(answer))
}

/// A pipeline of `tool` alone.
pub fn pipeline(tool: ToolDef) -> BoxPipeline {
    Pipeline::builder(alone(tool)).build().boxed()
}

/// A registry of `tool` alone.
pub fn alone(tool: ToolDef) -> Registry {
    let registry = Registry::new();
    registry.register(tool).unwrap().keep();
    registry
}

/// A call of the tool `name` with a token of its own.
pub fn request(name: &str, arguments: &str) -> CallRequest {
    let (name, arguments) = (name.to_owned(), arguments.to_owned());
    CallRequest::new("call_1", name, arguments, CancellationToken::new())
}

/// The result of one call of `tool` without arguments.
pub async fn run(tool: ToolDef) -> ToolResult {
    let call = request(tool.name(), "{}");
    pipeline(tool).run(call).await
}

/// The result of one call of a tool that answers `answer`.
pub async fn result(answer: Value) -> ToolResult {
    run(answering(answer)).await
}

/// The texts of the blocks of what a server answers with these blocks.
pub async fn seen(blocks: Value) -> Vec<String> {
    let result = result(json!({"content": blocks})).await;
    assert!(!result.is_error(), "{}", result.text());
    let text = |block: &toolfall::ContentBlock| block.as_text().unwrap().to_owned();
    result.content().iter().map(text).collect()
}
