//! `[files]`, `[[command]]` and `[[replay]]`: where the tools come from.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;
use toolfall::replay::{Answer, Replay, Unrecorded};
use toolfall::workspace::Workspace;
use toolfall::{Registration, Registry, ToolDef};

use super::place::read_text;
use super::{Config, Source};
use crate::error::{Error, chain};
use crate::input::answers;

/// The tools `read_file`, `list_dir`, `glob`, `grep`, `write_file` and
/// `edit_file`, confined to one folder.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Files {
    /// The folder.
    #[schemars(with = "Option<PathBuf>", extend("default" = "."))]
    root: Option<Spanned<PathBuf>>,
    /// The names of those that are wanted; all six without it.
    #[schemars(with = "Option<Vec<String>>")]
    tools: Option<Vec<Spanned<String>>>,
}

/// A program as a tool: it gets the arguments as JSON on standard input and
/// answers one JSON value on standard output.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Command {
    /// The tool's name.
    #[schemars(with = "String")]
    name: Spanned<String>,
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
    /// Whether it may run beside other calls of a batch.
    #[serde(default)]
    parallel: bool,
    /// Whether no run of it can do harm or change files. Without it the tool
    /// is dangerous and makes edits, for `[permission]`.
    #[serde(default)]
    harmless: bool,
}

/// A tool that answers from a record; nothing runs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Recorded {
    /// The tool's name.
    #[schemars(with = "String")]
    name: Spanned<String>,
    /// What the model is told.
    #[serde(default)]
    description: String,
    /// The JSON Schema of the arguments; any object without it.
    #[schemars(with = "Option<Value>")]
    parameters: Option<Spanned<Value>>,
    /// A file that holds it instead.
    parameters_file: Option<PathBuf>,
    /// The recorded answers.
    #[serde(default)]
    #[schemars(with = "Vec<answers::Recorded>", extend("default" = []))]
    answers: Vec<Spanned<answers::Recorded>>,
    /// A file of answers, one JSON object a line, that come after these.
    answers_file: Option<PathBuf>,
    /// What a call without an answer gets.
    #[serde(default)]
    #[schemars(extend("default" = "fail"))]
    unrecorded: Else,
    /// Whether arguments that are no JSON are taken.
    #[serde(default)]
    free_text: bool,
}

/// What a call without a recorded answer gets.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Else {
    /// A failure.
    #[default]
    Fail,
    /// `{"recorded": false, "arguments": …}`.
    Show,
}

impl Config {
    /// Registers every tool that the file names. With `replay`, only those
    /// that answer from a record.
    pub(crate) fn register(
        &self,
        registry: &Registry,
        root: Option<&Path>,
        replay: bool,
    ) -> Result<Vec<Registration>, Error> {
        let mut registered = Vec::new();
        let mut add = |tool: ToolDef, at: Option<std::ops::Range<usize>>| {
            let added = registry.register(tool).map_err(|error| {
                let message = chain(&error);
                match &self.source {
                    Some(source) => source.error(at, &message),
                    None => Error::input(message),
                }
            });
            added.map(|registration| registered.push(registration))
        };
        if !replay {
            for tool in self.file_tools(root)? {
                add(tool, None)?;
            }
        }
        let Some(source) = &self.source else {
            return Ok(registered);
        };
        let commands = if replay {
            &[]
        } else {
            self.written.command.as_slice()
        };
        for command in commands {
            add(self.command(source, command)?, Some(command.name.span()))?;
        }
        for recorded in &self.written.replay {
            add(self.recorded(source, recorded)?, Some(recorded.name.span()))?;
        }
        Ok(registered)
    }

    fn file_tools(&self, root: Option<&Path>) -> Result<Vec<ToolDef>, Error> {
        let files = self.written.files.as_ref();
        let named = files.and_then(|files| files.root.as_ref());
        let (folder, at) = match (root, named, files) {
            (Some(root), _, _) => (root.to_owned(), None),
            (None, Some(root), _) => (self.beside(root.get_ref()), Some(root.span())),
            (None, None, Some(_)) => (self.beside(Path::new(".")), None),
            (None, None, None) => return Ok(Vec::new()),
        };
        let fail = |at: Option<std::ops::Range<usize>>, message: &str| match &self.source {
            Some(source) if root.is_none() || at.is_some() => source.error(at, message),
            _ => Error::input(format!("--root: {message}")),
        };
        let workspace = Workspace::open(&folder).map_err(|error| fail(at, &chain(&error)))?;
        let tools = workspace.tools();
        let Some(wanted) = files.and_then(|files| files.tools.as_ref()) else {
            return Ok(tools);
        };
        for name in wanted {
            if !tools.iter().any(|tool| tool.name() == name.get_ref()) {
                let known: Vec<&str> = tools.iter().map(ToolDef::name).collect();
                let message = format!(
                    "expected one of {}, found {:?}",
                    known.join(", "),
                    name.get_ref()
                );
                return Err(fail(Some(name.span()), &message));
            }
        }
        let wanted = |tool: &ToolDef| wanted.iter().any(|name| name.get_ref() == tool.name());
        Ok(tools.into_iter().filter(wanted).collect())
    }

    #[cfg(unix)]
    fn command(&self, source: &Source, command: &Command) -> Result<ToolDef, Error> {
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
        Ok(tool.into_tool())
    }

    #[cfg(not(unix))]
    fn command(&self, source: &Source, command: &Command) -> Result<ToolDef, Error> {
        Err(source.error(
            Some(command.name.span()),
            "expected no command tools on this system, which has no process groups",
        ))
    }

    fn recorded(&self, source: &Source, recorded: &Recorded) -> Result<ToolDef, Error> {
        let parameters = self.parameters(
            source,
            &recorded.name,
            recorded.parameters.as_ref(),
            recorded.parameters_file.as_deref(),
        )?;
        let name = recorded.name.get_ref();
        let mut answers: Vec<Answer> = Vec::new();
        for answer in &recorded.answers {
            let made = answer.get_ref().answer();
            answers.push(made.map_err(|message| source.error(Some(answer.span()), &message))?);
        }
        if let Some(file) = &recorded.answers_file {
            let file = self.beside(file);
            let text = read_text(&file, "recorded answers")?;
            answers.extend(answers::read(&file, &text, name)?);
        }
        let mut tool = Replay::new(name.clone(), recorded.description.clone(), parameters)
            .unrecorded(match recorded.unrecorded {
                Else::Fail => Unrecorded::Fail,
                Else::Show => Unrecorded::Show,
            });
        for answer in answers {
            tool = tool.answer(answer);
        }
        Ok(if recorded.free_text {
            tool.free_text().into_tool()
        } else {
            tool.into_tool()
        })
    }

    /// A tool's schema: in the file, in a file beside it, or any object.
    fn parameters(
        &self,
        source: &Source,
        name: &Spanned<String>,
        inline: Option<&Spanned<Value>>,
        file: Option<&Path>,
    ) -> Result<Value, Error> {
        match (inline, file) {
            (Some(_), Some(_)) => Err(source.error(
                Some(name.span()),
                "expected `parameters` or `parameters_file`, found both",
            )),
            (Some(parameters), None) => Ok(parameters.get_ref().clone()),
            (None, None) => Ok(serde_json::json!({"type": "object"})),
            (None, Some(file)) => {
                let file = self.beside(file);
                let text = read_text(&file, "a JSON Schema")?;
                serde_json::from_str(&text).map_err(|error| {
                    Error::at(
                        &file,
                        error.line() as u64,
                        format!("expected a JSON Schema: {error}"),
                    )
                })
            }
        }
    }
}
