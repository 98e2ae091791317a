//! What a host plugs into the result stage.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::call::CallView;
use crate::catalog::Catalog;
use crate::error::BoxError;
use crate::outcome::ToolResult;
use crate::panic::{catch, display};
use crate::redaction::Redaction;

/// Sees every result once, synchronously. It can change nothing; what it
/// fails or panics with is logged, and the next observer still runs.
pub trait Observer: Send + Sync {
    /// Called exactly once per call, after the result was frozen.
    ///
    /// # Errors
    ///
    /// Logged as a warning and otherwise ignored.
    fn notify(&self, call: &CallView, result: &ToolResult) -> Result<(), BoxError>;
}

/// What an observer closure may return: nothing, or a result of nothing. A
/// future is not among them; observers are not awaited.
#[diagnostic::on_unimplemented(
    message = "an observer cannot return `{Self}`",
    label = "expected `()` or `Result<(), E>`",
    note = "observers are synchronous and are never awaited; send to a channel to do more"
)]
pub trait Notice {
    /// Makes it a result.
    fn into_result(self) -> Result<(), BoxError>;
}

impl Notice for () {
    fn into_result(self) -> Result<(), BoxError> {
        Ok(())
    }
}

impl<E: Into<BoxError>> Notice for Result<(), E> {
    fn into_result(self) -> Result<(), BoxError> {
        self.map_err(Into::into)
    }
}

impl<F, R> Observer for F
where
    F: Fn(&CallView, &ToolResult) -> R + Send + Sync,
    R: Notice,
{
    fn notify(&self, call: &CallView, result: &ToolResult) -> Result<(), BoxError> {
        self(call, result).into_result()
    }
}

/// Keeps the durable record: a call is recorded before the first policy sees
/// it and its result after the observers did, on every path.
pub trait Recorder: Send + Sync {
    /// Records that the call came in. If this fails the call does not run and
    /// is answered with the error.
    fn call(&self, call: &CallView) -> Recorded;

    /// Records that a body is about to be entered for the first time. If
    /// this fails the body is not entered, and the error is the outcome.
    fn started(&self, call: &CallView) -> Recorded {
        let _ = call;
        Recorded::Now(Ok(()))
    }

    /// Records the result.
    ///
    /// # Errors
    ///
    /// Logged; the result stands.
    fn result(&self, call: &CallView, result: &ToolResult) -> Result<(), BoxError>;
}

/// Whether a call is recorded, or will be.
pub enum Recorded {
    /// It is, or it cannot be.
    Now(Result<(), BoxError>),
    /// It will be once this is ready, after a group commit for instance.
    Later(Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>>),
}

impl std::fmt::Debug for Recorded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Now(Ok(())) => "Recorded::Now(Ok)",
            Self::Now(Err(_)) => "Recorded::Now(Err)",
            Self::Later(_) => "Recorded::Later",
        })
    }
}

/// Everything that is the same for all calls of one stack.
#[derive(Clone, Default)]
pub(crate) struct Host {
    pub(crate) catalog: Option<Arc<dyn Catalog>>,
    pub(crate) recorder: Option<Arc<dyn Recorder>>,
    pub(crate) observers: Vec<Arc<dyn Observer>>,
    /// What is hidden of every call.
    pub(crate) redactions: Vec<Arc<dyn Redaction>>,
}

impl Host {
    pub(crate) fn notify(&self, view: &CallView, result: &ToolResult) {
        notify_each(&self.observers, view, result);
        if let Some(recorder) = &self.recorder {
            report(view, "recorder", || recorder.result(view, result));
        }
    }
}

/// Tells one observer after the other. One that fails or panics is logged and
/// keeps the result from nobody else.
pub fn notify_each<'a>(
    observers: impl IntoIterator<Item = &'a Arc<dyn Observer>>,
    call: &CallView,
    result: &ToolResult,
) {
    for observer in observers {
        report(call, "observer", || observer.notify(call, result));
    }
}

fn report(view: &CallView, who: &str, run: impl FnOnce() -> Result<(), BoxError>) {
    let message = match catch(run) {
        Ok(Ok(())) => return,
        Ok(Err(error)) => display(&error),
        Err(panic) => display(&panic),
    };
    let message = view.shown_text(&message);
    tracing::warn!(
        "tool \"{}\" ({}): tools/result {who} failed: {message}",
        view.name(),
        view.id()
    );
}
