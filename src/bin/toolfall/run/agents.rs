//! Who makes the calls: the agents of the configuration, as scopes.

use toolfall::host::{Host, OpenScope};
use toolfall::policy::RuleList;
use toolfall::{Registration, Registry, Scope};

use crate::config::{Agent, Config};
use crate::error::{Error, chain};
use crate::input;

/// The scope of calls that no agent makes, and of all agents.
const ROOT: &str = "toolfall";

/// The agents that batches may name.
pub(super) fn known_agents(config: &Config, agent: Option<&str>) -> Result<input::Agents, Error> {
    let names = config.agents()?.into_iter().map(|agent| agent.name);
    let known = input::Agents {
        names: names.collect(),
        otherwise: agent.map(str::to_owned),
    };
    if let Some(name) = agent {
        known
            .check(name)
            .map_err(|message| Error::input(format!("--agent: {message}")))?;
    }
    Ok(known)
}

/// The scopes of a run.
pub(super) struct Agents {
    open: Vec<(Agent, OpenScope)>,
    /// What hides tools from agents.
    masks: Vec<Registration>,
    root: OpenScope,
}

impl Agents {
    /// Opens a scope for every agent inside its parent's. With `replay`, when
    /// tools come with the batches, nothing is hidden yet.
    pub(super) fn open(host: &Host, config: &Config, replay: bool) -> Result<Self, Error> {
        let root = host.open(ROOT);
        let mut open: Vec<(Agent, OpenScope)> = Vec::new();
        let mut masks = Vec::new();
        for (place, agent) in config.agents()?.into_iter().enumerate() {
            let around = agent.parent.and_then(|parent| open.get(parent));
            let scope = around.map_or(&root, |(_, scope)| scope).open(&*agent.name);
            if !replay && let Some(filter) = agent.filter(|_| true) {
                let mask = scope.restrict(&filter);
                let name = &agent.name;
                let told = |error| {
                    let message = format!("agent {name:?}: {}", chain(&error));
                    config.agent_error(place, &message)
                };
                masks.push(mask.map_err(told)?);
            }
            open.push((agent, scope));
        }
        Ok(Self { open, masks, root })
    }

    /// Hides tools from agents once more, of those that there are now.
    pub(super) fn hide_again(&mut self, registry: &Registry) {
        if self.open.is_empty() {
            return;
        }
        let masks = self.open.iter().filter_map(|(agent, scope)| {
            let filter = agent.filter(|name| registry.contains(name, None))?;
            // Every name is a tool's, so there is nothing to refuse.
            scope.restrict(&filter).ok()
        });
        // The old ones go when the new ones are there.
        self.masks = masks.collect();
    }

    /// The scope of the agent `name`, or of nobody in particular.
    pub(super) fn scope(&self, name: Option<&str>) -> &Scope {
        let found = self
            .open
            .iter()
            .find(|(agent, _)| Some(&*agent.name) == name);
        found.map_or(&self.root, |(_, scope)| scope).scope()
    }

    /// The scope of all calls.
    pub(super) fn root(&self) -> &Scope {
        self.root.scope()
    }

    /// The agents' own rules, by their scopes, parents first.
    pub(super) fn rules(&self) -> Vec<(Scope, RuleList)> {
        let rules = self.open.iter().filter_map(|(agent, scope)| {
            let rules = agent.rules.clone()?;
            Some((scope.scope().clone(), rules))
        });
        rules.collect()
    }
}
