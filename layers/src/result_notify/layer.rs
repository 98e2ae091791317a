use std::fmt;
use std::sync::Arc;

use tower_layer::Layer;

use super::{Host, Notice, Observer, Recorder, ResultNotify};
use crate::call::CallView;
use crate::catalog::Catalog;
use crate::outcome::ToolResult;
use crate::redaction::Redaction;

/// Applies [`ResultNotify`]. See the [module docs](super) for an example.
#[derive(Clone, Default)]
pub struct ResultNotifyLayer {
    host: Arc<Host>,
}

impl ResultNotifyLayer {
    /// A layer without catalog, recorder and observers.
    pub fn new() -> Self {
        Self::default()
    }

    fn change(mut self, change: impl FnOnce(&mut Host)) -> Self {
        change(Arc::make_mut(&mut self.host));
        self
    }

    /// Where the stages look tools up. Without a catalog no budget, finalizer
    /// or rendering is known, and a success that a wrapper authors is an
    /// unknown tool.
    pub fn catalog(self, catalog: Arc<dyn Catalog>) -> Self {
        self.change(|host| host.catalog = Some(catalog))
    }

    /// Who keeps the durable record.
    pub fn recorder(self, recorder: Arc<dyn Recorder>) -> Self {
        self.change(|host| host.recorder = Some(recorder))
    }

    /// Hides from people and records what `redaction` says, of every call;
    /// see [`redaction`](crate::redaction).
    pub fn redact(self, redaction: Arc<dyn Redaction>) -> Self {
        self.change(|host| host.redactions.push(redaction))
    }

    /// Adds an observer, told after those added before.
    pub fn observer<F, R>(self, observer: F) -> Self
    where
        F: Fn(&CallView, &ToolResult) -> R + Send + Sync + 'static,
        R: Notice,
    {
        self.observe_with(Arc::new(observer))
    }

    /// Adds an observer that is a type of its own.
    pub fn observe_with(self, observer: Arc<dyn Observer>) -> Self {
        self.change(|host| host.observers.push(observer))
    }
}

impl<S> Layer<S> for ResultNotifyLayer {
    type Service = ResultNotify<S>;

    fn layer(&self, inner: S) -> Self::Service {
        ResultNotify::new(inner, self.host.clone())
    }
}

impl fmt::Debug for ResultNotifyLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResultNotifyLayer").finish_non_exhaustive()
    }
}
