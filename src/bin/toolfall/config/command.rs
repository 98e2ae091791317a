//! `[[command]]`: programs as tools.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::PathBuf;
#[cfg(unix)]
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;
use toolfall::ToolDef;
#[cfg(unix)]
use toolfall::{BoxError, ContentBlock};

use super::{Config, Source};
use crate::error::Error;

/// A program as a tool: it gets the arguments as JSON on standard input and
/// answers one JSON value on standard output.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(unix), expect(dead_code, reason = "programs need process groups"))]
pub(super) struct Command {
    /// The tool's name.
    #[schemars(with = "String")]
    pub(super) name: Spanned<String>,
    /// What the model is told.
    #[serde(default)]
    description: String,
    /// The JSON Schema of the arguments; any object without it.
    #[schemars(with = "Option<Value>")]
    parameters: Option<Spanned<Value>>,
    /// A file that holds it instead.
    parameters_file: Option<PathBuf>,
    /// The program and its arguments; no shell reads it. With a `/` it is a
    /// path from the file's folder, else it is looked for in `PATH`.
    #[schemars(with = "Vec<String>", length(min = 1))]
    program: Spanned<Vec<String>>,
    /// The folder that the program starts in; the file's own without it.
    folder: Option<PathBuf>,
    /// The variables that are passed on; all without it.
    only_env: Option<Vec<String>>,
    /// Variables that are set besides.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// The tool's own budget, in milliseconds from 1 on.
    timeout_ms: Option<NonZeroU64>,
    /// The time between `TERM` and `KILL` when it must stop, in milliseconds.
    #[schemars(extend("default" = 2000))]
    grace_ms: Option<u64>,
    /// The most bytes that it may write.
    #[schemars(extend("default" = 1_048_576))]
    stdout_limit: Option<usize>,
    /// Whether it answers with what the model is shown, such as pictures: an
    /// array of blocks, or an object with such an array as its `content`, as
    /// in MCP.
    #[serde(default)]
    blocks: bool,
    /// Whether it may run beside other calls of a batch.
    #[serde(default)]
    parallel: bool,
    /// Whether no run of it can do harm or change files. Without it the tool
    /// is dangerous and makes edits, for `[permission]`.
    #[serde(default)]
    harmless: bool,
}

impl Config {
    #[cfg(unix)]
    pub(super) fn command(&self, source: &Source, command: &Command) -> Result<ToolDef, Error> {
        use toolfall::command::CommandTool;

        let (program, rest) = self.program(source, &command.program)?;
        let folder = self.folder(command.folder.as_deref());
        let parameters = self.parameters(
            source,
            &command.name,
            command.parameters.as_ref(),
            command.parameters_file.as_deref(),
        )?;
        let name = command.name.get_ref().clone();
        let mut tool = CommandTool::new(name, command.description.clone(), parameters, program)
            .args(rest)
            .current_dir(folder);
        if let Some(passed) = &command.only_env {
            tool = tool.only_env(passed);
        }
        for (name, value) in &command.env {
            if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
                let message = format!("expected the name of a variable, found {name:?}");
                return Err(source.error(Some(command.name.span()), &message));
            }
            tool = tool.env(name, value);
        }
        if let Some(grace) = command.grace_ms {
            tool = tool.grace(Duration::from_millis(grace));
        }
        if let Some(limit) = command.stdout_limit {
            tool = tool.stdout_limit(limit);
        }
        if let Some(budget) = command.timeout_ms {
            tool = tool.budget(Duration::from_millis(budget.get()));
        }
        if command.parallel {
            tool = tool.parallel();
        }
        if command.harmless {
            tool = tool.harmless();
        }
        let tool = tool.into_tool();
        Ok(if command.blocks {
            tool.render(blocks)
        } else {
            tool
        })
    }

    #[cfg(not(unix))]
    pub(super) fn command(&self, source: &Source, command: &Command) -> Result<ToolDef, Error> {
        Err(source.error(
            Some(command.name.span()),
            "expected no command tools on this system, which has no process groups",
        ))
    }
}

/// The blocks that a program answered with.
#[cfg(unix)]
fn blocks(value: &Value) -> Result<Vec<ContentBlock>, BoxError> {
    if value.get("isError") == Some(&Value::Bool(true)) {
        let expected = "expected another exit status than 0 for a failure, found isError";
        return Err(expected.into());
    }
    let content = value.get("content").unwrap_or(value);
    Vec::deserialize(content).map_err(|error| {
        let expected = "expected blocks, or an object with them as its content";
        format!("{expected}: {error}").into()
    })
}
