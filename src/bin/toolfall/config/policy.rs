//! `[policy]`: permission rules, as the library writes them.

use toolfall::policy::{Rule, RuleList, Verdict, WrittenRules};

use super::{Config, Source};
use crate::error::{Error, chain};

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
    /// The rules that the file sets.
    pub(crate) fn rules(&self) -> Result<Option<RuleList>, Error> {
        let (Some(source), Some(policy)) = (&self.source, &self.written.policy) else {
            return Ok(None);
        };
        self.compiled(source, policy, "/policy").map(Some)
    }

    /// The rules in `table`, a JSON pointer; their roots are taken from the
    /// file's folder.
    pub(super) fn compiled(
        &self,
        source: &Source,
        rules: &WrittenRules,
        table: &str,
    ) -> Result<RuleList, Error> {
        let rules = rules.clone().relative_to(&self.own_folder()).compile();
        rules.map_err(|error| source.error(error.span(source.text(), table), &chain(&error)))
    }
}
