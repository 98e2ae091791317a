//! A cache of results, for which tower has no layer: around the dispatch.
//!
//! There it stands inside the decisions, so that a kept value needs the same
//! permission as a new one, and its hits are results like others: the guard
//! stage has the tool check and render the value for the call at hand. Put it
//! outside timeout and retry, which a hit has no need of.
//!
//! `cargo run --example cache_layer`

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_util::future::{BoxFuture, FutureExt as _};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use toolfall::layers::Digest;
use toolfall::{
    BoxError, Call, ClearedCall, Pipeline, Registry, ToolContext, ToolOutcome, ToolResult, tool_fn,
};
use tower::{Layer, Service};

/// So many values are kept; then the cache starts anew.
const MOST: usize = 1000;

type Key = (String, Digest);

/// Keeps the values of some tools by the text of the arguments.
#[derive(Clone)]
struct Cache {
    tools: &'static [&'static str],
    kept: Arc<Mutex<HashMap<Key, Value>>>,
}

impl Cache {
    fn key<C: Call>(&self, call: &C) -> Option<Key> {
        let arguments = call.arguments()?;
        let cached = self.tools.contains(&call.name());
        cached.then(|| (call.name().to_owned(), *arguments.digest()))
    }

    fn get(&self, key: &Key) -> Option<Value> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(key).cloned()
    }

    fn keep(&self, key: Key, value: Value) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MOST {
            kept.clear();
        }
        kept.insert(key, value);
    }
}

impl<S> Layer<S> for Cache {
    type Service = Cached<S>;

    fn layer(&self, inner: S) -> Cached<S> {
        let cache = self.clone();
        Cached { inner, cache }
    }
}

#[derive(Clone)]
struct Cached<S> {
    inner: S,
    cache: Cache,
}

impl<S> Service<ClearedCall> for Cached<S>
where
    S: Service<ClearedCall, Response = ToolOutcome>,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
{
    type Response = ToolOutcome;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<ToolOutcome, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, call: ClearedCall) -> Self::Future {
        let cache = self.cache.clone();
        let key = cache.key(&call);
        if let Some(value) = key.as_ref().and_then(|key| cache.get(key)) {
            return async { Ok(ToolOutcome::success(value)) }.boxed();
        }
        let outcome = self.inner.call(call);
        async move {
            let outcome = outcome.await.map_err(Into::into)?;
            if let (Some(key), Some(value)) = (key, outcome.value()) {
                cache.keep(key, value.clone());
            }
            Ok(outcome)
        }
        .boxed()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let registry = Registry::new();
    let runs = Arc::new(AtomicU32::new(0));
    for name in ["lookup", "roll"] {
        let runs = runs.clone();
        let tool = tool_fn(name, "Counts its runs", move |_: Value, _: ToolContext| {
            let run = runs.fetch_add(1, Ordering::SeqCst) + 1;
            async move { Ok::<_, BoxError>(run) }
        });
        registry.register(tool)?.keep();
    }
    let pipeline = Pipeline::builder(registry)
        .around(Cache {
            tools: &["lookup"],
            kept: Arc::default(),
        })
        .build();

    let mut texts = Vec::new();
    for (name, arguments) in [
        ("lookup", "{}"),
        ("lookup", "{}"),
        ("lookup", r#"{"n":1}"#),
        ("roll", "{}"),
        ("roll", "{}"),
    ] {
        let result: ToolResult = pipeline
            .call("1", name, arguments, CancellationToken::new())
            .await;
        println!("{name} {arguments}: {}", result.text());
        texts.push(result.text());
    }
    assert_eq!(texts, ["1", "1", "2", "3", "4"]);
    Ok(())
}
