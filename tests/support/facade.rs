//! What the tests of the assembled pipeline share.
#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolfall::{
    Arguments, BoxError, CallRequest, ClearedCall, ContextMessage, IntoArguments, Registry, Scope,
    ToolContext, ToolDef, ToolOutcome, ToolService, raw_tool,
};
use tower::{Layer, Service, ServiceExt};

/// A request with a token of its own.
pub fn request(name: &'static str, arguments: impl IntoArguments) -> CallRequest {
    CallRequest::new("call_1", name, arguments, CancellationToken::new())
}

/// A request on behalf of `scope`.
pub fn request_from(name: &'static str, scope: Option<&Scope>) -> CallRequest {
    match scope {
        Some(scope) => request(name, "{}").with_scope(scope.clone()),
        None => request(name, "{}"),
    }
}

/// A tool that says `text`.
pub fn says(name: &'static str, text: &'static str) -> ToolDef {
    returns(name, text.into(), &Counter::default())
}

/// A registry that keeps `tools`.
pub fn registry(tools: impl IntoIterator<Item = ToolDef>) -> Registry {
    let registry = Registry::new();
    for tool in tools {
        registry.register(tool).unwrap().keep();
    }
    registry
}

/// A schema of objects with anything in them.
pub fn any_object() -> Value {
    json!({"type": "object"})
}

/// A tool that gives its arguments back.
pub fn echo(name: &'static str) -> ToolDef {
    raw_tool(
        name,
        "Says it again",
        any_object(),
        |arguments: Arguments, _: ToolContext| async move {
            Ok::<Value, BoxError>(arguments.value().clone())
        },
    )
}

/// A tool that returns `value` and counts its runs.
pub fn returns(name: &'static str, value: Value, runs: &Counter) -> ToolDef {
    let runs = runs.clone();
    raw_tool(
        name,
        "Returns a value",
        any_object(),
        move |_: Arguments, _: ToolContext| {
            let (value, runs) = (value.clone(), runs.clone());
            async move {
                runs.add();
                Ok::<Value, BoxError>(value)
            }
        },
    )
}

/// A layer around the dispatch, written as one asynchronous closure over the
/// call and what is inside.
pub fn wrapper<F, Fut>(
    wrap: F,
) -> impl Layer<
    ToolService,
    Service = impl Service<
        ClearedCall,
        Response = ToolOutcome,
        Error = BoxError,
        Future = impl Future<Output = Result<ToolOutcome, BoxError>> + Send,
    > + Clone
              + Send
              + Sync
              + 'static,
> + Clone
where
    F: Fn(ClearedCall, ToolService) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<ToolOutcome, BoxError>> + Send + 'static,
{
    tower::layer::layer_fn(move |inner: ToolService| {
        let wrap = wrap.clone();
        tower::service_fn(move |call| wrap(call, inner.clone()))
    })
}

/// Goes on inward.
pub async fn delegate(inner: ToolService, call: ClearedCall) -> Result<ToolOutcome, BoxError> {
    inner.oneshot(call).await.map_err(|never| match never {})
}

/// A message for the model with one text.
pub fn context(text: &str) -> ContextMessage {
    ContextMessage::text("plugin", "test", text)
}

/// The texts of messages.
pub fn texts(contexts: &[ContextMessage]) -> Vec<String> {
    contexts
        .iter()
        .flat_map(|context| &context.content)
        .filter_map(|block| block.as_text().map(str::to_owned))
        .collect()
}

/// Counts.
#[derive(Clone, Debug, Default)]
pub struct Counter(Arc<AtomicUsize>);

impl Counter {
    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    pub fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// A list that clones share.
#[derive(Debug)]
pub struct Log<T = String>(Arc<Mutex<Vec<T>>>);

impl<T> Clone for Log<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Default for Log<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Log<T> {
    pub fn push(&self, entry: impl Into<T>) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.push(entry.into());
    }

    /// Takes everything out.
    pub fn take(&self) -> Vec<T> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The rows of a JSON Lines file in `tests/data`.
pub fn rows(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(file);
    fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Equality of JSON with exact numbers: `1.0` is `1`.
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || ((a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64())
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}
