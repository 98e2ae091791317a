//! Tools that answer from a record: for running transcripts again.
//!
//! A [`Replay`] has a name, a schema and recorded answers. Its calls go
//! through the whole pipeline, so that policies and validation are real, and
//! only the effect is not.
//!
//! An answer is found by the call's id, by the exact text of its arguments,
//! or by both: an answer that names both is preferred to one that names the
//! id, and that one to one that names the arguments. Among equals the first
//! counts. What nothing was recorded for is a failure with the code
//! `NOT_RECORDED`, unless [`Unrecorded`] says otherwise.
//!
//! ```
//! use serde_json::json;
//! use tokio_util::sync::CancellationToken;
//! use toolfall::replay::{Answer, Replay};
//! use toolfall::*;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BoxError> {
//! let weather = Replay::new("weather", "Tells the weather", json!({"type": "object"}))
//!     .answer(Answer::success(json!("rain")).to_id("call_1"))
//!     .answer(Answer::failure("no such city").to_arguments(r#"{"city":"Atlantis"}"#));
//!
//! let registry = Registry::new();
//! registry.register(weather.into_tool())?.keep();
//! let pipeline = Pipeline::builder(registry).build();
//!
//! let token = CancellationToken::new;
//! let first = pipeline.call("call_1", "weather", "{}", token()).await;
//! assert_eq!(first.text(), "rain");
//! let second = pipeline.call("call_2", "weather", r#"{"city":"Atlantis"}"#, token()).await;
//! assert_eq!(second.text(), "Error: no such city");
//! let third = pipeline.call("call_3", "weather", "{}", token()).await;
//! assert_eq!(third.code(), Some("NOT_RECORDED"));
//! # Ok(()) }
//! ```

mod answer;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

pub use self::answer::Answer;
use self::answer::Answers;
use crate::{Arguments, BoxError, CodedError, ToolContext, ToolDef, Validation, raw_tool};

/// What a replay tool makes of a call that nothing was recorded for.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Unrecorded {
    /// A failure with the code `NOT_RECORDED`.
    #[default]
    Fail,
    /// A success that says so and shows the arguments:
    /// `{"recorded": false, "arguments": …}`.
    Show,
    /// This value.
    Value(Value),
}

/// A replay tool, before it is registered. See the [module docs](self).
#[derive(Clone, Debug)]
pub struct Replay {
    name: Cow<'static, str>,
    description: Cow<'static, str>,
    parameters: Value,
    answers: Vec<Answer>,
    unrecorded: Unrecorded,
    free_text: bool,
}

impl Replay {
    /// A tool whose arguments are described by the JSON Schema `parameters`.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
        parameters: Value,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters,
            answers: Vec::new(),
            unrecorded: Unrecorded::Fail,
            free_text: false,
        }
    }

    /// Adds a recorded answer behind those added before.
    pub fn answer(mut self, answer: Answer) -> Self {
        self.answers.push(answer);
        self
    }

    /// Says what becomes of calls that nothing was recorded for.
    pub fn unrecorded(mut self, unrecorded: Unrecorded) -> Self {
        self.unrecorded = unrecorded;
        self
    }

    /// Takes any text for arguments, as a custom tool of a provider does.
    pub fn free_text(mut self) -> Self {
        self.free_text = true;
        self
    }

    /// The tool. It may overlap with others and be repeated, for it does
    /// nothing.
    pub fn into_tool(self) -> ToolDef {
        let Self {
            name,
            description,
            parameters,
            answers,
            unrecorded,
            free_text,
        } = self;
        let answers = Arc::new(Answers::new(answers));
        let tool = raw_tool(
            name,
            description,
            parameters,
            move |arguments: Arguments, ctx: ToolContext| {
                let found = answers
                    .find(ctx.call().id().as_str(), arguments.text())
                    .map_or_else(|| unanswered(&unrecorded, &ctx, &arguments), Answer::result);
                async move { found }
            },
        )
        .parallel()
        .repeatable();
        if free_text {
            tool.validation(Validation::FreeText)
        } else {
            tool
        }
    }
}

fn unanswered(
    unrecorded: &Unrecorded,
    ctx: &ToolContext,
    arguments: &Arguments,
) -> Result<Value, BoxError> {
    match unrecorded {
        Unrecorded::Fail => Err(CodedError::new(
            "NotRecordedError",
            "NOT_RECORDED",
            format!(
                "no answer was recorded for this call of tool \"{}\"",
                ctx.call().name()
            ),
        )
        .into()),
        Unrecorded::Show => Ok(json!({"recorded": false, "arguments": arguments.value()})),
        Unrecorded::Value(value) => Ok(value.clone()),
    }
}
