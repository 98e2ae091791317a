//! What a tool declares of itself.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::Tool;
use super::body::{ErasedBody, TypedBody};
use super::present::{PresentCall, PresentResult};
use crate::{BoxError, CallView, ContentBlock, ToolOutcome};

pub(super) type Render =
    dyn Fn(&CallView, &Value) -> Result<Vec<ContentBlock>, BoxError> + Send + Sync;
pub(super) type ProjectMeta = dyn Fn(&CallView, &Value) -> Result<Value, BoxError> + Send + Sync;
pub(super) type Finalize =
    dyn Fn(&CallView, &ToolOutcome) -> Result<Option<Vec<ContentBlock>>, BoxError> + Send + Sync;
pub(super) type Classify = dyn Fn(&Value) -> Result<bool, BoxError> + Send + Sync;

/// Whether a call may overlap with others of its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExecutionMode {
    /// May overlap with other parallel calls.
    Parallel,
    /// Runs alone: a barrier until its result is committed.
    Exclusive,
}

/// How arguments are judged before the body runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Validation {
    /// Against the schema; then a typed body decodes them.
    Schema,
    /// As [`Schema`](Self::Schema), but a JSON string is judged as if it were
    /// `{}`: for tools whose models send text where there is nothing to say.
    /// The body gets the string.
    SchemaOrText,
    /// By decoding them into the body's type: one pass over the text, no
    /// JSON value is built. For types whose decoding is as strict as their
    /// schema. A body without a type of its own gets them unjudged.
    Decoding,
    /// Not at all, and text that is no JSON reaches the body as a string.
    FreeText,
}

/// A tool ready to be registered: a body and its declarations.
///
/// Made by [`tool_fn`](super::tool_fn), [`raw_tool`](super::raw_tool),
/// [`service_tool`](super::service_tool) or [`ToolDef::typed`].
#[derive(Clone)]
pub struct ToolDef {
    pub(super) name: Cow<'static, str>,
    pub(super) description: Cow<'static, str>,
    pub(super) parameters: Value,
    pub(super) output: Option<Value>,
    pub(super) budget: Option<Duration>,
    pub(super) repeatable: bool,
    pub(super) dangerous: bool,
    pub(super) edits: bool,
    pub(super) secret_arguments: Vec<Cow<'static, str>>,
    pub(super) secret_results: Vec<Cow<'static, str>>,
    pub(super) validation: Validation,
    pub(super) classify: Option<Arc<Classify>>,
    pub(super) render: Option<Arc<Render>>,
    pub(super) meta: Option<Arc<ProjectMeta>>,
    pub(super) finalize: Option<Arc<Finalize>>,
    pub(super) present_call: Option<Arc<PresentCall>>,
    pub(super) present_result: Option<Arc<PresentResult>>,
    pub(super) body: Arc<dyn ErasedBody>,
}

impl ToolDef {
    /// A typed tool.
    pub fn typed<T: Tool>(tool: T) -> Self {
        let (name, description) = (tool.name(), tool.description());
        let output = super::body::schema_of::<T::Output>(true);
        Self::new(
            name,
            description,
            super::body::schema_of::<T::Args>(false),
            Arc::new(TypedBody(Arc::new(tool))),
        )
        .output_schema(output)
    }

    pub(super) fn new(
        name: Cow<'static, str>,
        description: Cow<'static, str>,
        parameters: Value,
        body: Arc<dyn ErasedBody>,
    ) -> Self {
        Self {
            name,
            description,
            parameters,
            output: None,
            budget: None,
            repeatable: false,
            dangerous: false,
            edits: false,
            secret_arguments: Vec::new(),
            secret_results: Vec::new(),
            validation: Validation::Schema,
            classify: None,
            render: None,
            meta: None,
            finalize: None,
            present_call: None,
            present_result: None,
            body,
        }
    }

    /// The name that a model calls.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it does, for the model.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The schema of the arguments.
    pub fn parameters(&self) -> &Value {
        &self.parameters
    }

    pub(crate) fn declared_output(&self) -> Option<&Value> {
        self.output.as_ref()
    }

    /// Whether it is dangerous, edits, and may be repeated.
    #[cfg(feature = "mcp-server")]
    pub(crate) fn hints(&self) -> (bool, bool, bool) {
        (self.dangerous, self.edits, self.repeatable)
    }

    pub(crate) fn declared_budget(&self) -> Option<Duration> {
        self.budget
    }

    /// Replaces the name.
    pub fn with_name(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Judges the canonical value against `schema`. Without one, any JSON
    /// value is accepted.
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.output = Some(schema);
        self
    }

    /// Gives one dispatch of the tool `budget`; counts where the stack has a
    /// [`TimeoutLayer`](crate::TimeoutLayer). Never sent to a model.
    pub fn budget(mut self, budget: Duration) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Declares that running the body twice is the same as running it once.
    pub fn repeatable(mut self) -> Self {
        self.repeatable = true;
        self
    }

    /// Declares that a call can do harm, so that a person may want to be
    /// asked: see [`ApprovalPolicy`](crate::permission::ApprovalPolicy).
    /// Nothing guesses it from a name. Never sent to a model.
    pub fn dangerous(mut self) -> Self {
        self.dangerous = true;
        self
    }

    /// Declares that a call changes files. A session that may only read
    /// denies it. Never sent to a model.
    pub fn edits(mut self) -> Self {
        self.edits = true;
        self
    }

    /// Whether it was declared [`dangerous`](Self::dangerous).
    pub const fn is_dangerous(&self) -> bool {
        self.dangerous
    }

    /// Whether it was declared to make [`edits`](Self::edits).
    pub const fn makes_edits(&self) -> bool {
        self.edits
    }

    /// Lets every call overlap with other parallel calls.
    pub fn parallel(self) -> Self {
        self.parallel_when(|_| true)
    }

    /// Lets a call overlap if `safe` says so of its arguments. Whatever goes
    /// wrong, in the arguments or in `safe`, means that it may not.
    pub fn parallel_when(self, safe: impl Fn(&Value) -> bool + Send + Sync + 'static) -> Self {
        self.try_parallel_when(move |arguments| Ok(safe(arguments)))
    }

    /// As [`parallel_when`](Self::parallel_when), for a classifier that may
    /// fail.
    pub fn try_parallel_when(
        mut self,
        safe: impl Fn(&Value) -> Result<bool, BoxError> + Send + Sync + 'static,
    ) -> Self {
        self.classify = Some(Arc::new(safe));
        self
    }

    /// Says how arguments are judged.
    pub fn validation(mut self, validation: Validation) -> Self {
        self.validation = validation;
        self
    }

    /// Derives what the model sees from the value. Pure: it may run again
    /// when a wrapper or a policy changes the value. The default shows text
    /// as it is and everything else as compact JSON.
    pub fn render(
        self,
        render: impl Fn(&Value) -> Result<Vec<ContentBlock>, BoxError> + Send + Sync + 'static,
    ) -> Self {
        self.render_for(move |_, value| render(value))
    }

    /// As [`render`](Self::render), for a rendering that shows the call's
    /// arguments, too.
    pub fn render_for(
        mut self,
        render: impl Fn(&CallView, &Value) -> Result<Vec<ContentBlock>, BoxError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.render = Some(Arc::new(render));
        self
    }

    /// Derives metadata for presentation from the value; not for nested
    /// calls, which nobody is shown.
    pub fn presentation_meta(
        self,
        project: impl Fn(&Value) -> Result<Value, BoxError> + Send + Sync + 'static,
    ) -> Self {
        self.presentation_meta_for(move |_, value| project(value))
    }

    /// As [`presentation_meta`](Self::presentation_meta), for metadata that
    /// tells of the call's arguments, too.
    pub fn presentation_meta_for(
        mut self,
        project: impl Fn(&CallView, &Value) -> Result<Value, BoxError> + Send + Sync + 'static,
    ) -> Self {
        self.meta = Some(Arc::new(project));
        self
    }

    /// Has the last word on the content, whatever the outcome: to bound it,
    /// for instance. `None` leaves it as it is.
    pub fn finalizer(
        mut self,
        finalize: impl Fn(&CallView, &ToolOutcome) -> Result<Option<Vec<ContentBlock>>, BoxError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.finalize = Some(Arc::new(finalize));
        self
    }
}

impl fmt::Debug for ToolDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolDef")
            .field("name", &self.name)
            .field("description", &self.description)
            .finish_non_exhaustive()
    }
}
