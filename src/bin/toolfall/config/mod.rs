//! `toolfall.toml`.

mod place;
mod policy;
mod tools;

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};

use serde::Deserialize;

pub(crate) use self::place::Source;
pub(crate) use self::policy::default_rules;
use crate::args::Approve;
use crate::error::Error;

/// The name that is looked for where `--config` is not given.
const NAME: &str = "toolfall.toml";

/// What the file may say.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    log: Option<PathBuf>,
    sync: Option<Sync>,
    max_parallel: Option<NonZeroUsize>,
    timeout_ms: Option<NonZeroU64>,
    approve: Option<Approve>,
    files: Option<tools::Files>,
    #[serde(default)]
    command: Vec<tools::Command>,
    #[serde(default)]
    replay: Vec<tools::Recorded>,
    policy: Option<policy::Policy>,
}

/// When the session log is synced.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
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

    fn read(file: &Path) -> Result<Self, Error> {
        let source = Source::read(file)?;
        let written = toml::from_str(source.text()).map_err(|error| {
            let message = error.message().replace('\n', " ");
            source.error(error.span(), &message)
        })?;
        Ok(Self {
            source: Some(source),
            written,
        })
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

    /// A path that the file names, from the file's own folder.
    pub(crate) fn beside(&self, path: &Path) -> PathBuf {
        match self.file().and_then(Path::parent) {
            Some(folder) => folder.join(path),
            None => path.to_owned(),
        }
    }
}
