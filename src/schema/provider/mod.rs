//! What providers take of a tool's parameter schema.
//!
//! Each provider honours a part of JSON Schema only. [`project`] makes of a
//! schema the nearest one that a provider takes, and tells of every change
//! whether the projection accepts more or less than the schema did. What
//! arrives is still judged by the whole schema, so a projection that accepts
//! more costs an attempt, never safety.
//!
//! In strict mode of `OpenAI` every property is required, and one that was
//! optional may be `null` instead: [`restore`] takes such nulls out of the
//! arguments again.
//!
//! The bytes of a projection depend on the schema alone: keys are sorted.
//! Limits on the sum of all tools (how many properties, how long all names)
//! are not looked at.
//!
//! ```
//! use serde_json::json;
//! use toolfall::schema::Schema;
//! use toolfall::schema::provider::{self, Accepts, Provider};
//!
//! let schema = json!({
//!     "type": "object",
//!     "properties": {
//!         "path": { "type": "string", "minLength": 1 },
//!         "limit": { "type": "integer" },
//!     },
//!     "required": ["path"],
//! });
//! let projected = provider::project(Provider::OpenAiStrict, &schema)?;
//! assert_eq!(
//!     projected.schema,
//!     json!({
//!         "type": "object",
//!         "properties": {
//!             "path": { "type": "string", "description": "(minLength: 1)" },
//!             "limit": { "type": ["integer", "null"] },
//!         },
//!         "required": ["limit", "path"],
//!         "additionalProperties": false,
//!     }),
//! );
//! let dropped = projected.changes.iter().find(|change| change.keyword() == "minLength").unwrap();
//! assert_eq!((dropped.pointer(), dropped.accepts()), ("/properties/path", Accepts::More));
//!
//! // What a model answers in strict mode is made fit for the tool's schema.
//! let mut arguments = json!({"path": "a.txt", "limit": null});
//! provider::restore(&schema, &mut arguments);
//! assert_eq!(arguments, json!({"path": "a.txt"}));
//! assert!(Schema::compile(&schema)?.is_valid(&arguments));
//! # Ok::<(), toolfall::schema::SchemaError>(())
//! ```

mod anthropic;
mod change;
mod fold;
mod keywords;
mod kinds;
mod moved;
mod null;
mod object;
mod reference;
mod restore;
mod union;
mod walk;

use serde_json::Value;

pub use self::change::{Accepts, Change};
pub use self::restore::restore;
use super::{SchemaError, expansion, refusal};
use crate::ToolSchema;

/// Whose subset of JSON Schema is projected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Provider {
    /// `OpenAI`'s strict mode: all properties required, objects closed, no
    /// `allOf`, `oneOf` nor conditions, at most ten levels of containers.
    OpenAiStrict,
    /// Anthropic: draft 2020-12 as it is, but an object without `oneOf`,
    /// `anyOf` or `allOf` at the top, whose properties have plain names.
    Anthropic,
    /// Gemini's `Schema`: no references, `nullable`, enumerations of text
    /// only, few formats. References are inlined up to a bound.
    Gemini,
}

/// A schema as a provider takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projected {
    /// The schema. Projecting it again changes nothing.
    pub schema: Value,
    /// What is not as in the schema it was made of, by pointer and keyword.
    pub changes: Vec<Change>,
}

impl Projected {
    /// Whether the projection may accept arguments that the tool refuses.
    pub fn accepts_more(&self) -> bool {
        self.changes
            .iter()
            .any(|change| change.accepts() == Accepts::More)
    }
}

/// A tool as it is announced to a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectedTool {
    /// The name that a model calls.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The projection of its parameters.
    pub parameters: Projected,
}

/// The nearest schema to `schema` that `provider` takes.
///
/// # Errors
///
/// [`SchemaError`] if the schema is too large or too deep, as at
/// registration. What is no valid schema is projected to anything at all and
/// reported.
pub fn project(provider: Provider, schema: &Value) -> Result<Projected, SchemaError> {
    refusal::refuse(schema)?;
    expansion::refuse(schema)?;
    // Names of definitions and notes follow the order of keys, which another
    // crate may have `serde_json` keep as it was written.
    let mut sorted = schema.clone();
    sorted.sort_all_objects();
    let (mut projected, mut changes) = match provider {
        Provider::Anthropic => anthropic::project(&sorted),
        Provider::OpenAiStrict | Provider::Gemini => walk::project(provider, &sorted),
    };
    projected.sort_all_objects();
    changes.sort();
    changes.dedup();
    Ok(Projected {
        schema: projected,
        changes,
    })
}

/// Every tool of `tools` for `provider`, by name.
///
/// # Errors
///
/// As [`project`]; the tools of a registry were looked at when they were
/// registered.
pub fn project_tools(
    provider: Provider,
    tools: &[ToolSchema],
) -> Result<Vec<ProjectedTool>, SchemaError> {
    let mut projected = Vec::with_capacity(tools.len());
    for tool in tools {
        projected.push(ProjectedTool {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: project(provider, &tool.parameters)?,
        });
    }
    projected.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(projected)
}
