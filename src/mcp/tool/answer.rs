//! From the object that a server answers to a canonical value.

use serde_json::{Map, Value, json};
use toolfall_layers::{check_value, discard_value};

use super::CallFailure;
use super::failure::Failed;

/// What an older server says where it has nothing to say.
const NO_OUTPUT: &str = "(no output)";

/// What the server said of an answer beside its content, as `_meta`: for
/// programs, never for models. It is put among the extensions of the call
/// whose answer it came with, where policies and observers find it.
///
/// ```
/// use serde_json::json;
/// use toolfall::CallView;
/// use toolfall::mcp::tool::AnswerMeta;
///
/// fn cost(call: &CallView) -> Option<u64> {
///     let meta = call.extensions().get::<AnswerMeta>()?;
///     meta.0["io.example/cost"].as_u64()
/// }
/// # let _ = cost;
/// assert_eq!(AnswerMeta(json!({"io.example/cost": 3})).0["io.example/cost"], 3);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerMeta(pub Value);

/// An answer that was understood.
#[derive(Debug)]
pub(super) struct Answer {
    /// `content` and perhaps `structuredContent`, and nothing else.
    pub(super) value: Value,
    pub(super) is_error: bool,
    pub(super) meta: Option<Value>,
}

impl Answer {
    /// Reads `raw`, the object of a result; blocks stay as they are.
    pub(super) fn read(raw: Value) -> Result<Self, Failed> {
        if let Err(error) = check_value(&raw) {
            // It may be too deep to be dropped by recursion.
            discard_value(raw);
            return Err(malformed(error.to_string()));
        }
        let Value::Object(mut raw) = raw else {
            return Err(malformed("expected an object as the result".to_owned()));
        };
        // Here `null` is a value, and not the same as nothing.
        let structured = raw.remove("structuredContent");
        let mut taken = |name: &str| raw.remove(name).filter(|value| !value.is_null());
        let content = match (taken("content"), taken("toolResult"), taken("task")) {
            (Some(content @ Value::Array(_)), ..) => content,
            (Some(_), ..) => {
                return Err(malformed("expected a list as the content".to_owned()));
            }
            (None, None, Some(_)) => return Err(Failed::TaskAnswer),
            // Structured content alone is shown as such.
            (None, None, None) if structured.is_some() => json!([]),
            (None, legacy, _) => json!([{"type": "text", "text": legacy_text(legacy)}]),
        };
        // What is no clear no is taken as an error, not as a success.
        let is_error = !matches!(taken("isError"), None | Some(Value::Bool(false)));
        let meta = taken("_meta").filter(Value::is_object);
        let mut value = Map::new();
        value.insert("content".to_owned(), content);
        if let Some(structured) = structured {
            value.insert("structuredContent".to_owned(), structured);
        }
        Ok(Self {
            value: Value::Object(value),
            is_error,
            meta,
        })
    }
}

fn legacy_text(result: Option<Value>) -> String {
    match result {
        None => NO_OUTPUT.to_owned(),
        Some(Value::String(text)) => text,
        Some(result) => result.to_string(),
    }
}

fn malformed(why: String) -> Failed {
    Failed::Call(CallFailure::Malformed(why))
}
