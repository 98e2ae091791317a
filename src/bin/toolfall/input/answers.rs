//! Recorded answers as they are written.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use toolfall::Arguments;
use toolfall::replay::Answer;

use crate::error::Error;

/// One recorded answer: `value` or `error`, and what it belongs to.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["value"]}, {"required": ["error"]}]))]
pub(crate) struct Recorded {
    /// In a file of many tools' answers, the tool's name.
    name: Option<String>,
    /// Ties it to calls with this id.
    call_id: Option<String>,
    /// Ties it to calls with this argument text.
    arguments_json: Option<String>,
    /// What the tool returned; this or `error` is required.
    #[serde(default, deserialize_with = "present")]
    value: Option<Value>,
    /// What it failed with instead.
    error: Option<String>,
    /// The failure's code.
    code: Option<String>,
}

/// A value that is there, `null` too.
pub(super) fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

impl Recorded {
    pub(crate) fn answer(&self) -> Result<Answer, String> {
        let answer = match (&self.value, &self.error) {
            (Some(value), None) => Answer::success(value.clone()),
            (None, Some(message)) => Answer::failure(message.clone()),
            _ => return Err("expected either `value` or `error` in a recorded answer".to_owned()),
        };
        let answer = match &self.code {
            Some(code) => answer.with_code("RecordedError", code.clone()),
            None => answer,
        };
        let answer = match &self.call_id {
            Some(id) => answer.to_id(id.clone()),
            None => answer,
        };
        Ok(match &self.arguments_json {
            Some(text) => answer.to_arguments(text.clone()),
            None => answer,
        })
    }
}

/// The answers of tool `name` in a file of JSON Lines.
pub(crate) fn read(file: &Path, text: &str, name: &str) -> Result<Vec<Answer>, Error> {
    let mut answers = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let fail = |message: String| {
            Error::at(
                file,
                number,
                format!("expected a recorded answer: {message}"),
            )
        };
        let checked = Arguments::from_text(line).map_err(|error| fail(error.to_string()))?;
        let recorded: Recorded = checked.decode().map_err(|error| fail(error.to_string()))?;
        if recorded.name.as_deref().is_none_or(|named| named == name) {
            answers.push(recorded.answer().map_err(fail)?);
        }
    }
    Ok(answers)
}
