//! Bodies of every kind behind one trait.

use std::any::Any;
use std::borrow::Cow;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolfall_layers::{Arguments, BoxBody, CodedError, DecodeError, to_value};
use tower::util::Oneshot;
use tower_service::Service;

use super::{Tool, ToolContext, ToolDef, Validation};
use crate::{ArgumentsError, ArgumentsErrorKind, BoxError, CallView, ToolOutcome, codes};

/// A body whose types are gone.
pub(super) trait ErasedBody: Send + Sync {
    /// Makes the body's future, or the failure of arguments that do not
    /// decode. Nothing of the body runs before the future is polled.
    fn prepare(&self, validation: Validation, ctx: ToolContext) -> Result<BoxBody, ToolOutcome>;
}

pub(super) struct TypedBody<T>(pub(super) Arc<T>);

impl<T: Tool> ErasedBody for TypedBody<T> {
    fn prepare(&self, validation: Validation, ctx: ToolContext) -> Result<BoxBody, ToolOutcome> {
        let args: T::Args = decode(&ctx, validation)?;
        let tool = self.0.clone();
        Ok(Box::pin(async move {
            let call = ctx.call().clone();
            snapshot(&call, tool.call(args, ctx).await?)
        }))
    }
}

struct FnBody<F, A, R>(F, PhantomData<fn(A) -> R>);

impl<F, A, R, Fut, E> ErasedBody for FnBody<F, A, (R, E)>
where
    F: Fn(A, ToolContext) -> Fut + Clone + Send + Sync + 'static,
    A: DeserializeOwned + Send + 'static,
    Fut: Future<Output = Result<R, E>> + Send + 'static,
    R: Serialize + Send + 'static,
    E: Into<BoxError> + 'static,
{
    fn prepare(&self, validation: Validation, ctx: ToolContext) -> Result<BoxBody, ToolOutcome> {
        let args: A = decode(&ctx, validation)?;
        let body = self.0.clone();
        Ok(Box::pin(async move {
            let call = ctx.call().clone();
            snapshot(&call, body(args, ctx).await.map_err(Into::into)?)
        }))
    }
}

struct RawBody<F>(F);

impl<F, Fut, E> ErasedBody for RawBody<F>
where
    F: Fn(Arguments, ToolContext) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<Value, E>> + Send + 'static,
    E: Into<BoxError> + 'static,
{
    fn prepare(&self, _: Validation, ctx: ToolContext) -> Result<BoxBody, ToolOutcome> {
        let (body, arguments) = (self.0.clone(), arguments(&ctx)?.clone());
        Ok(Box::pin(async move {
            let call = ctx.call().clone();
            checked(&call, body(arguments, ctx).await.map_err(Into::into)?)
        }))
    }
}

/// A tool of a closure with typed arguments and a serialisable output.
pub fn tool_fn<F, A, Fut, R, E>(
    name: impl Into<Cow<'static, str>>,
    description: impl Into<Cow<'static, str>>,
    body: F,
) -> ToolDef
where
    F: Fn(A, ToolContext) -> Fut + Clone + Send + Sync + 'static,
    A: DeserializeOwned + JsonSchema + Send + 'static,
    Fut: Future<Output = Result<R, E>> + Send + 'static,
    R: Serialize + JsonSchema + Send + 'static,
    E: Into<BoxError> + 'static,
{
    ToolDef::new(
        name.into(),
        description.into(),
        schema_of::<A>(false),
        Arc::new(FnBody::<F, A, (R, E)>(body, PhantomData)),
    )
    .output_schema(schema_of::<R>(true))
}

/// A tool whose arguments are described by the JSON Schema `parameters`; the
/// body gets them as they are.
///
/// They are validated unless [`ToolDef::validation`] says otherwise.
pub fn raw_tool<F, Fut, E>(
    name: impl Into<Cow<'static, str>>,
    description: impl Into<Cow<'static, str>>,
    parameters: Value,
    body: F,
) -> ToolDef
where
    F: Fn(Arguments, ToolContext) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<Value, E>> + Send + 'static,
    E: Into<BoxError> + 'static,
{
    ToolDef::new(
        name.into(),
        description.into(),
        parameters,
        Arc::new(RawBody(body)),
    )
}

/// A tool whose body is a tower service over the arguments' value.
///
/// The service is cloned for each call, readied and called, so tower's own
/// limits, buffers and retries apply to it.
///
/// ```
/// use serde_json::{Value, json};
/// use toolfall::{BoxError, service_tool};
///
/// let echo = tower::service_fn(|arguments: Value| async move { Ok::<_, BoxError>(arguments) });
/// let tool = service_tool("echo", "Says it again", json!({"type": "object"}), echo);
/// assert_eq!(tool.name(), "echo");
/// ```
pub fn service_tool<S>(
    name: impl Into<Cow<'static, str>>,
    description: impl Into<Cow<'static, str>>,
    parameters: Value,
    service: S,
) -> ToolDef
where
    S: Service<Value, Response = Value> + Clone + Send + Sync + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
{
    raw_tool(
        name,
        description,
        parameters,
        move |arguments: Arguments, _| {
            let service = service.clone();
            async move { Oneshot::new(service, arguments.value().clone()).await }
        },
    )
}

/// The call's arguments. The result stage answers a call without them, so
/// the failure is never seen.
pub(super) fn arguments(ctx: &ToolContext) -> Result<&Arguments, ToolOutcome> {
    ctx.call()
        .arguments()
        .ok_or_else(|| ToolOutcome::invalid_arguments(&["the arguments cannot be kept exactly"]))
}

fn decode<A: DeserializeOwned>(
    ctx: &ToolContext,
    validation: Validation,
) -> Result<A, ToolOutcome> {
    let arguments = arguments(ctx)?;
    arguments.decode().map_err(|error| {
        let error = said(ctx.call(), arguments, &error);
        refused(&error, validation)
    })
}

/// What is wrong with arguments, without what the call hides.
fn said(call: &CallView, arguments: &Arguments, error: &DecodeError) -> String {
    let text = error.to_string();
    if !call.has_redactions() {
        return text;
    }
    let shown = Arguments::from_text(call.shown_arguments());
    let shown = shown.as_ref().map(Arguments::value);
    let (found, seen) = (
        arguments.value().pointer(error.pointer()),
        shown.ok().and_then(|shown| shown.pointer(error.pointer())),
    );
    // A leaf is quoted; of a list or an object only its kind is told.
    let leaf = !matches!(found, Some(Value::Array(_) | Value::Object(_)));
    if leaf && (found != seen || found.is_none()) {
        return format!("at \"{}\": a secret that does not fit", error.pointer());
    }
    call.shown_text(&text).into_owned()
}

fn refused(error: &str, validation: Validation) -> ToolOutcome {
    match validation {
        // The schema let them pass: schema and type have drifted apart, which
        // is no fault of the model's.
        Validation::Schema => ToolOutcome::failure(format!(
            "the tool's schema accepts these arguments but its type does not: {error}"
        ))
        .with_info(crate::ErrorInfo::new("ToolSchemaDrift", "SCHEMA_DRIFT"))
        .of_kind(crate::FailureKind::Body),
        _ => ToolOutcome::invalid_arguments(&[error]),
    }
}

/// Longer text, in bytes, is judged by [`to_value`], which has a limit.
const MOVED_TEXT: usize = 1024 * 1024;

/// The canonical value of a typed output.
fn snapshot<R: Serialize + 'static>(call: &CallView, output: R) -> Result<Value, BoxError> {
    // Text is the most common output, and moves instead of being copied.
    let mut output = output;
    if let Some(text) = (&mut output as &mut dyn Any).downcast_mut::<String>()
        && text.len() <= MOVED_TEXT
    {
        return Ok(Value::String(std::mem::take(text)));
    }
    to_value(&output).map_err(|error| invalid_value(call, &error))
}

fn checked(call: &CallView, value: Value) -> Result<Value, BoxError> {
    match toolfall_layers::check_value(&value) {
        Ok(()) => Ok(value),
        Err(error) => {
            // Too deep a value must not be dropped by recursion either.
            toolfall_layers::discard_value(value);
            Err(invalid_value(call, &error))
        }
    }
}

/// The failure for a value that JSON cannot hold exactly.
fn invalid_value(call: &CallView, error: &ArgumentsError) -> BoxError {
    let violation = match error.kind() {
        ArgumentsErrorKind::Serialize => format!("value snapshot failed: {error}"),
        _ => "value is not lossless JSON".to_owned(),
    };
    CodedError::new(
        "ToolOutputError",
        codes::INVALID_TOOL_OUTPUT,
        format!(
            "tool \"{}\" returned invalid output: {violation}",
            call.name()
        ),
    )
    .into()
}

pub(super) fn schema_of<T: JsonSchema>(output: bool) -> Value {
    let settings = SchemaSettings::draft2020_12();
    let settings = if output {
        settings.for_serialize()
    } else {
        settings.for_deserialize()
    };
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // The draft is the default one, and the title is the Rust type's name.
    schema.remove("$schema");
    schema.remove("title");
    let is_object = schema.get("type").is_some_and(|kind| kind == "object");
    if !output && is_object && schema.get("properties").is_none() {
        // Some providers refuse parameters without this, even if it is empty.
        schema.insert("properties".to_owned(), serde_json::json!({}));
    }
    schema.to_value()
}
