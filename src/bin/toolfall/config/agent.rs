//! `[[agent]]`: who makes calls, where that makes a difference.

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;
use toolfall::Filter;
use toolfall::policy::{RuleList, WrittenRules};

use super::Config;
use crate::error::Error;

/// An agent: batches name it, or `--agent` does. What holds for the agent
/// that it is below holds for it, too, and can only get stricter.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    /// Its name; no two agents share one.
    #[schemars(with = "String", length(min = 1))]
    name: Spanned<String>,
    /// The agent that it is below, which stands before it in the file.
    #[schemars(with = "Option<String>")]
    parent: Option<Spanned<String>>,
    /// The names of the tools that it has; without it all that its parent
    /// has.
    allow: Option<Vec<String>>,
    /// The names of tools that it has not.
    #[serde(default)]
    deny: Vec<String>,
    /// Rules for its calls beside those for all.
    policy: Option<WrittenRules>,
}

/// An agent of the file.
pub(crate) struct Agent {
    pub(crate) name: String,
    /// The place of its parent among the agents, which is before its own.
    pub(crate) parent: Option<usize>,
    pub(crate) allow: Option<Vec<String>>,
    pub(crate) deny: Vec<String>,
    pub(crate) rules: Option<RuleList>,
}

impl Agent {
    /// What hides tools from it, if anything does; of the names only those
    /// that `counts` says.
    pub(crate) fn filter(&self, counts: impl Fn(&str) -> bool) -> Option<Filter> {
        let counted = |names: &[String]| -> Vec<String> {
            names.iter().filter(|n| counts(n)).cloned().collect()
        };
        let deny = counted(&self.deny);
        match &self.allow {
            Some(allow) => Some(Filter::allow(counted(allow)).and_deny(deny)),
            None if deny.is_empty() => None,
            None => Some(Filter::deny(deny)),
        }
    }
}

impl Config {
    /// The agents, each after its parent.
    pub(crate) fn agents(&self) -> Result<Vec<Agent>, Error> {
        let mut agents: Vec<Agent> = Vec::new();
        let Some(source) = &self.source else {
            return Ok(agents);
        };
        for (place, written) in self.written.agent.iter().enumerate() {
            let name = written.name.get_ref();
            let fail = |message: &str| source.error(Some(written.name.span()), message);
            if name.trim().is_empty() {
                return Err(fail("expected a name for the agent, found none"));
            }
            let find = |name: &str| agents.iter().position(|agent| agent.name == name);
            if find(name).is_some() {
                return Err(fail(&format!(
                    "expected a name that no other agent has, found {name:?}"
                )));
            }
            let parent = match &written.parent {
                None => None,
                Some(parent) => Some(find(parent.get_ref()).ok_or_else(|| {
                    let message = format!(
                        "expected the name of an agent that stands before this one, found {:?}",
                        parent.get_ref()
                    );
                    source.error(Some(parent.span()), &message)
                })?),
            };
            let rules = written
                .policy
                .as_ref()
                .map(|rules| self.compiled(source, rules, &format!("/agent/{place}/policy")));
            agents.push(Agent {
                name: name.clone(),
                parent,
                allow: written.allow.clone(),
                deny: written.deny.clone(),
                rules: rules.transpose()?,
            });
        }
        Ok(agents)
    }

    /// An error about what is wrong with the agent `place`.
    pub(crate) fn agent_error(&self, place: usize, message: &str) -> Error {
        let at = self.written.agent.get(place).map(|agent| agent.name.span());
        match &self.source {
            Some(source) => source.error(at, message),
            None => Error::input(message),
        }
    }
}
