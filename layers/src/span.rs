//! Spans: one per call after OpenTelemetry's `GenAI` conventions, and one per
//! stage that may wait.
//!
//! The names follow the `execute_tool` span of those conventions, which are
//! still marked as in development; they stand here and nowhere else.

use tracing::field::Empty;
use tracing::span::EnteredSpan;
use tracing::{Span, debug_span, info_span};

use crate::call::CallView;
use crate::outcome::ToolResult;

/// Every tool name that nobody registered: a span's name must not grow with
/// what a model makes up.
const UNKNOWN: &str = "_unknown";

/// Whether anybody may listen for the span of a call.
#[inline]
pub(crate) fn is_watched() -> bool {
    tracing::Level::INFO <= tracing::level_filters::LevelFilter::current()
}

/// The span of one call.
pub(crate) fn call_span(view: &CallView, known: bool) -> StageSpan {
    let name = if known { view.name() } else { UNKNOWN };
    let span = info_span!(
        "execute_tool",
        otel.name = Empty,
        otel.kind = "internal",
        otel.status_code = Empty,
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = name,
        gen_ai.tool.type = "function",
        gen_ai.tool.call.id = Empty,
        gen_ai.agent.name = Empty,
        error.type = Empty,
    );
    if !span.is_disabled() {
        span.record("otel.name", format!("execute_tool {name}"));
        span.record("gen_ai.tool.call.id", view.id().as_str());
        if let Some(scope) = view.scope() {
            span.record("gen_ai.agent.name", scope.name());
        }
    }
    StageSpan::new(span)
}

/// Says on the call's span how the call ended.
pub(crate) fn record_end(span: &StageSpan, result: &ToolResult) {
    let Some(span) = &span.0 else { return };
    if let Some(kind) = result.kind() {
        span.record("error.type", result.code().unwrap_or(kind.as_str()));
        span.record("otel.status_code", "ERROR");
    } else {
        span.record("otel.status_code", "OK");
    }
}

/// A span that is kept; costs a null pointer while nobody listens.
pub(crate) struct StageSpan(Option<Box<Span>>);

impl StageSpan {
    /// The span that nobody listens for.
    pub(crate) const fn none() -> Self {
        Self(None)
    }

    fn new(span: Span) -> Self {
        Self((!span.is_disabled()).then(|| Box::new(span)))
    }

    pub(crate) fn policy() -> Self {
        Self::new(debug_span!("toolfall.policy"))
    }

    pub(crate) fn approval() -> Self {
        Self::new(debug_span!("toolfall.approval"))
    }

    pub(crate) fn post_execute() -> Self {
        Self::new(debug_span!("toolfall.post_execute"))
    }

    pub(crate) fn body() -> Self {
        Self::new(debug_span!("toolfall.body"))
    }

    /// Enters the span until the guard is dropped.
    pub(crate) fn entered(&self) -> Option<EnteredSpan> {
        self.0.as_ref().map(|span| Span::clone(span).entered())
    }

    pub(crate) fn in_scope<T>(&self, f: impl FnOnce() -> T) -> T {
        match &self.0 {
            Some(span) => span.in_scope(f),
            None => f(),
        }
    }
}
