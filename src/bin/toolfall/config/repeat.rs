//! `[repeat]`: whether a model is told that it repeats itself.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;
use toolfall::policy::repeat::{RepeatConfig, RepeatReminder};

use super::Config;
use crate::error::{Error, chain};

/// With this table a model is told when it makes the same call again and
/// again. No result is changed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Repeat {
    /// After how many identical calls in a row to speak, each from 2 on and
    /// none twice. The lowest gets a gentle text, the others a detailed one.
    #[schemars(
        with = "Vec<u64>",
        length(min = 1),
        inner(range(min = 2)),
        extend("default" = [3, 5, 8], "uniqueItems" = true)
    )]
    thresholds: Option<Spanned<Vec<u64>>>,
    /// Patterns over the names of the tools to watch, in which only `*` is
    /// special; none means all.
    #[serde(default)]
    include: Vec<String>,
    /// Patterns over the names of tools that neither count nor break a row;
    /// stronger than `include`.
    #[serde(default)]
    exclude: Vec<String>,
    /// How many characters of the arguments the detailed text quotes, from 1
    /// on.
    #[schemars(extend("default" = 500))]
    arguments_preview_chars: Option<NonZeroUsize>,
}

impl Config {
    /// The reminder, if the file has the table.
    pub(crate) fn reminder(&self) -> Result<Option<RepeatReminder>, Error> {
        let (Some(source), Some(repeat)) = (&self.source, &self.written.repeat) else {
            return Ok(None);
        };
        let mut config = RepeatConfig {
            include: repeat.include.clone(),
            exclude: repeat.exclude.clone(),
            ..RepeatConfig::default()
        };
        if let Some(thresholds) = &repeat.thresholds {
            config.thresholds.clone_from(thresholds.get_ref());
        }
        if let Some(most) = repeat.arguments_preview_chars {
            config.arguments_preview_chars = most.get();
        }
        // What the types let pass is wrong with the thresholds.
        let at = repeat.thresholds.as_ref().map(Spanned::span);
        RepeatReminder::new(config)
            .map(Some)
            .map_err(|error| source.error(at, &chain(&error)))
    }
}
