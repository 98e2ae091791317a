//! A configuration, checked as a whole before anything of it counts.

use std::path::{Path, PathBuf};

use toolfall::Registry;
use toolfall::permission::Presets;
use toolfall::policy::RuleList;
use toolfall::redaction::SecretShapes;
use toolfall::spill::SpillPolicy;

use crate::args::Approve;
use crate::compose::{self, Policies};
use crate::config::{Agent, Config, Serving, Upstream};
use crate::error::Error;

/// What the command line says beside the file.
pub(crate) struct Options {
    pub(crate) root: Option<PathBuf>,
    pub(crate) approve: Option<Approve>,
    pub(crate) preset: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) log: Option<PathBuf>,
    pub(crate) token_file: Option<PathBuf>,
    /// Rules that take the place of the file's.
    pub(crate) rules: Option<Vec<RuleList>>,
    /// How a tool is allowed, for whoever was refused one.
    pub(crate) remedy: Box<dyn Fn(&str) -> String + Send + Sync>,
}

/// Everything that a pipeline needs of a configuration.
pub(super) struct Prepared {
    pub(super) config: Config,
    pub(super) agents: Vec<Agent>,
    pub(super) presets: Option<Presets>,
    pub(super) rules: Vec<RuleList>,
    pub(super) shapes: Option<SecretShapes>,
    pub(super) spill: SpillPolicy,
    pub(super) policies: Policies,
    pub(super) notes: Vec<String>,
    pub(super) wanted: Vec<Upstream>,
    pub(super) serving: Serving,
}

impl Prepared {
    /// Checks all of `config`; nothing is started. `log` is where the session
    /// is recorded.
    pub(super) fn new(config: Config, options: &Options, log: &Path) -> Result<Self, Error> {
        let root = options.root.as_deref();
        // What cannot be registered is told with its place in the file.
        config.register(&Registry::new(), root, false)?;
        let presets = config.presets(options.preset.as_deref())?;
        let rules = match &options.rules {
            Some(rules) => rules.clone(),
            None => compose::rules(&config, presets.is_some(), false)?,
        };
        let (policies, notes) = Policies::new(&config, log, false)?;
        config.code()?;
        Ok(Self {
            agents: config.agents()?,
            presets,
            rules,
            shapes: config.shapes()?,
            spill: config.spill(root, log)?,
            policies,
            notes,
            wanted: config.upstreams(true)?,
            serving: config.serving()?,
            config,
        })
    }
}
