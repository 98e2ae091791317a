//! JSON Schema: compiled once at registration, asked at every call.
//!
//! The `jsonschema` crate does the work and stays out of every public type.
//! References lead inside the document only; nothing is ever fetched.
//!
//! Schemas of strangers cannot stall a call: what is large or deep, with
//! every reference followed, is refused at registration, before anything is
//! compiled, and what a call's arguments can cost is bounded by counts.
//!
//! [`provider`] says what model providers take of a schema, [`builder`] makes
//! schemas in code, [`unknown_keywords`] finds the misspelt ones.

pub mod builder;
mod cost;
mod expansion;
pub mod provider;
mod refusal;
mod unknown;
mod violation;
mod words;

use serde_json::{Map, Value};

#[cfg(feature = "code")]
pub(crate) use self::expansion::unescaped;
pub use self::refusal::SchemaError;
pub use self::unknown::{UnknownKeyword, unknown_keywords};
use self::violation::Root;
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
/// let violations = schema.argument_violations(&json!({}));
/// assert_eq!(violations[0].message(), r#"missing required property "path""#);
/// assert_eq!((violations[0].pointer(), violations[0].keyword()), ("", "required"));
///
/// let violations = schema.violations("value", &json!({"path": 1}));
/// assert_eq!(violations[0].message(), r#""value.path" must be a string"#);
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
    Compiled {
        validator: Box<jsonschema::Validator>,
        cost: expansion::Cost,
    },
}

impl Schema {
    /// Compiles `schema`: draft 2020-12 where `$schema` is absent, else the
    /// draft it names.
    ///
    /// # Errors
    ///
    /// [`SchemaError`] if it is no valid schema, is too large or too deep, as
    /// it stands or with its references followed, or refers to anything
    /// outside itself.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        refusal::refuse(schema)?;
        let cost = expansion::refuse(schema)?;
        let draft = refusal::draft_of(schema)?;
        match schema {
            Value::Bool(true) => return Ok(Self(Check::Anything)),
            Value::Object(map) if map.is_empty() => return Ok(Self(Check::Anything)),
            Value::Object(map) if is_text(map) => return Ok(Self(Check::Text)),
            _ => {}
        }
        jsonschema::options()
            .with_draft(draft)
            .with_retriever(refusal::NoRetrieval)
            .build(schema)
            .map(|validator| {
                Self(Check::Compiled {
                    validator: Box::new(validator),
                    cost,
                })
            })
            .map_err(|error| refusal::from_jsonschema(&error))
    }

    /// Whether `value` is valid. A value that is so large that it would take
    /// seconds to hold it against this schema is not.
    pub fn is_valid(&self, value: &Value) -> bool {
        match &self.0 {
            Check::Anything => true,
            Check::Text => value.is_string(),
            Check::Compiled { validator, cost } => {
                cost::is_askable(*cost, value) && validator.is_valid(value)
            }
        }
    }

    /// Every violation, at most [`MAX_VIOLATIONS`], in a stable order: for
    /// one object first what is missing, then its properties, then what is
    /// not declared. `root` names the value: every path in a message begins
    /// with it.
    ///
    /// Where a schema refers to itself and the value is nested deeply, and
    /// where schema and value are large, there is one violation for the whole
    /// value: to tell all branches of all levels apart would take for ever.
    /// The work is bounded by counts, not by a clock, so an answer never
    /// depends on the load of the machine.
    pub fn violations(&self, root: &str, value: &Value) -> Vec<Violation> {
        self.collect(Root::Named(root), value)
    }

    /// As [`violations`](Self::violations), of a call's arguments: paths
    /// begin with the parameter's name, and the whole is `arguments`.
    pub fn argument_violations(&self, arguments: &Value) -> Vec<Violation> {
        self.collect(Root::Arguments, arguments)
    }

    fn collect(&self, root: Root<'_>, value: &Value) -> Vec<Violation> {
        match &self.0 {
            Check::Anything => Vec::new(),
            Check::Text if value.is_string() => Vec::new(),
            Check::Text => vec![Violation::not_text(root, value)],
            Check::Compiled { cost, .. } if !cost::is_askable(*cost, value) => {
                vec![Violation::too_much(root, value)]
            }
            // Saying that something is right is cheaper than saying what is
            // wrong, always.
            Check::Compiled { validator, .. } if validator.is_valid(value) => Vec::new(),
            Check::Compiled { cost, .. } if !cost::is_tellable(*cost, value) => {
                vec![Violation::somewhere(root, value)]
            }
            Check::Compiled { validator, .. } => violation::collect(validator, root, value),
        }
    }
}

/// Whether a schema asks for any string and nothing else.
fn is_text(schema: &Map<String, Value>) -> bool {
    schema.get("type").is_some_and(|kind| kind == "string")
        && schema.iter().all(|(keyword, value)| match &**keyword {
            "type" => true,
            "$schema" | "title" | "description" => value.is_string(),
            _ => false,
        })
}
