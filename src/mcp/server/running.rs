//! A call on its way through the pipeline.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};
use tower::ServiceExt as _;
use tracing::Instrument as _;

use super::questions::{Open, Question};
use super::shared::Shared;
use crate::{CallRequest, Progress, ProgressSink, Scope, ToolResult};

/// Steps of a call's progress that wait to be told; more are left out.
const STEPS: usize = 64;

/// A call that runs whoever waits for it: what it tells while it does, and
/// what it comes to. Dropping it cancels the call.
pub(super) struct Running {
    /// None if the pipeline panicked.
    pub(super) result: oneshot::Receiver<Option<ToolResult>>,
    pub(super) progress: mpsc::Receiver<Progress>,
    pub(super) questions: mpsc::Receiver<Question>,
    pub(super) desk: Open,
    pub(super) token: CancellationToken,
    _cancel: DropGuard,
}

/// What a call is made of.
pub(super) struct Asked {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: Arc<str>,
    pub(super) scope: Scope,
    /// Whether its client can be asked questions.
    pub(super) asks: bool,
    /// Whose cancellation the call ends with.
    pub(super) within: CancellationToken,
    /// Its room among the calls of its session.
    pub(super) permit: OwnedSemaphorePermit,
}

/// Starts a call on the pipeline that is the server's now.
pub(super) fn start(shared: &Shared, asked: Asked) -> Running {
    let (steps, progress) = mpsc::channel(STEPS);
    let (done, result) = oneshot::channel();
    let (desk, questions) = shared.desks.open(&asked.id, &asked.scope, asked.asks);
    let token = asked.within.child_token();
    let sink = ProgressSink::new(move |_, step| {
        // Whoever is slower than the tool misses steps in between.
        let _ = steps.try_send(step);
    });
    let request = CallRequest::new(asked.id, asked.name, &*asked.arguments, token.clone())
        .with_scope(asked.scope)
        .with_extension(sink);
    let pipeline = shared.served().pipeline.clone();
    let permit = asked.permit;
    let run = async move {
        let result = AssertUnwindSafe(pipeline.oneshot(request))
            .catch_unwind()
            .await;
        let result = match result {
            Ok(Ok(result)) => Some(result),
            Ok(Err(never)) => match never {},
            Err(payload) => {
                tracing::error!("the pipeline of an MCP server panicked");
                // A payload may panic again when it is dropped.
                let _ = toolfall_layers::panic::catch(|| drop(payload));
                None
            }
        };
        drop(permit);
        let _ = done.send(result);
    };
    // A task of its own: a call that waits for a person may outlive the
    // request that brought it, and is cancelled in order, not dropped.
    tokio::spawn(run.in_current_span());
    Running {
        result,
        progress,
        questions,
        desk,
        _cancel: token.clone().drop_guard(),
        token,
    }
}
