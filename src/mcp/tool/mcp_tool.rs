//! One tool of a listing, checked.

use std::fmt;

use serde_json::{Map, Value, json};
use toolfall_layers::{check_value, discard_value};

use super::digest::Digests;
use super::hints::Hints;
use super::{Quarantine, output, public_name};
use crate::schema::Schema;

/// The longest name of a tool, in bytes.
const MAX_NAME: usize = 1024;
/// The largest definition, as compact JSON in bytes, roughly. The schemas in
/// it have a smaller limit of their own.
const MAX_DEFINITION: usize = 1024 * 1024;

/// One tool of a server's listing, checked and ready to be registered.
///
/// ```
/// use serde_json::json;
/// use toolfall::mcp::tool::McpTool;
///
/// let tool = McpTool::parse(
///     "weather",
///     json!({
///         "name": "forecast.get",
///         "description": "Tells the weather of tomorrow",
///         "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}},
///     }),
/// )?;
/// assert_eq!(tool.raw_name(), "forecast.get");
/// assert!(tool.public_name().starts_with("mcp__weather__forecast_get_"));
///
/// let quarantined = McpTool::parse("weather", json!({"name": "x", "inputSchema": {}}));
/// assert_eq!(quarantined.unwrap_err().pointer(), "/inputSchema/type");
/// # Ok::<(), toolfall::mcp::tool::Quarantine>(())
/// ```
#[derive(Clone)]
pub struct McpTool {
    server: String,
    raw_name: String,
    public_name: String,
    title: Option<String>,
    description: String,
    digests: Digests,
    pub(super) parameters: Value,
    /// The schema of the canonical value.
    pub(super) output: Value,
    unused_output_schema: Option<String>,
    pub(super) hints: Hints,
    requires_task: bool,
}

impl McpTool {
    /// Reads one tool of the listing of `server`. What is written there is a
    /// stranger's: nothing is taken for granted of it, and however deep or
    /// large it is, reading it takes little time and no stack. Its schemas are
    /// compiled, which may take some milliseconds.
    ///
    /// # Errors
    ///
    /// [`Quarantine`] where the tool cannot be offered to a model: it has no
    /// usable name, its parameters are no schema of an object, or do not
    /// compile, or anything has a wrong type or is too much. An output schema
    /// that does not compile is only left out: see
    /// [`unused_output_schema`](Self::unused_output_schema).
    pub fn parse(server: &str, definition: Value) -> Result<Self, Quarantine> {
        let parsed = Self::read(server, &definition);
        // It may be too deep to be dropped by recursion.
        discard_value(definition);
        parsed
    }

    fn read(server: &str, definition: &Value) -> Result<Self, Quarantine> {
        let name = definition.get("name").and_then(Value::as_str);
        let refused = |pointer: &str, reason: &dyn fmt::Display| {
            Quarantine::new(name, pointer.to_owned(), reason)
        };
        check_value(definition).map_err(|error| refused(error.pointer(), &error))?;
        if !has_at_most(MAX_DEFINITION, definition) {
            let limit = format!("expected at most {MAX_DEFINITION} bytes, found more");
            return Err(refused("", &limit));
        }
        let expected = |what: &str, pointer: &str| {
            let found = definition.pointer(pointer);
            let found = found.map_or_else(|| "nothing".to_owned(), kind_of);
            refused(pointer, &format!("expected {what}, found {found}"))
        };
        if !definition.is_object() {
            return Err(expected("an object", ""));
        }
        let name = match name {
            None => return Err(expected("a text", "/name")),
            Some("") => return Err(refused("/name", &"expected a name, found an empty text")),
            Some(name) if name.len() > MAX_NAME => {
                let limit = format!("expected at most {MAX_NAME} bytes, found {}", name.len());
                return Err(refused("/name", &limit));
            }
            Some(name) if name.chars().any(char::is_control) => {
                let reason = "expected a name without control characters, found some";
                return Err(refused("/name", &reason));
            }
            Some(name) => name,
        };
        let text = |pointer: &str| match definition.pointer(pointer) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(expected("a text", pointer)),
        };
        let object = |pointer: &str| match definition.pointer(pointer) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(map)) => Ok(Some(map)),
            Some(_) => Err(expected("an object", pointer)),
        };

        let Some(parameters) = object("/inputSchema")? else {
            return Err(expected("an object", "/inputSchema"));
        };
        if parameters.get("type").is_none_or(|kind| kind != "object") {
            return Err(expected("\"object\"", "/inputSchema/type"));
        }
        let parameters = with_properties(parameters);
        Schema::compile(&parameters).map_err(|error| {
            let pointer = format!("/inputSchema{}", error.pointer());
            refused(&pointer, &error)
        })?;
        let annotations = object("/annotations")?;
        let title = match text("/title")? {
            Some(title) => Some(title),
            None => text("/annotations/title")?,
        };
        let task = object("/execution")?.and_then(|execution| execution.get("taskSupport"));
        let advertised = definition.get("outputSchema").filter(|it| !it.is_null());
        let (output, unused_output_schema) = output::canonical(advertised);

        Ok(Self {
            server: server.to_owned(),
            raw_name: name.to_owned(),
            public_name: public_name(server, name),
            title,
            description: text("/description")?.unwrap_or_default(),
            digests: Digests::of(definition),
            parameters,
            output,
            unused_output_schema,
            hints: annotations.map_or_else(Hints::default, Hints::of),
            requires_task: task.is_some_and(|task| task == "required"),
        })
    }

    /// The server's name, as the host gave it.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The tool's name, as the server gave it.
    pub fn raw_name(&self) -> &str {
        &self.raw_name
    }

    /// The name that a model calls; see [`public_name`].
    pub fn public_name(&self) -> &str {
        &self.public_name
    }

    /// The name for people, if the server gave one.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// What the server says that the tool does; may be empty.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// SHA-256, in hexadecimal, of what counts of the definition: its name,
    /// title, description, schemas, annotations and what it says of its
    /// execution. The order of names in objects does not matter.
    pub fn digest(&self) -> &str {
        self.digests.whole()
    }

    pub(super) const fn digests(&self) -> &Digests {
        &self.digests
    }

    /// Whether the server says that the tool only runs as a task. Every call
    /// of it fails then, and nothing is sent.
    pub const fn requires_task(&self) -> bool {
        self.requires_task
    }

    /// Why the output schema that the server advertises is not used, if it is
    /// not: structured content is unconstrained then.
    pub fn unused_output_schema(&self) -> Option<&str> {
        self.unused_output_schema.as_deref()
    }
}

impl fmt::Debug for McpTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpTool")
            .field("server", &self.server)
            .field("raw_name", &self.raw_name)
            .field("public_name", &self.public_name)
            .finish_non_exhaustive()
    }
}

/// Some providers refuse parameters without properties, even if there are none.
fn with_properties(schema: &Map<String, Value>) -> Value {
    let mut schema = schema.clone();
    schema.entry("properties").or_insert_with(|| json!({}));
    Value::Object(schema)
}

/// Whether `value` is no longer than `most` bytes, without writing it.
fn has_at_most(most: usize, value: &Value) -> bool {
    let mut bytes = 0_usize;
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        bytes += match value {
            Value::String(text) => text.len() + 2,
            Value::Array(items) => {
                open.extend(items);
                items.len() + 2
            }
            Value::Object(map) => {
                open.extend(map.values());
                map.keys().map(|name| name.len() + 4).sum::<usize>() + 2
            }
            _ => 4,
        };
        if bytes > most {
            return false;
        }
    }
    true
}

/// What `value` is, in words.
fn kind_of(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(_) => "a number".to_owned(),
        Value::String(text) => format!("{:?}", toolfall_layers::printable(text, 40)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}
