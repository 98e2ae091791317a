//! `[policy]`: permission rules, as the library writes them.

use std::path::Path;

use toolfall::policy::{Rule, RuleList, Verdict};

pub(super) use toolfall::policy::WrittenRules as Policy;

use super::Config;
use crate::error::{Error, chain};

/// Where the rules stand in the file.
const TABLE: &str = "/policy";

/// Without a `[policy]`, tools that only read the workspace or a record may
/// run, and a person is asked about the rest.
pub(crate) fn default_rules(replay: bool) -> Result<RuleList, Error> {
    let rule = Rule::allow("reading the workspace").tool("{read_file,list_dir,glob,grep}");
    let rules = RuleList::new([rule]).map_err(|error| Error::own("the default rules", &error))?;
    Ok(if replay {
        rules.otherwise(Verdict::Allow)
    } else {
        rules
    })
}

impl Config {
    /// The rules that the file sets; their roots are taken from its folder.
    pub(crate) fn rules(&self) -> Result<Option<RuleList>, Error> {
        let (Some(source), Some(policy)) = (&self.source, &self.written.policy) else {
            return Ok(None);
        };
        let folder = self.beside(Path::new("."));
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        let rules = policy.clone().relative_to(&folder).compile();
        let rules = rules
            .map_err(|error| source.error(error.span(source.text(), TABLE), &chain(&error)))?;
        Ok(Some(rules))
    }
}
