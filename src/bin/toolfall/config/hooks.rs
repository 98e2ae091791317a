//! `[hooks]`: programs that are asked before and after a tool.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

/// Programs that are asked before and after a tool.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(unix), expect(dead_code, reason = "hooks need process groups"))]
pub(super) struct Hooks {
    /// Whose conventions the hooks follow: what a matcher means, what they
    /// read and what they may answer.
    #[serde(default)]
    #[schemars(extend("default" = "claude-code"))]
    pub(super) dialect: Convention,
    /// A settings file of that program, JSON. Its hooks before and after
    /// tools come before those of this table.
    #[schemars(with = "Option<PathBuf>")]
    pub(super) file: Option<Spanned<PathBuf>>,
    /// How long hooks may run that do not say, in milliseconds from 1 on.
    #[schemars(extend("default" = 600_000))]
    pub(super) default_timeout_ms: Option<NonZeroU64>,
    /// What a fault does of hooks that do not say. Without it a fault before
    /// a tool denies the call, and one after it is ignored with a warning.
    pub(super) default_on_fault: Option<Fault>,
    /// Hooks before a tool, asked one after another.
    #[serde(default)]
    #[schemars(with = "Vec<Hook>", extend("default" = []))]
    pub(super) before: Vec<Spanned<Hook>>,
    /// Hooks after a tool, asked one after another.
    #[serde(default)]
    #[schemars(with = "Vec<Hook>", extend("default" = []))]
    pub(super) after: Vec<Spanned<Hook>>,
}

/// The conventions of a set of hooks.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Convention {
    /// Claude Code's.
    #[default]
    ClaudeCode,
    /// Codex's.
    Codex,
}

/// What becomes of a call whose hook cannot be relied on.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Fault {
    /// The call, or its result, is refused.
    Deny,
    /// As if the hook had not been there; a warning is logged.
    Ignore,
}

/// A program: `program` or `shell` is required.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["program"]}, {"required": ["shell"]}]))]
#[cfg_attr(not(unix), expect(dead_code, reason = "hooks need process groups"))]
pub(super) struct Hook {
    /// Its name in messages; without one its point and place, such as
    /// `PreToolUse[0]`.
    pub(super) name: Option<String>,
    /// The tools that it is for, in the dialect's own form; every tool
    /// without it.
    pub(super) matcher: Option<String>,
    /// The program and its arguments; no shell reads it. With a `/` it is a
    /// path from the file's folder, else it is looked for in `PATH`.
    #[schemars(with = "Option<Vec<String>>")]
    pub(super) program: Option<Spanned<Vec<String>>>,
    /// A command for `sh`, instead of a program.
    pub(super) shell: Option<String>,
    /// The folder that it starts in; the file's own without it.
    pub(super) folder: Option<PathBuf>,
    /// The variables that are passed on; a few common ones, such as `PATH`
    /// and `HOME`, without it.
    pub(super) only_env: Option<Vec<String>>,
    /// Variables that are set besides.
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    /// How long it may run, in milliseconds from 1 on; the table's
    /// `default_timeout_ms` without it.
    pub(super) timeout_ms: Option<NonZeroU64>,
    /// The time between `TERM` and `KILL` when it must stop, in milliseconds.
    #[schemars(extend("default" = 2000))]
    pub(super) grace_ms: Option<u64>,
    /// What a fault does; the table's `default_on_fault` without it.
    pub(super) on_fault: Option<Fault>,
    /// The most bytes that it may write on standard output.
    #[schemars(extend("default" = 262_144))]
    pub(super) stdout_limit: Option<usize>,
    /// How many bytes of standard error are kept, the last ones.
    #[schemars(extend("default" = 16_384))]
    pub(super) stderr_limit: Option<usize>,
}

#[cfg(not(unix))]
impl super::Config {
    /// There are no hooks on this system.
    pub(crate) fn refuse_hooks(&self) -> Result<(), crate::error::Error> {
        match (&self.source, &self.written.hooks) {
            (Some(source), Some(_)) => Err(source.error(
                None,
                "expected no [hooks] on this system, which has no process groups",
            )),
            _ => Ok(()),
        }
    }
}
