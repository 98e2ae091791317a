//! Where clients keep their servers.

use std::path::Path;

use serde_json::{Map, Value};

use crate::error::Error;

/// The key under which a client keeps its servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Claude Desktop, Claude Code, Cursor, Windsurf, Cline, Gemini CLI.
    McpServers,
    /// Visual Studio Code.
    Servers,
    /// Zed.
    ContextServers,
}

impl Form {
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::McpServers => "mcpServers",
            Self::Servers => "servers",
            Self::ContextServers => "context_servers",
        }
    }
}

/// The servers of a file, as written.
pub(super) struct Found {
    pub(super) form: Form,
    pub(super) servers: Map<String, Value>,
    /// What the client asks a person for, as written.
    pub(super) inputs: Vec<Value>,
    pub(super) notes: Vec<String>,
}

impl Found {
    /// The servers in `whole`, the content of `file`.
    pub(super) fn within(file: &Path, whole: Value) -> Result<Self, Error> {
        let Value::Object(mut whole) = whole else {
            return Err(nothing(file, "found no object"));
        };
        let mut notes = Vec::new();
        for (project, settings) in whole
            .get("projects")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let servers = settings.get("mcpServers").and_then(Value::as_object);
            if let Some(count) = servers.map(Map::len).filter(|count| *count > 0) {
                notes.push(format!(
                    "left out: {count} server(s) of the project {project:?}, which the client \
                     starts there only"
                ));
            }
        }
        // The settings of Visual Studio Code have them one level deeper.
        if let Some(Value::Object(inner)) = whole.remove("mcp")
            && (whole.is_empty() || inner.contains_key("servers"))
        {
            whole = inner;
        }
        let inputs = match whole.remove("inputs") {
            Some(Value::Array(inputs)) => inputs,
            _ => Vec::new(),
        };
        for form in [Form::McpServers, Form::Servers, Form::ContextServers] {
            match whole.remove(form.key()) {
                Some(Value::Object(servers)) => {
                    return Ok(Self {
                        form,
                        servers,
                        inputs,
                        notes,
                    });
                }
                Some(_) => {
                    let found = format!("found another value under /{}", form.key());
                    return Err(nothing(file, &found));
                }
                None => {}
            }
        }
        let keys: Vec<&str> = whole.keys().map(String::as_str).take(8).collect();
        Err(nothing(file, &format!("found the keys {keys:?}")))
    }
}

fn nothing(file: &Path, found: &str) -> Error {
    Error::input(format!(
        "{}: expected an object of servers under \"mcpServers\", \"servers\" or \
         \"context_servers\", {found}",
        file.display()
    ))
}
