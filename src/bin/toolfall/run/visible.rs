//! The tools that a run would have, without running.

use std::path::Path;

use toolfall::host::Host;
use toolfall::sdk::{ToolDeclaration, declarations};

use crate::compose::{Agents, known_agents};
use crate::config::Config;
use crate::error::Error;

/// What `agent`, or nobody in particular, sees of the tools of `config` and
/// of the folder `root`.
pub(crate) fn visible(
    config: &Config,
    root: Option<&Path>,
    agent: Option<&str>,
) -> Result<Vec<ToolDeclaration>, Error> {
    known_agents(config, agent)?;
    let host = Host::new();
    // The tools are there as long as their registrations.
    let tools = config.register(host.registry(), root, false)?;
    let agents = Agents::open(&host, config, false)?;
    let visible = declarations(host.registry(), Some(agents.scope(agent)));
    drop((agents, tools));
    Ok(visible)
}
