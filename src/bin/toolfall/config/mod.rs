//! `toolfall.toml`.

mod agent;
mod bash;
mod budget;
mod code;
mod command;
mod grants;
#[cfg(unix)]
mod hook_set;
mod hooks;
mod mcp;
mod permission;
mod place;
mod policy;
#[cfg(unix)]
mod program;
mod redaction;
mod repeat;
mod schema;
mod serve;
mod spill;
mod tools;
mod variables;

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use toolfall::policy::WrittenRules;

pub(crate) use self::agent::Agent;
pub(crate) use self::mcp::Upstream;
pub(crate) use self::place::{Source, read_text};
pub(crate) use self::policy::default_rules;
pub(crate) use self::schema::schema;
pub(crate) use self::serve::{Serving, token};
pub(crate) use self::variables::is_variable;
use crate::args::Approve;
use crate::error::Error;

/// The name that is looked for where `--config` is not given.
const NAME: &str = "toolfall.toml";

/// What `toolfall run` may do, with which tools and under which policies.
/// Paths are meant from the file's own folder.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "toolfall.toml")]
struct Written {
    /// The session log.
    #[schemars(extend("default" = "toolfall-session.jsonl"))]
    log: Option<PathBuf>,
    /// When the log is synced.
    #[schemars(extend("default" = "never"))]
    sync: Option<Sync>,
    /// How many calls of a batch run at a time, from 1 on.
    #[schemars(extend("default" = 10))]
    max_parallel: Option<NonZeroUsize>,
    /// The time that a body has, in milliseconds from 1 on, where its tool
    /// sets none of its own; no limit without it.
    timeout_ms: Option<NonZeroU64>,
    /// Whether a person is asked.
    #[schemars(extend("default" = "ask"))]
    approve: Option<Approve>,
    /// How long a person has to answer, in milliseconds from 1 on; then the
    /// call is denied. No limit without it.
    approval_timeout_ms: Option<NonZeroU64>,
    files: Option<tools::Files>,
    bash: Option<bash::Bash>,
    /// Programs as tools. On Unix only.
    #[serde(default)]
    #[schemars(extend("default" = []))]
    command: Vec<command::Command>,
    /// Tools that answer from a record; nothing runs.
    #[serde(default)]
    #[schemars(extend("default" = []))]
    replay: Vec<tools::Recorded>,
    /// Servers of the Model Context Protocol whose tools are there.
    #[serde(default)]
    #[schemars(extend("default" = []))]
    mcp: Vec<mcp::Mcp>,
    serve: Option<serve::Serve>,
    budget: Option<budget::Budget>,
    repeat: Option<repeat::Repeat>,
    redaction: Option<redaction::Redaction>,
    hooks: Option<hooks::Hooks>,
    spill: Option<spill::Table>,
    code: Option<code::Code>,
    /// What is allowed in advance, for more than one call.
    #[serde(default)]
    #[schemars(extend("default" = []))]
    grants: Vec<grants::Grant>,
    /// The rules. Without this table and without `[permission]` the tools that read the workspace are
    /// allowed, and a person is asked about the rest.
    policy: Option<WrittenRules>,
    permission: Option<permission::Permission>,
    /// Who makes calls, where that makes a difference.
    #[serde(default)]
    #[schemars(with = "Vec<agent::Written>", extend("default" = []))]
    agent: Vec<agent::Written>,
}

/// When the session log is synced.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Sync {
    /// The system decides; the log survives the process.
    #[default]
    Never,
    /// Each record before it counts; the log survives a loss of power.
    Every,
}

/// A configuration, with where it came from.
#[derive(Debug, Default)]
pub(crate) struct Config {
    source: Option<Source>,
    written: Written,
}

impl Config {
    /// Reads `given`, or what is found beside the batches or here. None is
    /// no error.
    pub(crate) fn find(given: Option<&Path>, batches: &[PathBuf]) -> Result<Self, Error> {
        if let Some(file) = given {
            return Self::read(file);
        }
        let beside = batches
            .iter()
            .find(|file| file.as_os_str() != "-")
            .map(|file| file.with_file_name(NAME));
        let here = PathBuf::from(NAME);
        for file in beside.into_iter().chain([here]) {
            if file.is_file() {
                return Self::read(&file);
            }
        }
        Ok(Self::default())
    }

    pub(crate) fn read(file: &Path) -> Result<Self, Error> {
        Self::of(Source::read(file)?)
    }

    /// What `source` says.
    pub(crate) fn of(source: Source) -> Result<Self, Error> {
        let written = toml::from_str(source.text()).map_err(|error| {
            let message = error.message().replace('\n', " ");
            source.error(error.span(), &message)
        })?;
        Ok(Self {
            source: Some(source),
            written,
        })
    }

    /// Whether the table `name` says the same here and in `other`.
    pub(crate) fn agrees(&self, other: &Self, name: &str) -> bool {
        let table = |config: &Self| {
            let source = config.source.as_ref()?;
            let mut whole: toml::Table = toml::from_str(source.text()).ok()?;
            whole.remove(name)
        };
        table(self) == table(other)
    }

    /// The file, if there is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.source.as_ref().map(Source::file)
    }

    pub(crate) fn log(&self) -> Option<PathBuf> {
        let log = self.written.log.as_ref()?;
        Some(self.beside(log))
    }

    pub(crate) fn sync(&self) -> Sync {
        self.written.sync.unwrap_or_default()
    }

    pub(crate) fn max_parallel(&self) -> Option<NonZeroUsize> {
        self.written.max_parallel
    }

    pub(crate) fn timeout_ms(&self) -> Option<NonZeroU64> {
        self.written.timeout_ms
    }

    pub(crate) fn approve(&self) -> Option<Approve> {
        self.written.approve
    }

    pub(crate) fn approval_timeout(&self) -> Option<Duration> {
        let limit = self.written.approval_timeout_ms?;
        Some(Duration::from_millis(limit.get()))
    }

    /// The file's own folder, as an absolute path.
    fn own_folder(&self) -> PathBuf {
        let folder = self.beside(Path::new("."));
        std::path::absolute(&folder).unwrap_or(folder)
    }

    /// A path that the file names, from the file's own folder.
    pub(crate) fn beside(&self, path: &Path) -> PathBuf {
        match self.file().and_then(Path::parent) {
            Some(folder) => folder.join(path),
            None => path.to_owned(),
        }
    }
}
