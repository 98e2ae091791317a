//! `[bash]`: a shell as a tool.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::PathBuf;
#[cfg(unix)]
use std::{path::Path, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;
use toolfall::ToolDef;

use super::{Config, Source};
use crate::error::Error;

/// With this table there is the tool `bash`, which runs command lines. It is
/// dangerous and makes edits, for `[permission]`. On Unix only.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(unix), expect(dead_code, reason = "shells need process groups"))]
pub(super) struct Bash {
    /// The folder that commands begin in, or below.
    #[schemars(with = "Option<PathBuf>", extend("default" = "."))]
    root: Option<Spanned<PathBuf>>,
    /// The time of a command that names none, in milliseconds from 1 on.
    #[schemars(extend("default" = 120_000))]
    timeout_ms: Option<NonZeroU64>,
    /// The longest time that a command may name, in milliseconds from 1 on.
    #[schemars(extend("default" = 600_000))]
    max_timeout_ms: Option<NonZeroU64>,
    /// The time between `TERM` and `KILL` when one must stop, in milliseconds.
    #[schemars(extend("default" = 2000))]
    grace_ms: Option<u64>,
    /// How many bytes of what a command writes are kept, half of them from
    /// the beginning and half from the end.
    #[schemars(extend("default" = 30_000))]
    output_limit: Option<usize>,
    /// The variables that are passed on; without it the search path, the home,
    /// the user, the language and the like.
    only_env: Option<Vec<String>>,
    /// Variables that are set besides.
    #[serde(default)]
    env: BTreeMap<String, String>,
}

impl Config {
    #[cfg(unix)]
    pub(super) fn bash(&self, source: &Source, bash: &Bash) -> Result<ToolDef, Error> {
        use toolfall::bash::BashTool;

        let (root, at) = match &bash.root {
            Some(root) => (self.beside(root.get_ref()), Some(root.span())),
            None => (self.beside(Path::new(".")), None),
        };
        let mut tool = BashTool::new(&root).map_err(|error| {
            let message = format!("expected a folder at {}: {error}", root.display());
            source.error(at, &message)
        })?;
        let time = |ms: NonZeroU64| Duration::from_millis(ms.get());
        if let Some(timeout) = bash.timeout_ms {
            tool = tool.timeout(time(timeout));
        }
        if let Some(timeout) = bash.max_timeout_ms {
            tool = tool.max_timeout(time(timeout));
        }
        if let Some(grace) = bash.grace_ms {
            tool = tool.grace(Duration::from_millis(grace));
        }
        if let Some(limit) = bash.output_limit {
            tool = tool.output_limit(limit);
        }
        if let Some(passed) = &bash.only_env {
            tool = tool.only_env(passed);
        }
        for (name, value) in &bash.env {
            tool = tool.env(name, value);
        }
        Ok(tool.into_tool())
    }

    #[cfg(not(unix))]
    pub(super) fn bash(&self, source: &Source, _: &Bash) -> Result<ToolDef, Error> {
        Err(source.error(
            None,
            "expected no shell on this system, which has no process groups",
        ))
    }
}
