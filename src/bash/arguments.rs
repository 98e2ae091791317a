//! What a model may say of a command.

use std::num::NonZeroU64;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

/// A command line and how to run it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BashArguments {
    /// The command line.
    pub(super) command: String,
    /// What it is for, in a few words, for people who read along.
    #[serde(default)]
    pub(super) description: Option<String>,
    /// The folder to begin in, from the root or as an absolute path below it.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub(super) cwd: Option<PathBuf>,
    /// How long it may take, in milliseconds.
    #[serde(default)]
    pub(super) timeout_ms: Option<NonZeroU64>,
}
