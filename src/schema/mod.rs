//! JSON Schema: compiled once at registration, asked at every call.
//!
//! The `jsonschema` crate does the work and stays out of every public type.
//! References lead inside the document only; nothing is ever fetched.

mod refusal;
mod violation;

use serde_json::Value;

pub use self::refusal::SchemaError;
pub use self::violation::{MAX_VIOLATIONS, Violation};

/// A schema that is asked about values.
///
/// ```
/// use serde_json::json;
/// use toolfall::schema::Schema;
///
/// let schema = Schema::compile(&json!({
///     "type": "object",
///     "properties": { "path": { "type": "string" } },
///     "required": ["path"],
/// }))?;
/// let violations = schema.violations("", &json!({}));
/// assert_eq!(violations[0].message(), r#"missing required property "path""#);
/// assert_eq!(violations[0].pointer(), "");
/// # Ok::<(), toolfall::schema::SchemaError>(())
/// ```
#[derive(Debug)]
pub struct Schema(Check);

#[derive(Debug)]
enum Check {
    /// Everything is valid.
    Anything,
    /// The commonest output schema needs no validator.
    Text,
    Compiled(Box<jsonschema::Validator>),
}

impl Schema {
    /// Compiles `schema`: draft 2020-12 where `$schema` is absent, else the
    /// draft it names.
    ///
    /// # Errors
    ///
    /// [`SchemaError`] if it is no valid schema, is too large or too deep, or
    /// refers to anything outside itself.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        refusal::refuse(schema)?;
        match schema {
            Value::Bool(true) => return Ok(Self(Check::Anything)),
            Value::Object(map) if map.is_empty() => return Ok(Self(Check::Anything)),
            Value::Object(map)
                if map.get("type").is_some_and(|kind| kind == "string")
                    && map.keys().all(|key| {
                        matches!(&**key, "type" | "$schema" | "title" | "description")
                    }) =>
            {
                return Ok(Self(Check::Text));
            }
            _ => {}
        }
        jsonschema::options()
            .with_draft(refusal::draft_of(schema)?)
            .with_retriever(refusal::NoRetrieval)
            .build(schema)
            .map(|validator| Self(Check::Compiled(Box::new(validator))))
            .map_err(|error| refusal::from_jsonschema(&error))
    }

    /// Whether `value` is valid.
    pub fn is_valid(&self, value: &Value) -> bool {
        match &self.0 {
            Check::Anything => true,
            Check::Text => value.is_string(),
            Check::Compiled(validator) => validator.is_valid(value),
        }
    }

    /// Every violation, at most [`MAX_VIOLATIONS`], in a stable order: for
    /// one object first what is missing, then its properties, then what is
    /// not declared. `root` names the value in messages where the path is
    /// empty.
    pub fn violations(&self, root: &str, value: &Value) -> Vec<Violation> {
        match &self.0 {
            Check::Anything => Vec::new(),
            Check::Text if value.is_string() => Vec::new(),
            Check::Text => vec![Violation::wrong_type(root, value)],
            Check::Compiled(validator) => violation::collect(validator, root, value),
        }
    }
}
