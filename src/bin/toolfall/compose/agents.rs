//! Who makes calls: the agents of the configuration, as scopes.

use toolfall::host::{Host, OpenScope};
use toolfall::{Registration, Registry, Scope};

use super::decide::Limits;
use crate::config::{Agent, Config};
use crate::error::{Error, chain};
use crate::input;

/// The scope of calls that no agent makes, and of all agents.
const ROOT: &str = "toolfall";

/// The agents that batches may name.
pub(crate) fn known_agents(config: &Config, agent: Option<&str>) -> Result<input::Agents, Error> {
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
pub(crate) struct Agents {
    open: Vec<(Agent, OpenScope)>,
    /// What hides tools from agents.
    masks: Vec<Registration>,
    root: OpenScope,
}

impl Agents {
    /// Opens a scope for every agent inside its parent's. With `replay`, when
    /// tools come with the batches, nothing is hidden yet.
    pub(crate) fn open(host: &Host, config: &Config, replay: bool) -> Result<Self, Error> {
        let root = host.open(ROOT);
        let mut open: Vec<(Agent, OpenScope)> = Vec::new();
        let mut masks = Vec::new();
        for (place, agent) in config.agents()?.into_iter().enumerate() {
            let around = agent.parent.and_then(|parent| open.get(parent));
            let scope = around.map_or(&root, |(_, scope)| scope).open(&*agent.name);
            // Tools of servers may come later; until then nothing is to be hidden.
            let counts =
                |name: &str| host.registry().contains(name, None) || !config.may_come(name);
            if !replay && let Some(filter) = agent.filter(counts) {
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
    pub(crate) fn hide_again(&mut self, registry: &Registry) {
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
    pub(crate) fn scope(&self, name: Option<&str>) -> &Scope {
        let found = self
            .open
            .iter()
            .find(|(agent, _)| Some(&*agent.name) == name);
        found.map_or(&self.root, |(_, scope)| scope).scope()
    }

    /// The scope of all calls.
    pub(crate) fn root(&self) -> &Scope {
        self.root.scope()
    }

    /// What each agent may call, by its scope, parents first.
    pub(crate) fn limits(&self) -> Vec<(Scope, Limits)> {
        let limits = self.open.iter().map(|(agent, scope)| {
            let limits = Limits {
                rules: agent.rules.clone(),
                allow: agent.allow.clone(),
                deny: agent.deny.clone(),
            };
            (scope.scope().clone(), limits)
        });
        limits.collect()
    }

    /// Takes over what `config` says of the agents, who must be the same.
    /// What is hidden is hidden anew by [`hide_again`](Self::hide_again).
    pub(crate) fn update(&mut self, config: &Config) -> Result<(), Error> {
        let agents = config.agents()?;
        self.check(&agents)?;
        for ((agent, _), new) in self.open.iter_mut().zip(agents) {
            *agent = new;
        }
        Ok(())
    }

    /// Whether `agents` are those that there are.
    pub(crate) fn check(&self, agents: &[Agent]) -> Result<(), Error> {
        let same = |(old, new): (&(Agent, OpenScope), &Agent)| {
            old.0.name == new.name && old.0.parent == new.parent
        };
        if self.open.len() == agents.len() && self.open.iter().zip(agents).all(same) {
            return Ok(());
        }
        Err(Error::input(
            "expected the agents that there were at the start, found others: start anew for that",
        ))
    }
}
