//! The body of a server's tool.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::answer::{Answer, AnswerMeta};
use super::failure::Failed;
use super::images::{self, Aborted, ImagesShown, NOT_ADMITTED};
use super::{CallFailure, Caller, McpTool, RawCall, RawProgress, ToolOptions, content};
use crate::schema::Schema;
use crate::tool::Progress;
use crate::{Arguments, CallView, ContentBlock, ToolContext, ToolDef, Validation, raw_tool};

/// What stands in the places of the images of one value: an extension of the
/// call, for the renderer. Of any other value it says nothing.
struct Prepared {
    fingerprint: u64,
    images: ImagesShown,
}

static FINGERPRINTS: LazyLock<RandomState> = LazyLock::new(RandomState::new);

fn fingerprint(value: &Value) -> u64 {
    FINGERPRINTS.hash_one(value)
}

impl McpTool {
    /// The tool, ready for a registry: its body has `caller` call the server.
    ///
    /// What the arguments, the content and the failures become, the
    /// [module](super) says.
    pub fn into_tool(self, options: ToolOptions, caller: impl Caller) -> ToolDef {
        let hints = self.hints;
        let (trusted, adjust) = (options.trusts_hints, options.adjust.clone());
        let name = if options.keeps_names {
            self.raw_name()
        } else {
            self.public_name()
        };
        let name = name.to_owned();
        let description = self.description().to_owned();
        let (parameters, output) = (self.parameters.clone(), self.output.clone());
        // It compiled when the definition was read.
        let judged = options.images.as_ref();
        let remote = Arc::new(Remote {
            output: judged.and_then(|_| Schema::compile(&output).ok()),
            tool: self,
            options,
            caller: Box::new(caller),
        });
        let shown = remote.clone();
        let tool = raw_tool(name, description, parameters, move |arguments, ctx| {
            let remote = remote.clone();
            async move { remote.run(&arguments, &ctx).await }
        })
        .validation(Validation::SchemaOrText)
        .output_schema(output)
        .render_for(move |call, value| Ok(shown.render(call, value)));
        let tool = hints.declare(tool, trusted);
        match adjust {
            Some(adjust) => adjust(tool),
            None => tool,
        }
    }
}

struct Remote {
    tool: McpTool,
    options: ToolOptions,
    /// The schema of the value, where images may have to be kept.
    output: Option<Schema>,
    caller: Box<dyn Caller>,
}

impl Remote {
    async fn run(&self, arguments: &Arguments, ctx: &ToolContext) -> Result<Value, Failed> {
        if self.tool.requires_task() {
            return Err(Failed::TaskRequired(self.tool.raw_name().to_owned()));
        }
        let answer = self.ask(arguments, ctx).await?;
        let answer = Answer::read(answer)?;
        if let Some(meta) = answer.meta {
            ctx.call().extensions().insert(AnswerMeta(meta));
        }
        let value = answer.value;
        if answer.is_error {
            let text =
                content::project_text(self.tool.raw_name(), &value, self.options.shows_resources);
            return Err(Failed::Tool(text));
        }
        let prepared = self.prepare(&value, ctx.call(), ctx.cancellation()).await;
        let prepared = prepared.map_err(|Aborted| Failed::from(CallFailure::Aborted))?;
        if let Some(images) = prepared {
            ctx.call().extensions().insert(Prepared {
                fingerprint: fingerprint(&value),
                images,
            });
        }
        Ok(value)
    }

    /// The server's answer, or why there is none.
    async fn ask(&self, arguments: &Arguments, ctx: &ToolContext) -> Result<Value, CallFailure> {
        // Nothing and a bare text stand for no arguments.
        let arguments = match arguments.value() {
            Value::Object(map) => map.clone(),
            _ => Map::new(),
        };
        let cancellation = ctx.cancellation();
        let reported = ctx.clone();
        let answer = self.caller.call(RawCall {
            name: self.tool.raw_name().to_owned(),
            arguments,
            timeout: self.options.call_timeout(),
            cancellation: cancellation.clone(),
            progress: Box::new(move |step: RawProgress| {
                reported.progress(Progress {
                    done: step.progress,
                    total: step.total,
                    message: step.message,
                });
            }),
        });
        tokio::select! {
            biased;
            answer = answer => answer,
            // A caller that does not look at the token is given up.
            () = cancellation.cancelled() => Err(CallFailure::Aborted),
        }
    }

    /// What stands in the places of the images, if a model is to see any.
    async fn prepare(
        &self,
        value: &Value,
        call: &CallView,
        cancellation: &CancellationToken,
    ) -> Result<Option<ImagesShown>, Aborted> {
        let content = content::content_of(value);
        // Nobody looks at the content of a nested call, and a value that is
        // refused anyway must not leave images behind.
        let is_seen = call.parent().is_none()
            && !self.options.is_native
            && content.iter().any(images::is_image)
            && self.output.as_ref().is_none_or(|it| it.is_valid(value));
        if !is_seen {
            return Ok(None);
        }
        let images = self.options.images.as_ref();
        let prepared = images::prepare(images, call, cancellation, content);
        prepared.await.map(Some)
    }

    /// What a model sees of `value`. Only images of the very value that came
    /// from the server were prepared; those of one that a wrapper or a policy
    /// made are told of and not shown.
    fn render(&self, call: &CallView, value: &Value) -> Vec<ContentBlock> {
        if self.options.is_native {
            return content::native(value);
        }
        let prepared = call.extensions().get::<Prepared>();
        let prepared = prepared.filter(|it| it.fingerprint == fingerprint(value));
        let none = ImagesShown::None(NOT_ADMITTED.to_owned());
        let images = prepared.as_ref().map_or(&none, |it| &it.images);
        content::project(
            self.tool.raw_name(),
            value,
            images,
            self.options.shows_resources,
        )
    }
}
