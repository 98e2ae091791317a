//! One server, as a client has it and as `toolfall.toml` has it.

use serde_json::{Map, Value};
use toolfall::redaction::SecretShapes;

use super::references::{refers, translated};

/// A server for `toolfall.toml`.
#[derive(Debug, Default)]
pub(super) struct Server {
    pub(super) name: String,
    pub(super) command: Option<String>,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) cwd: Option<String>,
    pub(super) url: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) disabled: bool,
    /// The tools that the client calls without asking, by the server's names.
    pub(super) allowed: Vec<String>,
    /// What a person should hear of it.
    pub(super) notes: Vec<String>,
}

/// Keys with the address of a server, as various clients call it.
const ADDRESSES: [&str; 4] = ["url", "httpUrl", "serverUrl", "endpoint"];
/// Keys that say nothing that would have to be taken over.
const IDLE: [&str; 6] = [
    "description",
    "gallery",
    "source",
    "id",
    "version",
    "metadata",
];

impl Server {
    /// The server that `written` describes.
    ///
    /// # Errors
    ///
    /// Why it cannot be taken over.
    pub(super) fn of(written: &Value) -> Result<Self, String> {
        let Value::Object(written) = written else {
            return Err("expected an object".to_owned());
        };
        let mut written = written.clone();
        let mut server = Self::default();
        match written.remove("command") {
            // Zed's older form.
            Some(Value::Object(inner)) => {
                for (key, value) in inner {
                    let key = if key == "path" {
                        "command".to_owned()
                    } else {
                        key
                    };
                    written.insert(key, value);
                }
            }
            Some(command) => {
                written.insert("command".to_owned(), command);
            }
            None => {}
        }
        let kind = match written
            .remove("type")
            .or_else(|| written.remove("transport"))
        {
            Some(Value::String(kind)) => Some(kind),
            _ => None,
        };
        for (key, value) in written {
            server.take(&key, value)?;
        }
        server.checked(kind.as_deref())
    }

    fn take(&mut self, key: &str, value: Value) -> Result<(), String> {
        match (key, value) {
            (_, Value::Null) => {}
            ("command", Value::String(command)) => self.command = Some(self.text(command)),
            // Some clients write the whole command line as a list.
            ("command", Value::Array(words)) => {
                let mut words = self.texts("command", words)?;
                if words.is_empty() {
                    return Err("/command: expected a program, found none".to_owned());
                }
                self.command = Some(words.remove(0));
                self.args.splice(0..0, words);
            }
            ("args", Value::Array(args)) => {
                let args = self.texts("args", args)?;
                self.args.extend(args);
            }
            ("env" | "environment", Value::Object(env)) => self.env = self.pairs(key, env)?,
            ("headers", Value::Object(headers)) => self.headers = self.pairs(key, headers)?,
            ("cwd", Value::String(cwd)) => self.cwd = Some(self.text(cwd)),
            (key, Value::String(url)) if ADDRESSES.contains(&key) => {
                self.url = Some(self.text(url));
            }
            ("disabled", Value::Bool(disabled)) => self.disabled |= disabled,
            ("enabled" | "isActive", Value::Bool(enabled)) => self.disabled |= !enabled,
            ("autoApprove" | "alwaysAllow", Value::Array(tools)) => {
                let names = tools.into_iter().filter_map(|tool| match tool {
                    Value::String(name) => Some(name),
                    _ => None,
                });
                self.allowed.extend(names);
            }
            (
                "command" | "args" | "env" | "environment" | "headers" | "cwd" | "url" | "httpUrl"
                | "serverUrl" | "disabled",
                _,
            ) => return Err(format!("/{key}: expected a value of another type")),
            (key, _) if IDLE.contains(&key) => {}
            (key, _) => self.notes.push(format!("{key:?} was not taken over")),
        }
        Ok(())
    }

    fn checked(mut self, kind: Option<&str>) -> Result<Self, String> {
        match (&self.command, &self.url) {
            (Some(_), Some(_)) => {
                self.url = None;
                self.headers.clear();
                self.notes
                    .push("has a command and an address: the address was left out".into());
            }
            (None, None) => return Err("expected a command or a url, found neither".to_owned()),
            (None, Some(_)) if kind == Some("sse") => self.notes.push(
                "is of the type \"sse\", an older transport that is not spoken here: taken over \
                 as streamable HTTP, so the address may have to change"
                    .to_owned(),
            ),
            _ => {}
        }
        if let Some(kind) = kind.filter(|kind| matches!(*kind, "ws" | "websocket")) {
            return Err(format!("/type: expected stdio or http, found {kind:?}"));
        }
        if self.command.as_deref().is_some_and(is_us) {
            return Err("is toolfall itself".to_owned());
        }
        self.warn_of_secrets();
        Ok(self)
    }

    fn text(&mut self, text: String) -> String {
        let (text, strange) = translated(&text);
        for reference in strange {
            self.notes.push(format!(
                "{reference} has no counterpart and stays as it is: put a path or a value there"
            ));
        }
        text
    }

    fn texts(&mut self, key: &str, values: Vec<Value>) -> Result<Vec<String>, String> {
        let mut texts = Vec::new();
        for (place, value) in values.into_iter().enumerate() {
            let text = plain(value).ok_or_else(|| format!("/{key}/{place}: expected a string"))?;
            texts.push(self.text(text));
        }
        Ok(texts)
    }

    fn pairs(
        &mut self,
        key: &str,
        values: Map<String, Value>,
    ) -> Result<Vec<(String, String)>, String> {
        let mut pairs = Vec::new();
        for (name, value) in values {
            if value.is_null() {
                continue;
            }
            let text = plain(value).ok_or_else(|| format!("/{key}/{name}: expected a string"))?;
            let text = self.text(text);
            pairs.push((name, text));
        }
        Ok(pairs)
    }

    /// Secrets stay as they were written, and that is told.
    fn warn_of_secrets(&mut self) {
        let shapes = SecretShapes::known();
        let looks = |name: &str, value: &str| {
            let name = name.to_ascii_uppercase();
            let named = [
                "TOKEN",
                "SECRET",
                "PASSW",
                "KEY",
                "CREDENTIAL",
                "AUTH",
                "PAT",
            ];
            let is_named = named.iter().any(|part| name.contains(part)) && !name.ends_with("PATH");
            !value.is_empty() && !refers(value) && (is_named || shapes.mask(value).is_some())
        };
        let pairs = self.env.iter().chain(&self.headers);
        let found: Vec<&str> = pairs
            .filter(|(name, value)| looks(name, value))
            .map(|(name, _)| name.as_str())
            .collect();
        let in_args = self.args.iter().any(|arg| shapes.mask(arg).is_some());
        if !found.is_empty() {
            let names = found.join(", ");
            self.notes.push(format!(
                "{names} may be a secret and stands in the file as it was written: keep the file \
                 to yourself, or write \"${{NAME}}\" and set the variable"
            ));
        }
        if in_args {
            self.notes
                .push("an argument looks like a secret and stands in the file".to_owned());
        }
    }
}

/// Numbers and truth values become what a shell would make of them.
fn plain(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is) => Some(is.to_string()),
        _ => None,
    }
}

fn is_us(command: &str) -> bool {
    let name = command.rsplit(['/', '\\']).next().unwrap_or(command);
    name == "toolfall" || name == "toolfall.exe"
}
