//! A layer of one's own: counts the calls of each tool and refuses a tool
//! that was called too often.
//!
//! `cargo run --example custom_layer`

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use futures_util::future::{Either, Ready, ready};
use tokio_util::sync::CancellationToken;
use toolfall::{BoxError, Call, Pipeline, Registry, ToolContext, ToolOutcome, tool_fn};
use tower::{Layer, Service};

/// The layer: what is shared by all calls.
#[derive(Clone, Default)]
struct Quota(Arc<Mutex<HashMap<String, u32>>>);

const MOST: u32 = 2;

impl<S> Layer<S> for Quota {
    type Service = QuotaService<S>;

    fn layer(&self, inner: S) -> QuotaService<S> {
        QuotaService {
            inner,
            quota: self.clone(),
        }
    }
}

#[derive(Clone)]
struct QuotaService<S> {
    inner: S,
    quota: Quota,
}

// Written once for every form of a call: it fits outside the decisions as
// well as around the dispatch.
impl<S, C> Service<C> for QuotaService<S>
where
    S: Service<C, Response = ToolOutcome, Error = BoxError>,
    C: Call,
{
    type Response = ToolOutcome;
    type Error = BoxError;
    type Future = Either<S::Future, Ready<Result<ToolOutcome, BoxError>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: C) -> Self::Future {
        let used = {
            let mut counts = self.quota.0.lock().expect("nothing panics under the lock");
            let count = counts.entry(call.name().to_owned()).or_default();
            *count += 1;
            *count
        };
        if used > MOST {
            return Either::Right(ready(Ok(ToolOutcome::failure("the quota is used up"))));
        }
        Either::Left(self.inner.call(call))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let registry = Registry::new();
    let roll = tool_fn(
        "roll",
        "Rolls a die",
        |_: serde_json::Value, _: ToolContext| async { Ok::<_, BoxError>(4) },
    );
    registry.register(roll)?.keep();
    let pipeline = Pipeline::builder(registry)
        .decision_layer(Quota::default())
        .build();

    let mut texts = Vec::new();
    for id in ["1", "2", "3"] {
        let result = pipeline
            .call(id, "roll", "{}", CancellationToken::new())
            .await;
        println!("{id}: {}", result.text());
        texts.push(result.text());
    }
    assert_eq!(texts, ["4", "4", "Error: the quota is used up"]);
    Ok(())
}
