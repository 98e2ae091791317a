//! Schemas that are refused at registration.

use std::error::Error;
use std::fmt;

use jsonschema::{Draft, Retrieve, Uri};
use serde_json::Value;
use toolfall_layers::printable;

/// Larger schemas, as compact JSON in bytes, are refused.
const MAX_BYTES: usize = 256 * 1024;
/// Deeper schemas are refused.
const MAX_DEPTH: usize = 64;
/// Characters of the compiler's own message that are kept.
const MAX_DETAIL: usize = 120;

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    pointer: String,
    detail: String,
}

impl SchemaError {
    pub(super) fn new(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            pointer: pointer.into(),
            detail: detail.into(),
        }
    }

    /// Where in the schema, as a JSON pointer.
    pub fn pointer(&self) -> &str {
        &self.pointer
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unsupported JSON schema at \"{}\": {}",
            self.pointer, self.detail
        )
    }
}

impl Error for SchemaError {}

/// Refuses before the compiler sees it what could keep the compiler busy.
pub(super) fn refuse(schema: &Value) -> Result<(), SchemaError> {
    let mut bytes = 0;
    let mut open = vec![(schema, 0)];
    while let Some((value, depth)) = open.pop() {
        if depth > MAX_DEPTH {
            return Err(SchemaError::new(
                "",
                format!("expected at most {MAX_DEPTH} levels, found more"),
            ));
        }
        bytes += match value {
            Value::String(text) => text.len() + 2,
            Value::Array(items) => {
                open.extend(items.iter().map(|item| (item, depth + 1)));
                items.len() + 2
            }
            Value::Object(map) => {
                open.extend(map.values().map(|item| (item, depth + 1)));
                map.keys().map(|key| key.len() + 4).sum::<usize>() + 2
            }
            _ => 4,
        };
        if bytes > MAX_BYTES {
            return Err(SchemaError::new(
                "",
                format!("expected at most {MAX_BYTES} bytes, found more"),
            ));
        }
    }
    Ok(())
}

pub(super) fn draft_of(schema: &Value) -> Result<Draft, SchemaError> {
    let Some(declared) = schema.get("$schema") else {
        return Ok(Draft::Draft202012);
    };
    let name = declared.as_str().unwrap_or_default();
    let name = name.strip_suffix('#').unwrap_or(name);
    let name = name
        .strip_prefix("https://")
        .or_else(|| name.strip_prefix("http://"))
        .unwrap_or(name);
    Ok(match name {
        "json-schema.org/draft/2020-12/schema" => Draft::Draft202012,
        "json-schema.org/draft/2019-09/schema" => Draft::Draft201909,
        "json-schema.org/draft-07/schema" => Draft::Draft7,
        "json-schema.org/draft-06/schema" => Draft::Draft6,
        "json-schema.org/draft-04/schema" => Draft::Draft4,
        _ => {
            return Err(SchemaError::new(
                "/$schema",
                format!("expected a JSON Schema draft from 4 to 2020-12, found {declared}"),
            ));
        }
    })
}

pub(super) fn from_jsonschema(error: &jsonschema::ValidationError<'_>) -> SchemaError {
    let detail = printable(&error.to_string(), MAX_DETAIL);
    SchemaError::new(error.instance_path().to_string(), detail)
}

/// Nothing outside the document is looked at, whatever features another
/// crate switches on.
pub(super) struct NoRetrieval;

impl Retrieve for NoRetrieval {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn Error + Send + Sync>> {
        Err(format!("expected a reference inside the schema, found {uri}").into())
    }
}
