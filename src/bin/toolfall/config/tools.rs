//! `[files]` and `[[replay]]`, and where the tools come from.

use std::ops::Range;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;
use toolfall::replay::{Answer, Replay, Unrecorded};
use toolfall::workspace::Workspace;
use toolfall::workspace::gate::FileGate;
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
    /// Whether an agent must have read a file before it overwrites or edits
    /// it, and the file be the same still.
    #[serde(default = "yes")]
    read_before_edit: bool,
}

const fn yes() -> bool {
    true
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

/// A tool, and where in the file it is.
type Placed = (ToolDef, Option<Range<usize>>);

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
        for (tool, at) in self.tools(root, replay)? {
            let added = registry.register(tool).map_err(|error| {
                let message = chain(&error);
                match &self.source {
                    Some(source) => source.error(at, &message),
                    None => Error::input(message),
                }
            });
            registered.push(added?);
        }
        self.check_secrets(registry, replay)?;
        Ok(registered)
    }

    /// The tools that [`register`](Self::register) registers, and where in the
    /// file each is.
    pub(crate) fn tools(&self, root: Option<&Path>, replay: bool) -> Result<Vec<Placed>, Error> {
        self.check_pointers()?;
        let mut tools = Vec::new();
        let mut add = |tool: ToolDef, at| tools.push((self.with_secrets(tool), at));
        if !replay {
            for tool in self.file_tools(root)? {
                add(tool, None);
            }
        }
        let Some(source) = &self.source else {
            return Ok(tools);
        };
        let commands = if replay {
            &[]
        } else {
            self.written.command.as_slice()
        };
        if let (Some(bash), false) = (&self.written.bash, replay) {
            add(self.bash(source, bash)?, None);
        }
        for command in commands {
            add(self.command(source, command)?, Some(command.name.span()));
        }
        for recorded in &self.written.replay {
            add(self.recorded(source, recorded)?, Some(recorded.name.span()));
        }
        Ok(tools)
    }

    /// The folder whose files the model can read, if there is one. `root` is
    /// what the command line names.
    pub(super) fn readable(&self, root: Option<&Path>) -> Option<PathBuf> {
        let files = self.written.files.as_ref();
        let wanted = files.and_then(|files| files.tools.as_ref());
        let reads = |name: &Spanned<String>| name.get_ref() == "read_file";
        if wanted.is_some_and(|wanted| !wanted.iter().any(reads)) {
            return None;
        }
        let named = files.map(|files| files.root.as_ref());
        let named = named.map(|root| root.map_or(Path::new("."), |root| root.get_ref()));
        let named = named.map(|folder| self.beside(folder));
        root.map(Path::to_owned).or(named)
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
        let mut workspace = Workspace::open(&folder).map_err(|error| fail(at, &chain(&error)))?;
        if files.is_none_or(|files| files.read_before_edit) {
            workspace = workspace.gate(FileGate::read_before_edit());
        }
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
    pub(super) fn parameters(
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
